import { setTimeout as pause } from 'node:timers/promises';
import type { Config } from '../../../config.ts';
import { kennelQueue } from '../../../contracts/ids.ts';
import type { ToolAccess } from '../../../domain/consent/policy.ts';
import { cut } from '../../../domain/text/storable.ts';
import { hostOfChat, listHosts } from '../../../store/kennel/hosts.ts';
import type { Db } from '../../../store/postgres/database.ts';
import type { CheckedCall } from '../../../store/turns/steps/new-calls.ts';
import type { AddedTools } from '../../../tools/added-tools.ts';
import { prepareCall, tools } from '../../../tools/registry.ts';
import { dangerOf } from '../../../tools/tool.ts';
import { hostsMayBeStarting } from '../../../tools/workspace/await-engine.ts';

/**
 * A call of a model, checked against the tools of its turn. A call that is refused carries the reason as its result.
 */
export function checkCall(
  call: { id: string; name: string; arguments: string },
  access: ToolAccess,
  added: AddedTools,
): CheckedCall {
  const prepared = prepareCall(call.name, call.arguments, access, added);
  if (!prepared.ok) return refusedCall(call, prepared.error);
  const { tool, args } = prepared;
  const summary = tool.summarise ? cut(`${tool.name} ${tool.summarise(args as never)}`, 100) : tool.name;
  return {
    providerId: call.id,
    args: args as Record<string, unknown>,
    item: tool.item,
    verdict: {
      ...{ name: tool.name, danger: dangerOf(tool, args), effect: tool.effect, summary, timeoutMs: tool.timeoutMs },
      ...(tool.preview && { preview: true }),
      ...(tool.onStore && { onStore: true }),
    },
  };
}

/**
 * A call that never runs. An empty object is stored as its arguments, so that no later request carries malformed text.
 */
export function refusedCall({ id, name }: { id: string; name: string }, refusal: string): CheckedCall {
  return {
    providerId: id,
    args: {},
    item: tools.get(name)?.item,
    refusal,
    verdict: {
      name: safeName(name),
      danger: 'SAFE',
      effect: 'idempotent',
      summary: `${safeName(name)}: not run`,
      refused: true,
      timeoutMs: 1000,
    },
  };
}

/** Providers reject a request whose history has a tool name outside this grammar. */
const safeName = (name: string): string => name.replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 64) || 'unknown';

const NO_HOST =
  'No machine that runs containers is connected now, so workspaces cannot be reached. The role `kennel` is not running: see fetch status and fetch doctor.';

/** Shorter than the time limit of the activity that decides about calls. */
const STARTING_MS = 15_000;
const LOOK_MS = 250;

/** Waits for a host that is just starting, with this process or by itself. */
async function hostOnceThere(look: () => Promise<string | null>, db: Db): Promise<string | null> {
  const giveUp = Date.now() + STARTING_MS;
  for (;;) {
    const host = await look();
    if (host || Date.now() >= giveUp) return host;
    if (!hostsMayBeStarting() && !(await listHosts(db)).some((each) => each.expected)) return null;
    await pause(LOOK_MS);
  }
}

/**
 * Sends calls of kennel tools to the queue of the host that has the chat's workspace now. The verdict carries the
 * queue, so that a later change never breaks a replay. Without such calls it costs nothing.
 */
export const routeToKennel = (
  db: Db,
  config: Config,
  chatId: string,
  calls: readonly CheckedCall[],
  added?: AddedTools,
): Promise<CheckedCall[]> =>
  Promise.all(
    calls.map(async (call): Promise<CheckedCall> => {
      const tool = tools.get(call.verdict.name) ?? added?.get(call.verdict.name)?.tool;
      if (call.verdict.refused || tool?.runsIn !== 'kennel') return call;
      const host = await hostOnceThere(
        () => hostOfChat(db, chatId, config.FETCH_KENNEL_HOST, tool.anyHost === true),
        db,
      );
      if (!host && tool.hostless) return call;
      return host
        ? { ...call, verdict: { ...call.verdict, queue: kennelQueue(host) } }
        : { ...call, refusal: NO_HOST, verdict: { ...call.verdict, refused: true } };
    }),
  );
