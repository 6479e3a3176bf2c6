import { sql } from 'kysely';
import type { Db, Tx } from '../../postgres/database.ts';
import { type Spent, today } from './spending.ts';

/** What was spent: since midnight in the time zone of the owner, and ever. */
export interface UsageTotal {
  today: Spent;
  ever: Spent;
}

/** The days that were counted, of turns and of coding tasks. `chatId` null: of every chat. */
export async function usageTotals(
  db: Db | Tx,
  chatId: string | null,
  zone: string,
): Promise<{ turns: UsageTotal; tasks: UsageTotal }> {
  const [turns, tasks] = await Promise.all([
    totalOf(db, 'spending', chatId, zone),
    totalOf(db, 'task_spending', chatId, zone),
  ]);
  return { turns, tasks };
}

/** Input tokens of a chat since midnight, and how many of them came from the cache of the endpoint. */
export const cachedToday = (db: Db | Tx, chatId: string, zone: string): Promise<{ cached: number; input: number }> =>
  db
    .selectFrom('steps')
    .innerJoin('turns', 'turns.id', 'steps.turn_id')
    .innerJoin('threads', 'threads.id', 'turns.thread_id')
    .select([
      sql<number>`coalesce(sum(steps.cached_tokens), 0)::bigint`.as('cached'),
      sql<number>`coalesce(sum(steps.input_tokens), 0)::bigint`.as('input'),
    ])
    .where('threads.chat_id', '=', chatId)
    .where('steps.created_at', '>=', sql<Date>`${today(zone)}::timestamp at time zone ${zone}::text`)
    .executeTakeFirstOrThrow();

async function totalOf(
  db: Db | Tx,
  days: 'spending' | 'task_spending',
  chatId: string | null,
  zone: string,
): Promise<UsageTotal> {
  const sum = (column: string, ofToday: boolean) =>
    sql<number>`coalesce(sum(${sql.ref(column)}) ${ofToday ? sql`filter (where day = ${today(zone)})` : sql``}, 0)::bigint`;
  let query = db
    .selectFrom(days)
    .select([
      sum('tokens', true).as('tokens_today'),
      sum('micro_usd', true).as('micro_usd_today'),
      sum('unpriced', true).as('unpriced_today'),
      sum('tokens', false).as('tokens'),
      sum('micro_usd', false).as('micro_usd'),
      sum('unpriced', false).as('unpriced'),
    ]);
  if (chatId !== null) query = query.where('chat_id', '=', chatId);
  const row = await query.executeTakeFirstOrThrow();
  return {
    today: { tokens: row.tokens_today, microUsd: row.micro_usd_today, unpriced: row.unpriced_today },
    ever: { tokens: row.tokens, microUsd: row.micro_usd, unpriced: row.unpriced },
  };
}
