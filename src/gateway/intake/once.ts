import { capabilitiesOf } from '../../contracts/channels.ts';
import type { Arrival } from '../../contracts/conversation.ts';
import type { Identity } from '../../contracts/decision.ts';
import type { Channel } from '../../contracts/ids.ts';
import type { Preferences } from '../../domain/chat/preferences.ts';
import { freshId } from '../../store/chats/ids.ts';
import { findReceived, receive } from '../../store/chats/messages/inbox.ts';
import { KeyReused } from '../../store/chats/request-keys.ts';
import { onThread, type ThreadTransaction } from '../../store/chats/thread-transaction.ts';
import { NoThread } from '../../store/postgres/database.ts';
import { annotate, currentTrace, traced } from '../../telemetry/tracing.ts';
import type { Also, MessageId } from './message.ts';
import { type IntakeDeps, IntakeError, signalSoon, type ToSignal } from './signal.ts';

/** A message or request that may arrive twice under one id. */
export interface IdempotentRequest {
  threadId: string;
  id: MessageId;
  /** what the row keeps of it */
  body: string;
  /** unset for requests over HTTP */
  writers?: readonly Identity[];
  also?: Also;
}

/** The inbox row that a request becomes. */
export interface InboxEntry {
  inboxId: string;
  by: Identity;
  /** of its chat */
  preferences: Preferences;
}

/** What a request means: what the workflow must be told, and the turn that it belongs to. */
export interface Meant {
  arrival: Arrival;
  turnId: string | null;
}

/**
 * Runs `act` once for a request, and stores its meaning with the row in one transaction, under the thread's lock. A
 * repeated request gets the first one's result, and is signalled again if the first signal was lost.
 */
export async function once(
  deps: IntakeDeps,
  request: IdempotentRequest,
  act: (tx: ThreadTransaction, entry: InboxEntry) => Promise<Meant>,
): Promise<Meant & { inboxId: string }> {
  return await traced('intake', { kind: 'internal' }, async () => {
    const { turnId, signalled, signal } = await commit(deps, request, act);
    const { arrival, inboxId, channel } = signal;
    annotate({
      'fetch.inbox_id': inboxId,
      'fetch.meant': arrival.kind,
      'fetch.channel': channel,
      ...(turnId && { 'fetch.turn_id': turnId }),
    });
    if (!signalled) await signalSoon(deps, signal);
    return { arrival, turnId, inboxId };
  });
}

interface Committed {
  turnId: string | null;
  signalled: boolean;
  signal: ToSignal;
}

async function commit(
  { db }: IntakeDeps,
  request: IdempotentRequest,
  act: (tx: ThreadTransaction, entry: InboxEntry) => Promise<Meant>,
): Promise<Committed> {
  const { threadId, body, writers, also } = request;
  const key = typeof request.id === 'string' ? { id: request.id, fingerprint: null } : request.id;
  return await onThread(db, threadId, async (tx) => {
    const { chatId } = tx;
    const { chat, known } = await findReceived(tx.now, chatId, key);
    const signalOf = (inboxId: string, arrival: Arrival) => ({
      inboxId,
      arrival,
      chatId,
      channel: chat.channel,
      workflowId: chat.workflow_id,
    });
    if (known) {
      const arrival = known.arrival as Arrival;
      await also?.(tx.now, known.id, arrival.kind, true);
      return { turnId: known.turn_id, signalled: known.signalled_at !== null, signal: signalOf(known.id, arrival) };
    }
    const inboxId = freshId('inb_');
    const writtenBy = writers ?? [overHttp(chat.channel)];
    const { arrival, turnId } = await act(tx, { inboxId, by: writtenBy[0]!, preferences: chat.preferences });
    receive(tx, { id: inboxId, turnId, key, arrival, body, writtenBy, traceParent: currentTrace() });
    await also?.(tx.now, inboxId, arrival.kind, false);
    return { turnId, signalled: false, signal: signalOf(inboxId, arrival) };
  }).catch((error) => {
    if (error instanceof NoThread) throw new IntakeError('not_found', error.message);
    throw error instanceof KeyReused ? new IntakeError('reused', error.message) : error;
  });
}

/** The holder of the API's token. In the thread of the terminal that is the terminal. `channel`: or the id of a chat. */
export const overHttp = (channel: string): Identity =>
  capabilitiesOf(channel).screen === 'terminal'
    ? { role: 'terminal', channel: channel.split('/')[0] as Channel }
    : { role: 'client', channel: 'api' };
