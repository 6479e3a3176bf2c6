import type { Db } from './database.ts';

export const findOutgoing = (db: Db, id: string) =>
  db
    .selectFrom('outbox')
    .innerJoin('chats', 'chats.id', 'outbox.chat_id')
    .select(['outbox.id', 'outbox.state', 'outbox.kind', 'outbox.body', 'chats.address', 'chats.channel'])
    .where('outbox.id', '=', id)
    .executeTakeFirst();

/** Marks a row as sent, once: `attempts` counts how often that took effect and is 1 for ever after. */
export async function markSent(db: Db, id: string): Promise<void> {
  await db
    .updateTable('outbox')
    .set((e) => ({ state: 'sent' as const, sent_at: new Date(), attempts: e('attempts', '+', 1) }))
    .where('id', '=', id)
    .where('state', '=', 'queued')
    .execute();
}
