import { sql } from 'kysely';
import type { ThreadTransaction } from '../thread-transaction.ts';

const EMPTY = sql<Buffer>`''::bytea`;

/**
 * Erases what was said and sent in a thread in which no turn and no coding task is at work. What stays has no text:
 * ids, by which a message that comes again is recognised; turns and model steps with their times and costs, which
 * budgets and sums count; and where the conversation begins, for who has read it already.
 */
export async function eraseTexts(tx: ThreadTransaction): Promise<void> {
  await tx.sendPending();
  await eraseOfChannel(tx);
  await eraseMessages(tx);
  await eraseDialogue(tx);
}

/** Rows are found by their turns or their chat, which have indexes. */
const turnsOf = ({ now, threadId }: ThreadTransaction) =>
  now.selectFrom('turns').select('id').where('thread_id', '=', threadId);
const receivedIn = ({ now, threadId, chatId }: ThreadTransaction) =>
  now.selectFrom('inbox').select('id').where('chat_id', '=', chatId).where('thread_id', '=', threadId);
const sentTo = (tx: ThreadTransaction) => tx.now.selectFrom('outbox').select('id').where('turn_id', 'in', turnsOf(tx));

/** What came in and went out. What waits to be sent is not sent any more. */
async function eraseMessages(tx: ThreadTransaction): Promise<void> {
  const { now, threadId } = tx;
  await now.updateTable('inbox').set({ body: '', written_by: null }).where('id', 'in', receivedIn(tx)).execute();
  const sent = now.updateTable('outbox').where('id', 'in', sentTo(tx));
  await sent.set({ state: 'dropped', error: 'its session was deleted' }).where('state', '=', 'queued').execute();
  await sent.set({ body: '' }).execute();
  await now.deleteFrom('attachments').where('thread_id', '=', threadId).execute();
}

/** What the model and the screens read. */
async function eraseDialogue(tx: ThreadTransaction): Promise<void> {
  const { now, threadId } = tx;
  for (const table of ['calls', 'questions'] as const)
    await now.deleteFrom(table).where('turn_id', 'in', turnsOf(tx)).execute();
  for (const table of ['transcript', 'items'] as const)
    await now.deleteFrom(table).where('thread_id', '=', threadId).execute();
  await now.deleteFrom('summaries').where('thread_id', '=', threadId).where('body', '!=', '').execute();
  await now.deleteFrom('events').where('thread_id', '=', threadId).where('event', '!=', 'thread.started').execute();
  await now
    .updateTable('turns')
    .set({ input_summary: '', error: null, call: null })
    .where('thread_id', '=', threadId)
    .execute();
  await now.updateTable('threads').set({ title: null }).where('id', '=', threadId).execute();
}

/** Copies in the form of WhatsApp. Keys of messages stay, to recognise repetitions. */
async function eraseOfChannel(tx: ThreadTransaction): Promise<void> {
  const { now } = tx;
  await now
    .updateTable('wa_inbox')
    .set({ content: EMPTY, attrs: '{}' })
    .where('inbox_id', 'in', receivedIn(tx))
    .where('handled_at', 'is not', null)
    .execute();
  await now.deleteFrom('wa_uploads').where('outbox_id', 'in', sentTo(tx)).execute();
  const stanzas = now.updateTable('wa_sends').where('outbox_id', 'in', sentTo(tx));
  await stanzas.set({ state: 'failed', error: 'its session was deleted' }).where('state', '=', 'queued').execute();
  await stanzas.set({ content: EMPTY }).execute();
}
