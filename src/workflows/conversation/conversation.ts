import {
  allHandlersFinished,
  CancellationScope,
  condition,
  isCancellation,
  log,
  makeContinueAsNewFunc,
} from '@temporalio/workflow';
import type { ConversationInput } from '../../contracts/conversation.ts';
import { failureOf } from '../shared/failure-of.ts';
import { deliverOn, records } from '../shared/policies.ts';
import { beginChat, type Chat, carriedBy, isRenewable, type PendingTurn, showQueue } from './chat-state.ts';
import { listen } from './handlers.ts';
import { runTurn } from './turn.ts';
import { WorkClock } from './turn-state.ts';

/**
 * Owns one chat for ever. Handlers only deduplicate and enqueue. One loop runs the turns in order, another sends what
 * they produced, in order. Between turns, when the history has grown, it continues as new with a few kilobytes.
 */
export async function conversation(input: ConversationInput): Promise<void> {
  const chat = beginChat(input);
  const { board, stops } = chat;
  listen(chat);
  // it loops for ever and catches what it awaits; it ends with the run
  void sendAll(chat).catch((error) => {
    if (!isCancellation(error)) log.error('the sender stopped', { error: String(error) });
  });

  for (;;) {
    if (isRenewable(chat)) {
      await condition(allHandlersFinished);
      // a pinned run moves to the current build here; without worker versions the option does nothing
      return await makeContinueAsNewFunc<typeof conversation>({ initialVersioningBehavior: 'AUTO_UPGRADE' })({
        ...input,
        carried: carriedBy(chat),
      });
    }
    // a chat may ask for nothing but its status for weeks, so a full history must not wait for the next turn
    await condition(() => chat.turns.length > 0 || isRenewable(chat));
    const next = chat.turns.shift();
    if (!next) continue;
    showQueue(chat);

    const scope = new CancellationScope();
    chat.running = { turnId: next.turnId, scope };
    try {
      if (stops.includes(next.turnId)) await CancellationScope.nonCancellable(() => endTurn(chat, next, 'interrupted'));
      else await scope.run(() => runTurn(turnOf(chat, next)));
      board.failure = null;
    } catch (error) {
      const interrupted = isCancellation(error) && scope.consideredCancelled;
      board.failure = interrupted ? null : failureOf(error);
      await CancellationScope.nonCancellable(() => endTurn(chat, next, interrupted ? 'interrupted' : 'failed', error));
    } finally {
      chat.running = null;
      const stop = stops.indexOf(next.turnId);
      if (stop >= 0) stops.splice(stop, 1);
    }
    board.step = 0;
    board.show('idle', 'nothing to do', { turnId: null, waitingFor: null, turnsDone: board.view.turnsDone + 1 });
  }
}

const turnOf = ({ input, board, decisions, outgoing }: Chat, next: PendingTurn) => ({
  ...next,
  limits: input.limits,
  waits: input.waits,
  board,
  decisions,
  clock: new WorkClock(),
  send: (outboxId: string) => void outgoing.push(outboxId),
});

/** Sends what turns and handlers queued, in order. */
async function sendAll(chat: Chat): Promise<never> {
  const { input, outgoing } = chat;
  for (;;) {
    await condition(() => outgoing.length > 0);
    chat.sending = true;
    const outboxId = outgoing[0]!;
    // the only lasting failure is a row that is gone, and then nothing is left to send
    await deliverOn(input.channel, outboxId.includes('_call_') ? 'send question' : 'send reply', { outboxId }).catch(
      (error) => log.error('a message could not be sent', { outboxId, error: failureOf(error).message }),
    );
    outgoing.shift();
    chat.sending = false;
  }
}

async function endTurn(
  { outgoing }: Chat,
  turn: PendingTurn,
  status: 'interrupted' | 'failed',
  error?: unknown,
): Promise<void> {
  const outboxId = await records.finish({ ...turn, status, ...(status === 'failed' && { failure: failureOf(error) }) });
  if (outboxId) outgoing.push(outboxId);
}
