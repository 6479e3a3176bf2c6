import { sql } from 'kysely';
import type { WriteBatch } from '../../chats/write-batch.ts';
import type { Db, Tx } from '../../postgres/database.ts';

/** The UTC day of a budget, by the clock of the database. */
export const TODAY = sql<string>`(now() at time zone 'utc')::date`;

export interface Spent {
  tokens: number;
  microUsd: number;
  /** the part that counts at the highest known price, because the right price is unknown */
  unpriced: number;
}

/** Tokens and money of a chat since midnight UTC. */
export async function spentToday(db: Db | Tx, chatId: string): Promise<Spent> {
  const row = await db
    .selectFrom('spending')
    .select(['tokens', 'micro_usd', 'unpriced'])
    .where('chat_id', '=', chatId)
    .where('day', '=', TODAY)
    .executeTakeFirst();
  return { tokens: row?.tokens ?? 0, microUsd: row?.micro_usd ?? 0, unpriced: row?.unpriced ?? 0 };
}

/** Conversations that have spent the most since midnight UTC. */
export const dearestToday = (db: Db, limit: number) =>
  db
    .selectFrom('spending')
    .innerJoin('chats', 'chats.id', 'spending.chat_id')
    .select(['chats.workflow_id', 'spending.micro_usd', 'spending.unpriced'])
    .where('spending.day', '=', TODAY)
    .where('spending.micro_usd', '>', 0)
    .orderBy('spending.micro_usd', 'desc')
    .limit(limit)
    .execute();

/** Counts a model step in the transaction that stores it, so the counter always equals the sum of the steps. */
export const addSpending = (batch: WriteBatch, chatId: string, { tokens, microUsd, unpriced }: Spent): void =>
  batch.later((db) =>
    db
      .insertInto('spending')
      .values({ chat_id: chatId, day: TODAY, tokens, micro_usd: microUsd, unpriced })
      .onConflict((c) =>
        c.columns(['chat_id', 'day']).doUpdateSet({
          tokens: sql`spending.tokens + excluded.tokens`,
          micro_usd: sql`spending.micro_usd + excluded.micro_usd`,
          unpriced: sql`spending.unpriced + excluded.unpriced`,
        }),
      ),
  );
