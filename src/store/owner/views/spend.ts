import { sql } from 'kysely';
import { HOUR } from '../../../domain/time.ts';
import type { Db } from '../../postgres/database.ts';
import { today } from '../../turns/steps/spending.ts';

/**
 * The cost of models, over all chats and coding tasks. Days are those of `zone`, money is in millionths of a US dollar.
 */

export interface Sum {
  tokens: number;
  micro_usd: number;
  unpriced: number;
}

const sums = sql`sum(tokens)::bigint as tokens, sum(micro_usd)::bigint as micro_usd, sum(unpriced)::bigint as unpriced`;
const firstDay = (days: number, zone: string) => sql<string>`(${today(zone)} - ${days - 1}::int)`;

export interface DaySum extends Sum {
  day: string;
  /** by turns of chats, and by coding tasks */
  of: 'chats' | 'tasks';
}

/** Of the last `days` days, today included. */
export async function spendByDay(
  db: Db,
  days: number,
  zone: string,
): Promise<{ today: string; resetsAt: number; sums: DaySum[] }> {
  const [{ rows: sumsOfDays }, { rows }] = await Promise.all([
    sql<DaySum>`
      select to_char(day, 'YYYY-MM-DD') as day, of, ${sums} from (
        select day, 'chats' as of, tokens, micro_usd, unpriced from spending where day >= ${firstDay(days, zone)}
        union all select day, 'tasks', tokens, micro_usd, unpriced from task_spending where day >= ${firstDay(days, zone)}) as spent
      group by 1, 2 order by 1`.execute(db),
    sql<{ today: string; resets_at: number }>`select to_char(day, 'YYYY-MM-DD') as today,
        (extract(epoch from ((day + 1)::timestamp at time zone ${zone}::text)) * 1000)::float8 as resets_at
      from (select ${today(zone)} as day) as d`.execute(db),
  ]);
  const { today: day, resets_at: resetsAt } = rows[0]!;
  return { today: day, resetsAt, sums: sumsOfDays };
}

/** The dearest first. */
export async function spendByChat(
  db: Db,
  days: number,
  limit: number,
  zone: string,
): Promise<Array<Sum & { chat_id: string }>> {
  const { rows } = await sql<Sum & { chat_id: string }>`
    select chat_id, ${sums} from (
      select chat_id, tokens, micro_usd, unpriced from spending where day >= ${firstDay(days, zone)}
      union all select chat_id, tokens, micro_usd, unpriced from task_spending where day >= ${firstDay(days, zone)}) as spent
    group by chat_id order by 3 desc, 2 desc, 1 limit ${limit}`.execute(db);
  return rows;
}

export async function spendByModel(
  db: Db,
  days: number,
  limit: number,
  zone: string,
): Promise<Array<Omit<Sum, 'unpriced'> & { model: string }>> {
  const since = sql`(${firstDay(days, zone)}::timestamp at time zone ${zone}::text)`;
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
  zone: string,
): Promise<Array<Sum & { id: string; goal: string; thread_id: string }>> {
  const { rows } = await sql<Sum & { id: string; goal: string; thread_id: string }>`
    select tasks.id, tasks.goal, tasks.thread_id, used.* from tasks join lateral (
      select sum(input_tokens + output_tokens)::bigint as tokens, sum(micro_usd)::bigint as micro_usd, sum(unpriced)::bigint as unpriced
      from task_usage where task_id = tasks.id having count(*) > 0) as used on true
    where tasks.created_at >= (${firstDay(days, zone)}::timestamp at time zone ${zone}::text)
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
export async function usedByTurns(db: Db, zone: string): Promise<Use[]> {
  const { rows } = await sql<Use>`
    with hour as (
      select threads.chat_id, sum(steps.input_tokens + steps.output_tokens)::bigint as tokens, sum(steps.micro_usd)::bigint as micro_usd
      from steps join turns on turns.id = steps.turn_id join threads on threads.id = turns.thread_id
      where steps.created_at >= now() - interval '1 hour' group by threads.chat_id)
    select spending.chat_id, null as task_id, spending.tokens, spending.micro_usd, coalesce(hour.tokens, 0) as pace_tokens,
      coalesce(hour.micro_usd, 0) as pace_micro_usd, ${HOUR}::int as pace_ms
    from spending left join hour on hour.chat_id = spending.chat_id where spending.day = ${today(zone)} and spending.tokens > 0`.execute(
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

/** Usage of the coding tasks of each chat today. The pace is that of those that are not over. */
export async function usedByTasksOfDay(
  db: Db,
  zone: string,
): Promise<Array<Pick<Use, 'chat_id' | 'tokens' | 'micro_usd'>>> {
  const { rows } = await sql<Pick<Use, 'chat_id' | 'tokens' | 'micro_usd'>>`
    select chat_id, tokens, micro_usd from task_spending where day = ${today(zone)} and tokens > 0`.execute(db);
  return rows;
}

type Used = Pick<Use, 'chat_id' | 'tokens' | 'micro_usd'>;

/** What each chat used this month, with its coding tasks and the runs that it pays for. */
export async function usedInMonth(db: Db, zone: string): Promise<Used[]> {
  const month = sql`day >= date_trunc('month', ${today(zone)})::date`;
  const { rows } = await sql<Used>`
    select chat_id, sum(tokens)::bigint as tokens, sum(micro_usd)::bigint as micro_usd from (
      select chat_id, tokens, micro_usd from spending where ${month}
      union all select chat_id, tokens, micro_usd from task_spending where ${month}
      union all select account, tokens, micro_usd from schedule_spending where account is not null and ${month}) as spent
    group by chat_id`.execute(db);
  return rows;
}

/** Usage of the runs of each schedule today. */
export async function usedBySchedules(db: Db, zone: string): Promise<Array<Used & { cron_id: string }>> {
  const { rows } = await sql<Used & { cron_id: string }>`
    select cron_id, crons.chat_id, sum(tokens)::bigint as tokens, sum(micro_usd)::bigint as micro_usd
    from schedule_spending join crons on crons.id = cron_id where day = ${today(zone)} group by 1, 2`.execute(db);
  return rows;
}

/** Grants of people beyond the present budgets. */
export async function grantsNow(
  db: Db,
  zone: string,
): Promise<Array<{ scope: string; tokens: number; micro_usd: number }>> {
  const { rows } = await sql<{ scope: string; tokens: number; micro_usd: number }>`
    select scope, sum(tokens)::bigint as tokens, sum(micro_usd)::bigint as micro_usd from budget_grants
    where period in ('', to_char(${today(zone)}, 'YYYY-MM-DD'), to_char(${today(zone)}, 'YYYY-MM')) group by scope`.execute(
    db,
  );
  return rows;
}
