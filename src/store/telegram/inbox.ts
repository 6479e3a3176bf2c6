import { type Selectable, sql } from 'kysely';
import { type Db, json, type Tx } from '../postgres/database.ts';
import type { TgInboxTable } from '../schema/tables/telegram.ts';

/** One thing that happened on Telegram, with what tells it from all others. */
export interface NewUpdate {
  key: string;
  chat: string;
  userId: number | null;
  kind: TgInboxTable['kind'];
  content: object;
}
export interface WaitingUpdate extends NewUpdate {
  seq: number;
  receivedAt: Date;
  notBefore: Date | null;
  attempts: number;
}
interface HandledUpdate extends WaitingUpdate {
  verdict: string | null;
  inboxId: string | null;
}

/** Stores what a poll brought, in one transaction. What is stored already does not change. */
export async function storeUpdates(db: Db, botId: number, updates: readonly NewUpdate[]): Promise<void> {
  if (updates.length === 0) return;
  const rows = updates.map(({ key, chat, userId, kind, content }) => ({
    bot_id: botId,
    key,
    chat,
    user_id: userId,
    kind,
    content: json(content),
  }));
  await db
    .insertInto('tg_inbox')
    .values(rows)
    .onConflict((c) => c.columns(['bot_id', 'key']).doNothing())
    .execute();
}

const toUpdate = (row: Selectable<TgInboxTable>): HandledUpdate => ({
  seq: row.seq,
  key: row.key,
  chat: row.chat,
  userId: row.user_id,
  kind: row.kind,
  content: row.content,
  receivedAt: row.received_at,
  notBefore: row.not_before,
  attempts: row.attempts,
  verdict: row.verdict,
  inboxId: row.inbox_id,
});

/** Rows to handle now, in the order of arrival, without those in hand and those of chats that are `full`. */
export async function waitingUpdates(
  db: Db,
  botId: number,
  limit: number,
  { inHand, full, after = 0 }: { inHand: readonly number[]; full: readonly string[]; after?: number },
): Promise<WaitingUpdate[]> {
  const rows = await db
    .selectFrom('tg_inbox')
    .selectAll()
    .where('bot_id', '=', botId)
    .where('handled_at', 'is', null)
    .where('seq', '>', after)
    .where((e) => e.or([e('not_before', 'is', null), e('not_before', '<=', sql<Date>`now()`)]))
    .where(sql<boolean>`seq not in (select unnest(${[...inHand]}::bigint[]))`)
    .where(sql<boolean>`chat <> all(${[...full]}::text[])`)
    .orderBy('seq')
    .limit(limit)
    .execute();
  return rows.map(toUpdate);
}

/** A received message by its key. */
export async function receivedUpdate(db: Db, botId: number, key: string): Promise<HandledUpdate | undefined> {
  const row = await db
    .selectFrom('tg_inbox')
    .selectAll()
    .where('bot_id', '=', botId)
    .where('key', '=', key)
    .executeTakeFirst();
  return row && toUpdate(row);
}

/** Ends rows with the reason. Of a row that became nothing only its key stays, to recognise it when it comes again. */
export async function endUpdates(
  db: Db | Tx,
  seqs: readonly number[],
  verdict: string,
  inboxId: string | null = null,
): Promise<void> {
  if (seqs.length === 0) return;
  await db
    .updateTable('tg_inbox')
    .set({ handled_at: new Date(), verdict, inbox_id: inboxId, ...(inboxId === null && { content: json({}) }) })
    .where(sql<boolean>`seq = any(${[...seqs]}::bigint[])`)
    .execute();
}

/** Delays rows until then. `failed` counts an attempt. */
export async function delayUpdates(db: Db, seqs: readonly number[], until: Date, failed = false): Promise<void> {
  if (seqs.length === 0) return;
  await db
    .updateTable('tg_inbox')
    .set((e) => ({ not_before: until, ...(failed && { attempts: e('attempts', '+', 1) }) }))
    .where(sql<boolean>`seq = any(${[...seqs]}::bigint[])`)
    .where('handled_at', 'is', null)
    .execute();
}

/** Counts an attempt before it is made, so that a message that kills this process is recognised. */
export async function beginUpdate(db: Db, seq: number): Promise<void> {
  await db
    .updateTable('tg_inbox')
    .set((e) => ({ attempts: e('attempts', '+', 1) }))
    .where('seq', '=', seq)
    .execute();
}

/** The row holds the new version of its message from now on. */
export async function replaceUpdate(tx: Db | Tx, seq: number, content: object): Promise<void> {
  await tx
    .updateTable('tg_inbox')
    .set({ content: json(content) })
    .where('seq', '=', seq)
    .execute();
}

/** A group became a supergroup: Telegram gave it another id. What waits goes there, too. */
export async function moveChat(db: Db, from: string, to: string): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const taken = await tx
      .selectFrom('chats')
      .select('id')
      .where('channel', '=', 'telegram')
      .where('address', '=', to)
      .executeTakeFirst();
    if (!taken)
      await tx
        .updateTable('chats')
        .set({ address: to })
        .where('channel', '=', 'telegram')
        .where('address', '=', from)
        .execute();
    await tx
      .updateTable('groups')
      .set({ address: to })
      .where('channel', '=', 'telegram')
      .where('address', '=', from)
      .where((e) =>
        e.not(
          e.exists(
            e
              .selectFrom('groups as other')
              .select('other.name')
              .where('other.channel', '=', 'telegram')
              .where('other.address', '=', to),
          ),
        ),
      )
      .execute();
    await tx
      .updateTable('tg_inbox')
      .set({ chat: to })
      .where('chat', '=', from)
      .where('handled_at', 'is', null)
      .execute();
    await tx.updateTable('tg_sends').set({ chat: to }).where('chat', '=', from).where('state', '=', 'queued').execute();
  });
}
