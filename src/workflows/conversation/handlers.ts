import { defineQuery, defineSignal, log, setDefaultSignalHandler, setHandler } from '@temporalio/workflow';
import type { Arrival, ConversationView } from '../../contracts/conversation.ts';
import { arrivalSignal, holdsQuery, viewQuery, wakeSignal } from '../../contracts/signals.ts';
import { type Chat, showQueue } from './chat-state.ts';

/**
 * How many inbox ids are remembered against a repeated signal. The inbox table deduplicates messages for ever; this
 * covers only a signal that is sent twice.
 */
const SEEN_LIMIT = 500;
const STOPS_LIMIT = 20;

/**
 * Registers the signals and queries of this chat. Call it before the first await, or a signal of the first workflow
 * task would find no handler.
 */
export function listen(chat: Chat): void {
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
