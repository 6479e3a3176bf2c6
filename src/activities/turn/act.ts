import { activityInfo, cancellationSignal } from '@temporalio/activity';
import type { ActInput, ActResult } from '../../contracts/conversation.ts';
import { type BegunCall, beginCall, type Outcome, settleBegun } from '../../store/steps/calls.ts';
import { tools } from '../../tools/registry.ts';
import { endedByRestart, restarted } from '../../tools/tool.ts';
import type { ActivityDeps, HostDeps } from '../deps.ts';
import { asFailure, fail, isStoreAway } from '../failure.ts';
import { beat } from '../heartbeat.ts';
import { taskMadeBy } from '../task/input.ts';
import { declaredSources } from './provenance.ts';

export const UNKNOWN_OUTCOME =
  'The outcome of this call is unknown: the process that ran it died before it ended. It may or may not have happened and is not run again by itself.';

const notAllowed = (name: string): string => `${name} was not run: it needs an approval, and no approval of it is on record.`;

/** Tools without an effect: their calls are stored once, with the result. */
const unmarked = [...tools.values()].filter((tool) => tool.readsOnly).map((tool) => tool.name);

/** One tool call. Its result is stored once; an expected failure is a result, only infrastructure throws. */
export const createAct =
  (deps: Omit<ActivityDeps, 'model'> & Partial<HostDeps>) =>
  async (input: ActInput): Promise<ActResult> => {
    const { db, config, temporal } = deps;
    const stop = beat();
    try {
      const begun = await beginCall(db, input.callId, unmarked);
      if (!begun) throw fail('NotFound', `Call ${input.callId} is not in the database.`);
      const { how, call, chatId, policy, allowed } = begun;
      if (how === 'done') return { ok: call.ok ?? false, size: call.output?.length ?? 0, ...(await taskMadeBy(deps, call, call.ok ?? false)) };
      if (how === 'again' && call.effect === 'once') return await keep(deps, call, { ok: false, output: UNKNOWN_OUTCOME });
      // what the workflow was told counts for nothing here: anybody who reaches its server can signal it
      if (policy === 'refuse' || (policy === 'ask' && !allowed)) return await keep(deps, call, { ok: false, output: notAllowed(call.name) });
      const tool = tools.get(call.name);
      if (!tool) return await keep(deps, call, { ok: false, output: `The tool ${call.name} is no longer there.` });
      const limit = timeLimit(tool.timeoutMs);
      const signal = AbortSignal.any([cancellationSignal(), limit.signal]);
      const outcome = await tool
        .run(call.args as never, { ...hostOf(deps), callId: call.id, chatId, threadId: call.thread_id, turnId: call.turn_id, db, temporal, config, signal })
        .catch((error: unknown): Outcome => {
          if (endedByRestart(cancellationSignal()) && call.effect === 'once') return { ok: false, output: restarted(call.name) };
          if (cancellationSignal().aborted) throw error;
          if (signal.aborted) return { ok: false, output: `${call.name} took longer than ${Math.round(tool.timeoutMs / 1000)} s and was stopped.` };
          // it may have had its effect before it threw, and it must not run again
          if (call.effect === 'once') return { ok: false, output: `${call.name} failed: ${(error as Error).message}. Whether it had an effect is unknown.` };
          // our own database being away says nothing about the tool: that is waited out
          if (isStoreAway(error)) throw error;
          if (activityInfo().attempt >= ATTEMPTS) return { ok: false, output: `${call.name} failed: ${(error as Error).message}` };
          throw error;
        })
        .finally(limit.clear);
      return await keep(deps, call, { ...outcome, sources: declaredSources(tool, call.args) });
    } catch (error) {
      throw asFailure(error);
    } finally {
      stop();
    }
  };

/** `AbortSignal.timeout` cannot be cleared: each would fire, with a stack trace, long after its call has ended. */
function timeLimit(ms: number): { signal: AbortSignal; clear: () => void } {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(new DOMException('The tool took too long.', 'TimeoutError')), ms);
  return { signal: controller.signal, clear: () => clearTimeout(timer) };
}

/** After this many attempts of a repeatable tool its error is its result. */
export const ATTEMPTS = 4;

async function keep(deps: Pick<ActivityDeps, 'db' | 'config'>, call: BegunCall, outcome: Outcome): Promise<ActResult> {
  await settleBegun(deps.db, call, outcome);
  return { ok: outcome.ok, size: outcome.output.length, ...(await taskMadeBy(deps, call, outcome.ok)) };
}

const hostOf = ({ kennel, host, workspacesFolder }: Partial<HostDeps>): Partial<HostDeps> => (kennel ? { kennel, host, workspacesFolder } : {});
