import { type Selectable, sql } from 'kysely';
import type { DeliveryFigures } from '../../contracts/whatsapp.ts';
import type { Db, Tx } from '../postgres/database.ts';
import type { WaSendTable } from '../schema/tables/whatsapp.ts';
import { dropUploads } from './outgoing.ts';

/** The parts that are sent for one outbox row, and what happened to each. */

export interface NewSend {
  messageId: string;
  part: number;
  jid: string;
  /** proto.Message bytes as they are relayed */
  content: Buffer;
  questionId: string | null;
  /** the message whose text this one replaces */
  edits: string | null;
}
export interface Send extends NewSend {
  account: string;
  outboxId: string;
  state: WaSendTable['state'];
  attempts: number;
  error: string | null;
  sentAt: Date | null;
}
/** What formatting had to change, for `responseFormattingMetrics`. */
export interface Counters {
  normalizedCount: number;
  chunkedCount: number;
  fallbackSplitCount: number;
}

const toSend = (row: Selectable<WaSendTable>): Send => ({
  messageId: row.message_id,
  account: row.account,
  outboxId: row.outbox_id,
  part: row.part,
  jid: row.jid,
  content: row.content,
  state: row.state,
  attempts: row.attempts,
  error: row.error,
  questionId: row.question_id,
  edits: row.edits,
  sentAt: row.sent_at,
});

/** The parts of an outbox row in their order; none before `addSends`. */
export async function sendsOf(db: Db | Tx, outboxId: string): Promise<Send[]> {
  return (await db.selectFrom('wa_sends').selectAll().where('outbox_id', '=', outboxId).orderBy('part').execute()).map(
    toSend,
  );
}

/**
 * A message of ours by its id, even long after it was sent. It answers retries, votes, reactions and the question "is
 * this ours?".
 */
export async function findSend(db: Db | Tx, account: string, messageId: string): Promise<Send | undefined> {
  const row = await db
    .selectFrom('wa_sends')
    .selectAll()
    .where('message_id', '=', messageId)
    .where('account', '=', account)
    .executeTakeFirst();
  return row && toSend(row);
}

/**
 * Stores all parts in one transaction, once. An attempt that made parts at the same time gets the parts that were
 * first.
 */
export async function addSends(
  db: Db,
  account: string,
  outboxId: string,
  sends: readonly NewSend[],
  counters: Counters,
): Promise<Send[]> {
  return await db.transaction().execute(async (tx) => {
    await tx.selectFrom('outbox').select('id').where('id', '=', outboxId).forUpdate().executeTakeFirst();
    const known = await sendsOf(tx, outboxId);
    if (known.length > 0) return known;
    const rows = sends.map((send) => ({
      message_id: send.messageId,
      account,
      outbox_id: outboxId,
      part: send.part,
      jid: send.jid,
      content: send.content,
      state: 'queued' as const,
      error: null,
      sent_at: null,
      delivered_at: null,
      read_at: null,
      question_id: send.questionId,
      edits: send.edits,
    }));
    await tx.insertInto('wa_sends').values(rows).execute();
    await dropUploads(tx, outboxId);
    await tx
      .updateTable('wa_accounts')
      .set((e) => ({
        normalized_count: e('normalized_count', '+', counters.normalizedCount),
        chunked_count: e('chunked_count', '+', counters.chunkedCount),
        fallback_split_count: e('fallback_split_count', '+', counters.fallbackSplitCount),
      }))
      .where('account', '=', account)
      .execute();
    return await sendsOf(tx, outboxId);
  });
}

/**
 * Counts an attempt before its bytes are sent. False when there is nothing left to send: it was accepted meanwhile, or
 * its outbox row was dropped.
 */
export async function beginAttempt(db: Db, messageId: string): Promise<boolean> {
  const row = await db
    .updateTable('wa_sends')
    .set((e) => ({ attempts: e('attempts', '+', 1) }))
    .where('message_id', '=', messageId)
    .where('state', '=', 'queued')
    .where((e) =>
      e.exists(
        e
          .selectFrom('outbox')
          .select('outbox.id')
          .whereRef('outbox.id', '=', 'wa_sends.outbox_id')
          .where('outbox.state', '=', 'queued'),
      ),
    )
    .returning('message_id')
    .executeTakeFirst();
  return row !== undefined;
}

/** Whether another message to this address was attempted after the last one that arrived, and may not have arrived. */
export async function hasLostAttempt(
  db: Db,
  { account, jid, messageId }: Pick<Send, 'account' | 'jid' | 'messageId'>,
): Promise<boolean> {
  const to = db.selectFrom('wa_sends').where('account', '=', account).where('jid', '=', jid);
  const last = await to.select((e) => e.fn.max('sent_at').as('at')).executeTakeFirst();
  const lost = await to
    .select('message_id')
    .where('message_id', '!=', messageId)
    .where('attempts', '>', 0)
    .where('sent_at', 'is', null)
    .where('created_at', '>', last?.at ?? new Date(0))
    .limit(1)
    .executeTakeFirst();
  return lost !== undefined;
}

