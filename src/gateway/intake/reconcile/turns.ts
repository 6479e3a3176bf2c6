import { english } from '../../../domain/texts/say.ts';
import { unmarkSignalled } from '../../../store/chats/messages/inbox.ts';
import type { Db } from '../../../store/postgres/database.ts';
import type { OpenTurn } from '../../../store/routines/reconcile.ts';
import { finishTurn } from '../../../store/turns/finish.ts';
import { signalId } from '../signal.ts';
import { type Holdings, isUnknownQuestion } from './holdings.ts';

const PUT_BACK = english('failed.restored');

/**
 * A turn that is open in the store must be run or queued by its conversation, which must also know answers and stops.
 * What the conversation lacks is signalled again. It goes through stored steps and results without paying or acting
 * twice, and continues from there.
 */
export async function compareTurn(db: Db, holdings: Holdings, turn: OpenTurn): Promise<boolean> {
  const { turnId, threadId, arrivals } = turn;
  const began = arrivals.find((arrival) => arrival.kind === 'turn');
  // its signal is still on its way
  if (!began) return false;
  const held = await holdings.of(turn.workflowId, [turnId, ...arrivals.map(signalId)]).catch((error) => {
    if (isUnknownQuestion(error)) return null;
    throw error;
  });
  if (held === null) return await compareTimes(db, holdings, turn);
  const all = arrivals.map((arrival) => arrival.inboxId);
  if (held.status !== 'RUNNING') return (await unmarkSignalled(db, all, turnId)) > 0;
  if (held.missing.includes(turnId)) {
    // a conversation ends a turn in the store before it forgets it. If it has seen the turn and does not hold it, the
    // turn was ended in a store that is gone
    if (!held.missing.includes(signalId(began))) return await endLost(db, { turnId, threadId });
    return (await unmarkSignalled(db, all, turnId)) > 0;
  }
  const unheard = arrivals.filter((arrival) => arrival !== began && held.missing.includes(signalId(arrival)));
  return (
    unheard.length > 0 &&
    (await unmarkSignalled(
      db,
      unheard.map((arrival) => arrival.inboxId),
      turnId,
    )) > 0
  );
}

/** A workflow on older code cannot say what it holds. It cannot hold what was signalled before its first run began. */
async function compareTimes(db: Db, holdings: Holdings, { workflowId, turnId, arrivals }: OpenTurn): Promise<boolean> {
  const began = await holdings.beganAt(workflowId);
  const lost = began
    ? arrivals.filter(({ signalledAt }) => new Date(signalledAt) < began).map(({ inboxId }) => inboxId)
    : [];
  return lost.length > 0 && (await unmarkSignalled(db, lost, turnId)) > 0;
}

/** Running the turn again would repeat what it did. The message that this queues tells the person. */
const endLost = async (db: Db, turn: { turnId: string; threadId: string }): Promise<boolean> =>
  (await finishTurn(db, { ...turn, status: 'failed', failure: { type: 'NotFound', message: PUT_BACK } })) !== null;
