import { sql } from 'kysely';
import { HOUR } from '../../../domain/time.ts';
import type { Db } from '../../postgres/database.ts';
import { TODAY } from '../../turns/steps/spending.ts';

/** What models cost, over all chats and coding tasks. Days are UTC, money is in millionths of a US dollar. */

export interface Sum {
  tokens: number;
  micro_usd: number;
  unpriced: number;
}

const sums = sql`sum(tokens)::bigint as tokens, sum(micro_usd)::bigint as micro_usd, sum(unpriced)::bigint as unpriced`;
const firstDay = (days: number) => sql<string>`(${TODAY} - ${days - 1}::int)`;

export interface DaySum extends Sum {
  day: string;
  /** by turns of chats, and by coding tasks */
  of: 'chats' | 'tasks';
}

/** Of the last `days` days, today included. */
export async function spendByDay(db: Db, days: number): Promise<{ today: string; sums: DaySum[] }> {
  const [{ rows: sumsOfDays }, { rows }] = await Promise.all([
    sql<DaySum>`
      select to_char(day, 'YYYY-MM-DD') as day, of, ${sums} from (
        select day, 'chats' as of, tokens, micro_usd, unpriced from spending where day >= ${firstDay(days)}
        union all select day, 'tasks', tokens, micro_usd, unpriced from task_spending where day >= ${firstDay(days)}) as spent
      group by 1, 2 order by 1`.execute(db),
    sql<{ today: string }>`select to_char(${TODAY}, 'YYYY-MM-DD') as today`.execute(db),
  ]);
  return { today: rows[0]!.today, sums: sumsOfDays };
}

/** The dearest first. */
export async function spendByChat(db: Db, days: number, limit: number): Promise<Array<Sum & { chat_id: string }>> {
  const { rows } = await sql<Sum & { chat_id: string }>`
    select chat_id, ${sums} from (
      select chat_id, tokens, micro_usd, unpriced from spending where day >= ${firstDay(days)}
      union all select chat_id, tokens, micro_usd, unpriced from task_spending where day >= ${firstDay(days)}) as spent
    group by chat_id order by 3 desc, 2 desc, 1 limit ${limit}`.execute(db);
  return rows;
}

export async function spendByModel(
  db: Db,
  days: number,
  limit: number,
): Promise<Array<Omit<Sum, 'unpriced'> & { model: string }>> {
  const since = sql`(${firstDay(days)}::timestamp at time zone 'utc')`;
  const { rows } = await sql<Omit<Sum, 'unpriced'> & { model: string }>`
    select model, sum(tokens)::bigint as tokens, sum(micro_usd)::bigint as micro_usd from (
      select model, input_tokens + output_tokens as tokens, micro_usd from steps where created_at >= ${since}
      union all select task_usage.model, task_usage.input_tokens + task_usage.output_tokens, task_usage.micro_usd
        from tasks join task_usage on task_usage.task_id = tasks.id where tasks.created_at >= ${since}) as used
    group by model order by 3 desc, 2 desc, 1 limit ${limit}`.execute(db);
  return rows;
}

export async function spendByTask(
  db: Db,
  days: number,
  limit: number,
): Promise<Array<Sum & { id: string; goal: string; thread_id: string }>> {
  const { rows } = await sql<Sum & { id: string; goal: string; thread_id: string }>`
    select tasks.id, tasks.goal, tasks.thread_id, used.* from tasks join lateral (
      select sum(input_tokens + output_tokens)::bigint as tokens, sum(micro_usd)::bigint as micro_usd, sum(unpriced)::bigint as unpriced
      from task_usage where task_id = tasks.id having count(*) > 0) as used on true
    where tasks.created_at >= (${firstDay(days)}::timestamp at time zone 'utc')
    order by used.micro_usd desc, used.tokens desc, tasks.id limit ${limit}`.execute(db);
  return rows;
}

/** What is used of a budget, and how fast. */
export interface Use {
  chat_id: string;
  task_id: string | null;
  tokens: number;
  micro_usd: number;
  /** in the time that `paceMs` says */
  pace_tokens: number;
  pace_micro_usd: number;
  pace_ms: number;
}

/** Turns of each chat that spent something today, with the last hour as their pace. */
export async function usedByTurns(db: Db): Promise<Use[]> {
  const { rows } = await sql<Use>`
    with hour as (
      select threads.chat_id, sum(steps.input_tokens + steps.output_tokens)::bigint as tokens, sum(steps.micro_usd)::bigint as micro_usd
      from steps join turns on turns.id = steps.turn_id join threads on threads.id = turns.thread_id
      where steps.created_at >= now() - interval '1 hour' group by threads.chat_id)
    select spending.chat_id, null as task_id, spending.tokens, spending.micro_usd, coalesce(hour.tokens, 0) as pace_tokens,
      coalesce(hour.micro_usd, 0) as pace_micro_usd, ${HOUR}::int as pace_ms
    from spending left join hour on hour.chat_id = spending.chat_id where spending.day = ${TODAY} and spending.tokens > 0`.execute(
    db,
  );
  return rows;
}

/** Coding tasks that are not over, with all of their time as their pace. */
export async function usedByTasks(db: Db): Promise<Use[]> {
  const { rows } = await sql<Use>`
    select tasks.chat_id, tasks.id as task_id, used.tokens, used.micro_usd, used.tokens as pace_tokens, used.micro_usd as pace_micro_usd,
      (extract(epoch from now() - coalesce(tasks.started_at, tasks.created_at)) * 1000)::bigint as pace_ms
    from tasks join lateral (
      select sum(input_tokens + output_tokens)::bigint as tokens, sum(micro_usd)::bigint as micro_usd from task_usage
      where task_id = tasks.id having count(*) > 0) as used on true
    where tasks.ended_at is null`.execute(db);
  return rows;
}

/** What the coding tasks of each chat used today. The pace is that of those that are not over. */
export async function usedByTasksOfDay(db: Db): Promise<Array<Pick<Use, 'chat_id' | 'tokens' | 'micro_usd'>>> {
  const { rows } = await sql<Pick<Use, 'chat_id' | 'tokens' | 'micro_usd'>>`
    select chat_id, tokens, micro_usd from task_spending where day = ${TODAY} and tokens > 0`.execute(db);
  return rows;
}