/** WhatsApp's server has accepted the message. Returns the ids that are ours and were not known to be accepted. */
export async function markAccepted(db: Db, account: string, messageIds: readonly string[], at?: Date): Promise<void> {
  if (messageIds.length === 0) return;
  await db
    .updateTable('wa_sends')
    .set({ state: 'sent', sent_at: new Date(), error: null })
    .where('account', '=', account)
    .where('message_id', 'in', [...messageIds])
    .where('state', '=', 'queued')
    .execute();
  await markDelivered(db, messageIds, at);
}

/**
 * A question counts as shown when the server has every message of it. `at`: by the server's clock, which also dates the
 * answers.
 */
async function markDelivered(db: Db, messageIds: readonly string[], at?: Date): Promise<void> {
  await db
    .updateTable('questions')
    .set({ delivered_at: at ?? sql<Date>`now()` })
    .where('delivered_at', 'is', null)
    .where('id', 'in', (e) =>
      e
        .selectFrom('wa_sends')
        .select('question_id')
        .where('message_id', 'in', [...messageIds])
        .where('question_id', 'is not', null)
        .$castTo<{ question_id: string }>(),
    )
    .where((e) =>
      e.not(
        e.exists(
          e
            .selectFrom('wa_sends')
            .select('message_id')
            .whereRef('wa_sends.question_id', '=', 'questions.id')
            .where('wa_sends.state', '=', 'queued'),
        ),
      ),
    )
    .execute();
}

/**
 * A recipient's receipt. States only move forward; in a group the first recipient counts. A receipt also proves that
 * the server accepted the message.
 */
export async function markReceipt(
  db: Db,
  account: string,
  messageIds: readonly string[],
  state: 'delivered' | 'read',
  at: Date,
): Promise<void> {
  if (messageIds.length === 0) return;
  const before: Array<WaSendTable['state']> =
    state === 'delivered' ? ['queued', 'sent', 'failed'] : ['queued', 'sent', 'failed', 'delivered'];
  await db
    .updateTable('wa_sends')
    .set({
      state,
      error: null,
      sent_at: sql`coalesce(sent_at, ${at})`,
      delivered_at: sql`coalesce(delivered_at, ${at})`,
      ...(state === 'read' && { read_at: sql`coalesce(read_at, ${at})` }),
    })
    .where('account', '=', account)
    .where('message_id', 'in', [...messageIds])
    .where('state', 'in', before)
    .execute();
  await markDelivered(db, messageIds);
}

/** WhatsApp refused a message that it had first accepted. */
export async function markRefusedLater(db: Db, account: string, messageId: string, error: string): Promise<void> {
  await db
    .updateTable('wa_sends')
    .set({ state: 'failed', error })
    .where('account', '=', account)
    .where('message_id', '=', messageId)
    .where('state', '=', 'sent')
    .execute();
}

/** Gives up an outbox row, with the reason. Its unsent parts will not be sent. */
export async function giveUp(db: Db, outboxId: string, error: string): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await tx
      .updateTable('wa_sends')
      .set({ state: 'failed', error })
      .where('outbox_id', '=', outboxId)
      .where('state', '=', 'queued')
      .execute();
    await tx
      .updateTable('outbox')
      .set({ state: 'failed', error })
      .where('id', '=', outboxId)
      .where('state', '=', 'queued')
      .execute();
    await dropUploads(tx, outboxId);
  });
}

/** Times of messages sent since `since`, oldest first, so that pacing continues after a restart. */
export async function sentSince(db: Db, account: string, since: Date): Promise<number[]> {
  const rows = await db
    .selectFrom('wa_sends')
    .select('sent_at')
    .where('account', '=', account)
    .where('sent_at', '>', since)
    .orderBy('sent_at', 'desc')
    .limit(20_000)
    .execute();
  return rows.map((row) => row.sent_at!.getTime()).reverse();
}

/** Messages since `since` by their state: of an account, or of one chat. */
export async function deliveryFigures(
  db: Db | Tx,
  of: { account: string } | { chatId: string },
  since: Date,
): Promise<DeliveryFigures> {
  let query = db
    .selectFrom('wa_sends')
    .innerJoin('outbox', 'outbox.id', 'wa_sends.outbox_id')
    .select((e) => ['wa_sends.state', e.fn.countAll<number>().as('count')])
    .where('wa_sends.created_at', '>=', since)
    .groupBy('wa_sends.state');
  query =
    'account' in of ? query.where('wa_sends.account', '=', of.account) : query.where('outbox.chat_id', '=', of.chatId);
  const figures: DeliveryFigures = { queued: 0, sent: 0, delivered: 0, read: 0, failed: 0 };
  for (const row of await query.execute()) figures[row.state] = Number(row.count);
  return figures;
}
