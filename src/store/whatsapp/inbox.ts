import { createHash } from 'node:crypto';
import { type Selectable, sql } from 'kysely';
import { type Db, json, type Tx } from '../postgres/database.ts';
import type { WaInboxTable } from '../schema/tables/whatsapp.ts';

/**
 * The key of a message on WhatsApp. An id alone is unique neither in a group nor over two linked accounts. JIDs without
 * device suffix.
 */
export interface MessageKey {
  account: string;
  chat: string;
  /** author in a group, '' elsewhere */
  participant: string;
  fromMe: boolean;
  messageId: string;
}
export interface NewReceived extends MessageKey {
  /** proto.Message bytes, unpadded; null for a stub */
  content: Buffer | null;
  attrs: Record<string, string>;
}
export interface Waiting extends NewReceived {
  seq: number;
  receivedAt: Date;
  /** set when it was already delayed once */
  notBefore: Date | null;
  attempts: number;
}
export interface Handled extends Waiting {
  verdict: string | null;
  inboxId: string | null;
}

/** How long a stub waits for its content before the person is told that a message could not be read, in ms. */
const STUB_PATIENCE_MS = 120_000;

/**
 * Longer than any real id. A longer one fits no index, and would make the transaction of its ratchet state fail for
 * ever.
 */
const LONGEST_ID = 200;
const keyId = (id: string): string =>
  id.length <= LONGEST_ID ? id : `long_${createHash('sha256').update(id).digest('hex')}`;

/**
 * Stores a decrypted message, in the transaction of its ratchet state. An existing message does not change, unless it
 * is only a stub: then the content replaces it, and the row is handled again.
 */
export async function storeReceived(tx: Db | Tx, rows: readonly NewReceived[]): Promise<void> {
  for (const row of rows) {
    await tx
      .insertInto('wa_inbox')
      .values({
        account: row.account,
        chat: row.chat,
        participant: row.participant,
        from_me: row.fromMe,
        message_id: keyId(row.messageId),
        content: row.content,
        attrs: json(Object.fromEntries(Object.entries(row.attrs).map(([name, value]) => [name, String(value)]))),
        not_before: row.content ? null : new Date(Date.now() + STUB_PATIENCE_MS),
        handled_at: null,
        verdict: null,
        inbox_id: null,
      })
      .onConflict((c) =>
        c
          .columns(['account', 'chat', 'participant', 'from_me', 'message_id'])
          .doUpdateSet({
            content: sql`excluded.content`,
            attrs: sql`excluded.attrs`,
            not_before: null,
            handled_at: null,
            verdict: null,
          })
          .where('wa_inbox.content', 'is', null)
          .where(sql<boolean>`excluded.content is not null`),
      )
      .execute();
  }
}

/** Content of a message that was stored before, or null. */
export async function storedContent(db: Db, key: MessageKey): Promise<Buffer | null> {
  const row = await db
    .selectFrom('wa_inbox')
    .select('content')
    .where('account', '=', key.account)
    .where('chat', '=', key.chat)
    .where('participant', '=', key.participant)
    .where('from_me', '=', key.fromMe)
    .where('message_id', '=', key.messageId)
    .executeTakeFirst();
  return row?.content ?? null;
}

/**
 * Rows after `after` to handle now, in the order of arrival, without rows that the caller already has and rows of chats
 * that are `full`.
 */
export async function waiting(
  db: Db,
  account: string,
  limit: number,
  { inHand = [], full = [], after = 0 }: { inHand?: readonly number[]; full?: readonly string[]; after?: number } = {},
): Promise<Waiting[]> {
  const rows = await db
    .selectFrom('wa_inbox')
    .selectAll()
    .where('account', '=', account)
    .where('handled_at', 'is', null)
    .where('seq', '>', after)
    .where((e) => e.or([e('not_before', 'is', null), e('not_before', '<=', sql<Date>`now()`)]))
    // a subquery, which is hashed: comparing each row of a flood with each one in memory would take seconds
    .where(sql<boolean>`seq not in (select unnest(${[...inHand]}::bigint[]))`)
    .where(sql<boolean>`chat <> all(${[...full]}::text[])`)
    .orderBy('seq')
    .limit(limit)
    .execute();
  return rows.map(toHandled);
}

/** Every row with this message id, under any form of the address; the caller checks whose it is. */
export async function received(db: Db | Tx, account: string, messageId: string): Promise<Handled[]> {
  const rows = await db
    .selectFrom('wa_inbox')
    .selectAll()
    .where('account', '=', account)
    .where('message_id', '=', messageId)
    .orderBy('seq')
    .execute();
  return rows.map(toHandled);
}

/** What the author of a row has sent to the same chat within minutes of it, the row itself included. */
export async function receivedBeside(db: Db, row: Waiting): Promise<Handled[]> {
  const rows = await db
    .selectFrom('wa_inbox')
    .selectAll()
    .where('account', '=', row.account)
    .where('chat', '=', row.chat)
    .where('participant', '=', row.participant)
    .where('from_me', '=', row.fromMe)
    .where(sql<boolean>`abs(extract(epoch from received_at - ${row.receivedAt}::timestamptz)) < ${BESIDE_S}`)
    .where(sql<boolean>`octet_length(content) > 0`)
    .orderBy('seq')
    .limit(MOST_BESIDE)
    .execute();
  return rows.map(toHandled);
}

const BESIDE_S = 300;
const MOST_BESIDE = 500;

/** Ends the delay of what the author of a row has sent to the same chat, except after a failure. */
export async function endDelays(db: Db, row: Waiting): Promise<void> {
  await db
    .updateTable('wa_inbox')
    .set({ not_before: sql<Date>`now()` })
    .where('account', '=', row.account)
    .where('chat', '=', row.chat)
    .where('participant', '=', row.participant)
    .where('from_me', '=', row.fromMe)
    .where('handled_at', 'is', null)
    .where('attempts', '=', 0)
    .where(sql<boolean>`octet_length(content) > 0 and not_before > now()`)
    .execute();
}

