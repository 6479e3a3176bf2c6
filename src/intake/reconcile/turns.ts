import { unmarkSignalled } from '../../store/chats/inbox.ts';
import type { OpenTurn } from '../../store/chats/reconcile.ts';
import type { Db } from '../../store/postgres/database.ts';
import { finishTurn } from '../../store/turns/finish.ts';
import { signalId } from '../signal.ts';
import { type Holdings, isUnknownQuestion } from './holdings.ts';

const PUT_BACK =
  'My records were put back to an earlier time while I worked on this. What I did since then is not in them any more: look before you ask again.';

/**
 * A turn that is in progress by the store is run or queued by its conversation, which has also heard what was answered and whether to stop.
 * What it does not have is signalled again: it goes through stored steps and results without paying or doing anything twice, and on from there.
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
    // a conversation ends a turn in the store before it lets go of it: one that it has heard of and does not hold was ended in a store that is gone
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

/** A workflow on older code cannot say what it has. What was signalled before its first run began, it cannot have. */
async function compareTimes(db: Db, holdings: Holdings, { workflowId, turnId, arrivals }: OpenTurn): Promise<boolean> {
  const began = await holdings.beganAt(workflowId);
  const lost = began ? arrivals.filter(({ signalledAt }) => new Date(signalledAt) < began).map(({ inboxId }) => inboxId) : [];
  return lost.length > 0 && (await unmarkSignalled(db, lost, turnId)) > 0;
}

/** To run it once more would repeat what it did. Its person is told by the message that this leaves queued. */
const endLost = async (db: Db, turn: { turnId: string; threadId: string }): Promise<boolean> =>
  (await finishTurn(db, { ...turn, status: 'failed', failure: { type: 'NotFound', message: PUT_BACK } })) !== null;
