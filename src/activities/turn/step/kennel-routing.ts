import { setTimeout as pause } from 'node:timers/promises';
import type { Config } from '../../../config.ts';
import { kennelQueue } from '../../../contracts/ids.ts';
import { hostOfChat, listHosts } from '../../../store/kennel/hosts.ts';
import type { Db } from '../../../store/postgres/database.ts';
import type { CheckedCall } from '../../../store/turns/steps/new-calls.ts';
import type { AddedTools } from '../../../tools/extensions/added-tools.ts';
import { tools } from '../../../tools/registry.ts';
import { hostsMayBeStarting } from '../../../tools/workspace/await-engine.ts';

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
      return host
        ? { ...call, verdict: { ...call.verdict, queue: kennelQueue(host) } }
        : { ...call, refusal: NO_HOST, verdict: { ...call.verdict, refused: true } };
    }),
  );
