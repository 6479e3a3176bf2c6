import { cancellationSignal } from '@temporalio/activity';
import type { ActInput, ActResult } from '../../contracts/conversation.ts';
import { currentCall } from '../../domain/chat/former-tools.ts';
import { unknownOutcome } from '../../domain/failures.ts';
import { deliverNow } from '../../gateway/intake/signal.ts';
import {
  type BegunCall,
  beginCall,
  findCallWithChat,
  notePreview,
  type Outcome,
  settleBegun,
} from '../../store/turns/steps/calls.ts';
import { toolOfTurn } from '../../tools/added-tools.ts';
import { tools } from '../../tools/registry.ts';
import type { ActivityDeps, HostDeps } from '../activity-deps.ts';
import { fail } from '../failure.ts';
import { beating, recording } from '../heartbeat.ts';
import { createProgress } from '../progress.ts';
import { clearUp, countCall, runTool, taskMadeBy } from '../run-tool.ts';
import { sourcesOfOutcome } from './context/provenance.ts';

const notAllowed = (name: string): string =>
  `${name} was not run: it needs an approval, and no approval of it is on record.`;

/** Tools without an effect: their calls are stored once, together with the result. */
const unmarked = [...tools.values()].filter((tool) => tool.onStore === 'reads').map((tool) => tool.name);

type ActDeps = Omit<ActivityDeps, 'model'> & Partial<HostDeps>;

/**
 * One tool call. Its result is stored once. An expected failure is a result; only failures of infrastructure are
 * thrown.
 */
export const createAct = (deps: ActDeps) => beating(acting(deps));
export const createActOnStore = (deps: ActDeps) => recording(acting(deps));

const acting =
  (deps: ActDeps) =>
  async (input: ActInput): Promise<ActResult> => {
    const { db, config, temporal } = deps;
    const begun = await beginCall(db, input.callId, unmarked);
    if (!begun) throw fail('NotFound', `Call ${input.callId} is not in the database.`);
    const { how, chatId, policy, allowed } = begun;
    const call = currentCall(begun.call);
    if (how === 'done')
      return {
        ok: call.ok ?? false,
        size: call.output?.length ?? 0,
        ...(await taskMadeBy(deps, call, call.ok ?? false)),
      };
    const place = { chatId, threadId: call.thread_id };
    const clean = call.taint?.sources.length === 0;
    const context = { ...hostOf(deps), ...place, callId: call.id, turnId: call.turn_id, db, temporal, config, clean };
    if (how === 'again' && call.effect === 'once') {
      await clearUp(tools.get(call.name), call.args, context);
      countCall(call.name, 'unknown');
      return await keep(deps, call, { ok: false, output: unknownOutcome('call') });
    }
    // the stored decision counts, not the signalled one: anybody who can reach the Temporal server can signal the
    // workflow
    if (policy === 'refuse' || (policy === 'ask' && !allowed))
      return await keep(deps, call, { ok: false, output: notAllowed(call.name) });
    const tool = await toolOfTurn(db, call.turn_id, call.name);
    if (!tool) return await keep(deps, call, { ok: false, output: `The tool ${call.name} is no longer there.` });
    const progress = createProgress(deps, (text) => ({ ...place, of: call.turn_id, text }), 0);
    const deliver = (outboxId: string, to: string) => deliverNow(deps, outboxId, to);
    const outcome = await runTool(tool, call.effect, call.args, { ...context, progress, deliver });
    return await keep(deps, call, { ...outcome, sources: sourcesOfOutcome(tool, call.args, outcome) });
  };

async function keep(deps: Pick<ActivityDeps, 'db' | 'config'>, call: BegunCall, outcome: Outcome): Promise<ActResult> {
  await settleBegun(deps.db, call, outcome);
  return { ok: outcome.ok, size: outcome.output.length, ...(await taskMadeBy(deps, call, outcome.ok)) };
}

const hostOf = ({ kennel, host, workspacesFolder, browsers, lease }: Partial<HostDeps>): Partial<HostDeps> =>
  kennel ? { kennel, host, workspacesFolder, browsers, lease } : {};

/**
 * Stores with a call what its approval will show: the differences or the command. If that fails, the approval shows the
 * arguments.
 */
export const createPreview = (deps: Omit<ActivityDeps, 'model'> & HostDeps) =>
  beating(async ({ callId, threadId, turnId }: ActInput): Promise<void> => {
    const found = await findCallWithChat(deps.db, callId);
    const tool = tools.get(found?.name ?? '');
    if (!found || !tool?.preview) return;
    const text = await tool.preview(found.args as never, {
      ...deps,
      callId,
      chatId: found.chatId,
      threadId,
      turnId,
      signal: cancellationSignal(),
    });
    if (text) await notePreview(deps.db, callId, text);
  });
