import type { Db, Tx } from '../postgres/database.ts';

export const findOutgoing = (db: Db, id: string) =>
  db
    .selectFrom('outbox')
    .innerJoin('chats', 'chats.id', 'outbox.chat_id')
    .select(['outbox.id', 'outbox.state', 'outbox.kind', 'outbox.body', 'chats.address', 'chats.channel'])
    .where('outbox.id', '=', id)
    .executeTakeFirst();

/** Marks a row as sent, once. `attempts` counts how often that took effect, and stays 1. */
export async function markSent(db: Db, id: string): Promise<void> {
  await db
    .updateTable('outbox')
    .set((e) => ({ state: 'sent' as const, sent_at: new Date(), attempts: e('attempts', '+', 1) }))
    .where('id', '=', id)
    .where('state', '=', 'queued')
    .execute();
}

/** A question that was decided before it was sent is not sent: nobody should be asked what is settled. */
export async function dropUnsent(tx: Tx, outboxIds: string[]): Promise<void> {
  if (outboxIds.length === 0) return;
  await tx
    .updateTable('outbox')
    .set({ state: 'dropped', error: 'decided before it was sent' })
    .where('id', 'in', outboxIds)
    .where('state', '=', 'queued')
    .execute();
}
