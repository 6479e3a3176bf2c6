import {
  allHandlersFinished,
  CancellationScope,
  condition,
  defineQuery,
  defineSignal,
  isCancellation,
  log,
  makeContinueAsNewFunc,
  setDefaultSignalHandler,
  setHandler,
} from '@temporalio/workflow';
import type { Arrival, ConversationInput, ConversationView } from '../../contracts/conversation.ts';
import { arrivalSignal, holdsQuery, viewQuery, wakeSignal } from '../../contracts/signals.ts';
import { failureOf } from '../shared/failure-of.ts';
import { deliverOn, records } from '../shared/policies.ts';
import { beginChat, type Chat, carriedBy, isRenewable, type PendingTurn, showQueue, WorkClock } from './chat-state.ts';
import { runTurn } from './turn.ts';

/**
 * How many inbox ids are remembered against a repeated signal. The inbox table deduplicates messages for ever; this
 * covers only a signal that is sent twice.
 */
const SEEN_LIMIT = 500;

const STOPS_LIMIT = 20;

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

/**
 * Registers the signals and queries of this chat. Call it before the first await, or a signal of the first workflow
 * task would find no handler.
 */
function listen(chat: Chat): void {
  setHandler(defineSignal<[Arrival]>(arrivalSignal), (arrival) => {
    if (isNew(chat, arrival.inboxId)) record(chat, arrival);
  });
  setHandler(defineQuery<ConversationView>(viewQuery), () => chat.board.view);
  setHandler(defineQuery<string[], [string[]]>(holdsQuery), (ids) => {
    const held = new Set([
      ...chat.seen,
      ...chat.outgoing,
      ...chat.turns.map((turn) => turn.turnId),
      ...(chat.running ? [chat.running.turnId] : []),
    ]);
    return ids.filter((id) => held.has(id));
  });
  // a workflow learns that another build is current only when an event reaches it
  setHandler(defineSignal(wakeSignal), () => {});
  setDefaultSignalHandler((name) => log.warn('a signal that this version does not know was dropped', { name }));
}

function isNew({ seen }: Chat, inboxId: string): boolean {
  if (seen.includes(inboxId)) return false;
  seen.push(inboxId);
  if (seen.length > SEEN_LIMIT) seen.splice(0, seen.length - SEEN_LIMIT);
  return true;
}

function record(chat: Chat, arrival: Arrival): void {
  switch (arrival.kind) {
    case 'turn':
      chat.turns.push({ turnId: arrival.turnId, threadId: arrival.threadId });
      showQueue(chat);
      break;
    case 'answer':
      chat.decisions[arrival.questionId] = arrival.decision;
      break;
    case 'stop':
      // kept for a turn whose own signal comes later; bounded, because most are for the turn that runs
      chat.stops.push(arrival.turnId);
      if (chat.stops.length > STOPS_LIMIT) chat.stops.shift();
      if (chat.running?.turnId === arrival.turnId) chat.running.scope.cancel();
      break;
    case 'reply':
      chat.outgoing.push(arrival.outboxId);
      break;
    case 'steer':
      // the next model step reads the text from the store
      if (arrival.outboxId) chat.outgoing.push(arrival.outboxId);
      break;
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
