import { type RawBuilder, sql } from 'kysely';
import type { BudgetFacts } from '../../../domain/model/spending.ts';
import type { WriteBatch } from '../../chats/write-batch.ts';
import type { Db, Tx } from '../../postgres/database.ts';

/** The day of a budget in the time zone of the owner, by the clock of the database. */
export const today = (zone: string) => sql<string>`(now() at time zone ${zone}::text)::date`;

export interface Spent {
  tokens: number;
  microUsd: number;
  /** the part that counts at the highest known price, because the right price is unknown */
  unpriced: number;
}

/** Tokens and money of a chat since midnight in this time zone. */
export async function spentToday(db: Db | Tx, chatId: string, zone: string): Promise<Spent> {
  const row = await db
    .selectFrom('spending')
    .select(['tokens', 'micro_usd', 'unpriced'])
    .where('chat_id', '=', chatId)
    .where('day', '=', today(zone))
    .executeTakeFirst();
  return { tokens: row?.tokens ?? 0, microUsd: row?.micro_usd ?? 0, unpriced: row?.unpriced ?? 0 };
}

/** Conversations that have spent the most since midnight in this time zone. */
export const dearestToday = (db: Db, limit: number, zone: string) =>
  db
    .selectFrom('spending')
    .innerJoin('chats', 'chats.id', 'spending.chat_id')
    .select(['chats.workflow_id', 'spending.micro_usd', 'spending.unpriced'])
    .where('spending.day', '=', today(zone))
    .where('spending.micro_usd', '>', 0)
    .orderBy('spending.micro_usd', 'desc')
    .limit(limit)
    .execute();

/** The chat and the schedule whose budgets count a spend. */
interface Payer {
  chatId: string;
  /** the time zone of the owner */
  zone: string;
  /** set for the run of an automation: its schedule, and the chat that gets its results */
  run?: { cronId: string | null; account: string } | undefined;
}

/** Counts a model step in the transaction that stores it, so the counter always equals the sum of the steps. */
export function addSpending(batch: WriteBatch, { chatId, zone, run }: Payer, spent: Spent): void {
  const { tokens, microUsd, unpriced } = spent;
  const values = { day: today(zone), tokens, micro_usd: microUsd, unpriced };
  batch.later((db) =>
    db
      .insertInto('spending')
      .values({ chat_id: chatId, ...values })
      .onConflict((c) => c.columns(['chat_id', 'day']).doUpdateSet(addedTo('spending'))),
  );
  const cron_id = run?.cronId;
  if (run && cron_id)
    batch.later((db) =>
      db
        .insertInto('schedule_spending')
        .values({ cron_id, kind: 'turns', account: run.account, ...values })
        .onConflict((c) => c.columns(['cron_id', 'day', 'kind']).doUpdateSet(addedTo('schedule_spending'))),
    );
}

/** The sum of what was counted before and what is added. */
export const addedTo = (table: 'spending' | 'task_spending' | 'schedule_spending') => {
  const sum = (column: string) => sql<number>`${sql.ref(`${table}.${column}`)} + ${sql.ref(`excluded.${column}`)}`;
  return { tokens: sum('tokens'), micro_usd: sum('micro_usd'), unpriced: sum('unpriced') };
};

/**
 * What the budgets are compared with, as JSON. `account`, `cron`: SQL for the chat that pays and for the schedule, which
 * may be null. `own`: SQL for rows with the tokens and money of the turn or task.
 */
export function budgetFacts(at: {
  of: RawBuilder<unknown>;
  account: RawBuilder<unknown>;
  cron: RawBuilder<unknown>;
  level: 'turn' | 'task' | 'schedule';
  own: RawBuilder<unknown>;
  zone: string;
}): RawBuilder<BudgetFacts> {
  const { of, account, cron, level, own, zone } = at;
  const first = sql`date_trunc('month', d.day)::date`;
  const sumOf = (rows: RawBuilder<unknown>) =>
    sql`(select json_build_object('tokens', coalesce(sum(tokens), 0), 'microUsd', coalesce(sum(micro_usd), 0), 'unpriced', coalesce(sum(unpriced), 0)) from (${rows}) as spent)`;
  const rows = (from: RawBuilder<unknown>) => sql`select tokens, micro_usd, unpriced from ${from}`;
  const runs = (kind: 'turns' | 'tasks') =>
    rows(sql`schedule_spending where account = a.account and day = d.day and kind = ${sql.lit(kind)}`);
  return sql<BudgetFacts>`(select json_build_object(
    'of', a.of, 'account', a.account,
    'cron', (select json_build_object('id', crons.id, 'name', crons.name) from crons where crons.id = a.cron),
    'today', to_char(d.day, 'YYYY-MM-DD'), 'month', to_char(d.day, 'YYYY-MM'),
    'dayEndsAt', (extract(epoch from ((d.day + 1)::timestamp at time zone ${zone}::text)) * 1000)::bigint,
    'monthEndsAt', (extract(epoch from ((${first} + interval '1 month')::timestamp at time zone ${zone}::text)) * 1000)::bigint,
    'own', ${sumOf(own)},
    'day', ${sumOf(sql`${rows(sql`spending where chat_id = a.account and day = d.day`)} union all ${runs('turns')}`)},
    'tasks', ${sumOf(sql`${rows(sql`task_spending where chat_id = a.account and day = d.day`)} union all ${runs('tasks')}`)},
    'monthly', ${sumOf(sql`${rows(sql`spending where chat_id = a.account and day >= ${first}`)}
      union all ${rows(sql`task_spending where chat_id = a.account and day >= ${first}`)}
      union all ${rows(sql`schedule_spending where account = a.account and day >= ${first}`)}`)},
    'dayUsd', (select (rule ->> 'dayUsd')::float8 from chats join groups on groups.channel = chats.channel and groups.address = split_part(chats.address, '/', 1)
      where chats.id = a.account and registered_at is not null),
    'schedule', ${sumOf(rows(sql`schedule_spending where cron_id = a.cron and day = d.day`))},
    'grants', (select coalesce(json_agg(json_build_object('scope', scope, 'period', period, 'tokens', tokens, 'microUsd', micro_usd)), '[]')
      from budget_grants where (scope = ${sql.lit(`${level} `)} || a.of and period = '')
        or (scope in ('day ' || a.account, 'tasks ' || a.account, 'schedule ' || a.cron) and period = to_char(d.day, 'YYYY-MM-DD'))
        or (scope = 'month ' || a.account and period = to_char(d.day, 'YYYY-MM'))))
    from (select ${of} as of, ${account} as account, ${cron} as cron) as a, (select ${today(zone)} as day) as d)`;
}