const toHandled = (row: Selectable<WaInboxTable>): Handled => ({
  seq: row.seq,
  account: row.account,
  chat: row.chat,
  participant: row.participant,
  fromMe: row.from_me,
  messageId: row.message_id,
  content: row.content,
  attrs: row.attrs,
  receivedAt: row.received_at,
  notBefore: row.not_before,
  attempts: row.attempts,
  verdict: row.verdict,
  inboxId: row.inbox_id,
});

/**
 * Ends rows with the reason, in the transaction of what they became. Of a row that became nothing, only the key stays,
 * to recognise a repeated delivery: people's messages to each other on a shared number are not kept.
 */
export async function markHandled(
  tx: Db | Tx,
  seqs: readonly number[],
  verdict: string,
  inboxId: string | null = null,
): Promise<void> {
  if (seqs.length === 0) return;
  // a stub stays a stub, so that its content is still accepted
  const emptied = {
    content: sql<Buffer | null>`case when content is null then null else ''::bytea end`,
    attrs: json({}),
  };
  await tx
    .updateTable('wa_inbox')
    .set({ handled_at: new Date(), verdict, inbox_id: inboxId, ...(inboxId === null && emptied) })
    .where(sql<boolean>`seq = any(${[...seqs]}::bigint[])`)
    .execute();
}

/** Counts an attempt before it is made, so that a message that kills this process is recognised. */
export async function countAttempt(db: Db, seq: number): Promise<void> {
  await db
    .updateTable('wa_inbox')
    .set((e) => ({ attempts: e('attempts', '+', 1) }))
    .where('seq', '=', seq)
    .execute();
}

/** Delays rows until then. `failed` counts an attempt. */
export async function putOff(db: Db, seqs: readonly number[], until: Date, failed = false): Promise<void> {
  if (seqs.length === 0) return;
  await db
    .updateTable('wa_inbox')
    .set((e) => ({ not_before: until, ...(failed && { attempts: e('attempts', '+', 1) }) }))
    .where(sql<boolean>`seq = any(${[...seqs]}::bigint[])`)
    .where('handled_at', 'is', null)
    .execute();
}

/** An edit before the message was read: the row holds the new text from now on. */
export async function replaceContent(tx: Db | Tx, seq: number, content: Buffer): Promise<void> {
  await tx.updateTable('wa_inbox').set({ content }).where('seq', '=', seq).execute();
}

export interface OurMessage {
  messageId: string;
  /** proto.Message bytes as they were sent */
  content: Buffer;
  /** of the chat that it was sent to */
  address: string;
  /** its question, or null */
  question: {
    id: string;
    /** null: another channel asked it first */
    threadId: string | null;
    kind: 'question' | 'approval' | 'plan';
    options: string[];
    open: boolean;
  } | null;
}

/** A message of ours by its id, with its question; undefined when we did not send it. */
export async function ourMessage(db: Db, account: string, messageId: string): Promise<OurMessage | undefined> {
  const row = await db
    .selectFrom('wa_sends')
    .innerJoin('outbox', 'outbox.id', 'wa_sends.outbox_id')
    .innerJoin('chats', 'chats.id', 'outbox.chat_id')
    .leftJoin('questions', 'questions.id', 'wa_sends.question_id')
    .select([
      'wa_sends.message_id',
      'wa_sends.content',
      'chats.address',
      'questions.id',
      'questions.thread_id',
      'questions.kind',
    ])
    .select(['questions.options', 'questions.state', 'questions.chat_id as askedIn', 'outbox.chat_id as chatId'])
    .where('wa_sends.account', '=', account)
    .where('wa_sends.message_id', '=', messageId)
    .executeTakeFirst();
  if (!row) return undefined;
  const { message_id, content, address, id, thread_id, kind, options, state, askedIn, chatId } = row;
  const question =
    id !== null && thread_id !== null && kind !== null
      ? { id, threadId: askedIn === chatId ? thread_id : null, kind, options: options ?? [], open: state === 'open' }
      : null;
  return { messageId: message_id, content, address, question };
}

/**
 * The authors of the messages that began a turn, without those who steered it later: JIDs of group members, `fromMe`
 * for the linked account itself.
 */
export async function authorsOfTurn(
  db: Db | Tx,
  account: string,
  turnId: string,
): Promise<Array<Pick<MessageKey, 'participant' | 'fromMe'>>> {
  const rows = await db
    .selectFrom('inbox')
    .innerJoin('wa_inbox', 'wa_inbox.inbox_id', 'inbox.id')
    .select(['wa_inbox.participant', 'wa_inbox.from_me'])
    .distinct()
    .where('inbox.turn_id', '=', turnId)
    .where(sql<boolean>`inbox.arrival ->> 'kind' = 'turn'`)
    .where('wa_inbox.account', '=', account)
    .execute();
  return rows.map((row) => ({ participant: row.participant, fromMe: row.from_me }));
}

/** The questions that are open in a chat. */
export const openIn = async (
  db: Db,
  address: string,
): Promise<Array<{ turnId: string; number: number; kind: 'question' | 'approval' | 'plan'; options: string[] }>> =>
  await db
    .selectFrom('questions')
    .innerJoin('chats', 'chats.id', 'questions.chat_id')
    .select(['questions.turn_id as turnId', 'questions.number', 'questions.kind', 'questions.options'])
    .where('chats.channel', '=', 'whatsapp')
    .where('chats.address', '=', address)
    .where('questions.state', '=', 'open')
    .execute();
