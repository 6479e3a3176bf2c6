import { type Selectable, sql } from 'kysely';
import { type Db, json, type Tx } from '../postgres/database.ts';
import type { TgSendTable } from '../schema/tables/telegram.ts';
import type { QuestionTable } from '../schema/tables/turns.ts';

/** The messages that are sent for one outbox row, and what happened to each. */

interface NewTelegramSend {
  part: number;
  chat: string;
  content: object;
  questionId: string | null;
}
export interface TelegramSend extends NewTelegramSend {
  outboxId: string;
  state: TgSendTable['state'];
  attempts: number;
  messageId: number | null;
}

const toSend = (row: Selectable<TgSendTable>): TelegramSend => ({
  outboxId: row.outbox_id,
  part: row.part,
  chat: row.chat,
  content: row.content,
  state: row.state,
  attempts: row.attempts,
  messageId: row.message_id,
  questionId: row.question_id,
});

/** The parts of an outbox row in their order; none before `addTelegramSends`. */
export const telegramSendsOf = async (db: Db | Tx, outboxId: string): Promise<TelegramSend[]> =>
  (await db.selectFrom('tg_sends').selectAll().where('outbox_id', '=', outboxId).orderBy('part').execute()).map(toSend);

/** Stores all parts of a row, once. An attempt that made parts at the same time gets the parts that were first. */
export async function addTelegramSends(
  db: Db,
  outboxId: string,
  sends: readonly NewTelegramSend[],
): Promise<TelegramSend[]> {
  return await db.transaction().execute(async (tx) => {
    await tx.selectFrom('outbox').select('id').where('id', '=', outboxId).forUpdate().executeTakeFirst();
    const known = await telegramSendsOf(tx, outboxId);
    if (known.length > 0) return known;
    const rows = sends.map(({ part, chat, content, questionId }) => ({
      outbox_id: outboxId,
      part,
      chat,
      content: json(content),
      state: 'queued' as const,
      question_id: questionId,
    }));
    await tx.insertInto('tg_sends').values(rows).execute();
    return await telegramSendsOf(tx, outboxId);
  });
}

type Key = Pick<TelegramSend, 'outboxId' | 'part'>;

/**
 * Records an attempt before its bytes are sent. False when there is nothing left to send: its outbox row was dropped,
 * or another attempt has it.
 */
export async function beginTelegramSend(db: Db, { outboxId, part }: Key): Promise<boolean> {
  const row = await db
    .updateTable('tg_sends')
    .set((e) => ({ state: 'sending' as const, attempts: e('attempts', '+', 1) }))
    .where('outbox_id', '=', outboxId)
    .where('part', '=', part)
    .where('state', '=', 'queued')
    .where((e) =>
      e.exists(
        e
          .selectFrom('outbox')
          .select('outbox.id')
          .whereRef('outbox.id', '=', 'tg_sends.outbox_id')
          .where('outbox.state', '=', 'queued'),
      ),
    )
    .returning('part')
    .executeTakeFirst();
  return row !== undefined;
}

/** It was certainly not sent, and waits for another attempt. `content`: as that attempt is to send it. */
export async function requeueTelegramSend(db: Db, { outboxId, part }: Key, content?: object): Promise<void> {
  await db
    .updateTable('tg_sends')
    .set({ state: 'queued', ...(content && { content: json(content) }) })
    .where('outbox_id', '=', outboxId)
    .where('part', '=', part)
    .where('state', '=', 'sending')
    .execute();
}

/**
 * Telegram has the message. A question counts as shown when Telegram has every message of it. `at`: by Telegram's
 * clock, which also dates the answers.
 */
export async function markTelegramSent(db: Db, send: TelegramSend, messageId: number, at: Date): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await tx
      .updateTable('tg_sends')
      .set({ state: 'sent', message_id: messageId, sent_at: at, error: null })
      .where('outbox_id', '=', send.outboxId)
      .where('part', '=', send.part)
      .execute();
    if (send.questionId === null) return;
    const left = await tx
      .selectFrom('tg_sends')
      .select('part')
      .where('outbox_id', '=', send.outboxId)
      .where('state', '!=', 'sent')
      .limit(1)
      .executeTakeFirst();
    if (!left)
      await tx
        .updateTable('questions')
        .set({ delivered_at: at })
        .where('id', '=', send.questionId)
        .where('delivered_at', 'is', null)
        .execute();
  });
}

/** Nobody can tell whether it arrived, or it was refused: it is never sent again. */
export async function endTelegramSend(
  db: Db,
  { outboxId, part }: Key,
  state: 'unknown' | 'failed',
  error: string,
): Promise<void> {
  await db
    .updateTable('tg_sends')
    .set({ state, error })
    .where('outbox_id', '=', outboxId)
    .where('part', '=', part)
    .execute();
}

/** Gives up an outbox row, with the reason. Its unsent parts will not be sent. */
export async function giveUpTelegram(db: Db, outboxId: string, error: string): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await tx
      .updateTable('tg_sends')
      .set({ state: 'failed', error })
      .where('outbox_id', '=', outboxId)
      .where('state', 'in', ['queued', 'sending'])
      .execute();
    await tx
      .updateTable('outbox')
      .set({ state: 'failed', error })
      .where('id', '=', outboxId)
      .where('state', '=', 'queued')
      .execute();
  });
}

/** A question of a chat, where somebody quotes it or presses its buttons. */
interface AskedOnTelegram {
  id: string;
  threadId: string;
  kind: QuestionTable['kind'];
  options: string[];
  prompt: string;
  open: boolean;
}

/** A message of ours, with the question that it asks. */
export async function ourTelegramMessage(
  db: Db,
  chat: string,
  messageId: number,
): Promise<{ address: string; question: AskedOnTelegram | null } | undefined> {
  const row = await db
    .selectFrom('tg_sends')
    .select(['chat', 'question_id'])
    // a topic is behind the slash; ids of messages are unique in the whole chat
    .where(sql<boolean>`split_part(chat, '/', 1) = ${chat.split('/')[0]!}`)
    .where('message_id', '=', messageId)
    .executeTakeFirst();
  if (!row) return undefined;
  const question = row.question_id === null ? undefined : await askedOnTelegram(db, row.chat, row.question_id);
  return { address: row.chat, question: question ?? null };
}

/** A question by its id, if it was asked in this chat. */
export async function askedOnTelegram(db: Db, chat: string, id: string): Promise<AskedOnTelegram | undefined> {
  const row = await db
    .selectFrom('questions')
    .innerJoin('chats', 'chats.id', 'questions.chat_id')
    .select(['questions.id', 'questions.thread_id as threadId', 'questions.kind', 'questions.options'])
    .select(['questions.state', 'questions.prompt'])
    .where('questions.id', '=', id)
    .where('chats.channel', '=', 'telegram')
    .where('chats.address', '=', chat)
    .executeTakeFirst();
  return row && { ...row, open: row.state === 'open' };
}

/** The message that progress of a turn or task is shown in, and when it was last changed. */
export async function progressMessage(
  db: Db,
  turnId: string,
): Promise<{ messageId: number; content: object; at: Date } | undefined> {
  const row = await db
    .selectFrom('tg_sends')
    .innerJoin('outbox', 'outbox.id', 'tg_sends.outbox_id')
    .select(['tg_sends.message_id', 'tg_sends.content', 'tg_sends.sent_at'])
    .where('outbox.turn_id', '=', turnId)
    .where('outbox.kind', '=', 'progress')
    .where('tg_sends.message_id', 'is not', null)
    .orderBy('tg_sends.sent_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row && { messageId: row.message_id!, content: row.content, at: row.sent_at! };
}
