import type { Config } from '../config.ts';
import { kennelQueue } from '../contracts/ids.ts';
import type { Db } from '../store/database.ts';
import { hostOfChat } from '../store/kennel/hosts.ts';
import type { CheckedCall } from '../store/steps.ts';
import { tools } from '../tools/registry.ts';

const NO_HOST =
  'No machine that runs containers is connected now, so workspaces cannot be reached. The role `kennel` is not running: see fetch status and fetch doctor.';

/**
 * Sends calls of kennel tools to the queue of the host that has the chat's workspace, as it is at this moment: the verdict carries it,
 * so that a later change never breaks a replay. Costs nothing where no such tool is called.
 */
export const routeToKennel = (db: Db, config: Config, chatId: string, calls: readonly CheckedCall[]): Promise<CheckedCall[]> =>
  Promise.all(
    calls.map(async (call): Promise<CheckedCall> => {
      const tool = tools.get(call.verdict.name);
      if (call.verdict.refused || tool?.place !== 'kennel') return call;
      const host = await hostOfChat(db, chatId, config.FETCH_KENNEL_HOST, tool.anyHost === true);
      return host
        ? { ...call, verdict: { ...call.verdict, queue: kennelQueue(host) } }
        : { ...call, refusal: NO_HOST, verdict: { ...call.verdict, refused: true } };
    }),
  );
