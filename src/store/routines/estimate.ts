import { sql } from 'kysely';
import type { Amount } from '../../domain/model/spending.ts';
import type { Db } from '../postgres/database.ts';

type Average = Amount & { unpriced: number };

const average = sql`coalesce(avg(tokens), 0)::float8 as tokens, coalesce(avg(micro_usd), 0)::float8 as "microUsd",
  coalesce(avg(unpriced), 0)::float8 as unpriced, count(*)::int as count`;

const ofTask = sql`select sum(input_tokens + output_tokens) as tokens, sum(micro_usd) as micro_usd, sum(unpriced) as unpriced
  from task_usage where task_id = tasks.id`;
const ofTurn = sql`select sum(input_tokens + output_tokens) as tokens, sum(micro_usd) as micro_usd,
  sum(coalesce((result->'usage'->>'unpriced')::numeric, 0)) as unpriced from steps where turn_id = turns.id`;

/** What a run of a routine has cost on average, of its latest ones; null when none has ended. */
export async function costOfRuns(db: Db, routineId: string): Promise<Average | null> {
  const { rows } = await sql<Average & { count: number }>`
    select ${average} from (
      select coalesce(sum(used.tokens), 0) as tokens, coalesce(sum(used.micro_usd), 0) as micro_usd, coalesce(sum(used.unpriced), 0) as unpriced
      from (select id from routine_runs where routine_id = ${routineId} and status <> 'running' order by started_at desc limit 20) as run
        left join lateral (
          select spent.* from background_tasks b join turns on turns.id = b.turn_id cross join lateral (${ofTurn}) as spent where b.run_id = run.id
          union all select spent.* from background_tasks b join tasks on tasks.thread_id = b.thread_id cross join lateral (${ofTask}) as spent
            where b.run_id = run.id
          union all select spent.* from tasks cross join lateral (${ofTask}) as spent
            where tasks.call_id >= run.id || '_' and tasks.call_id < run.id || '\`' and tasks.call_id ~ '_[0-9]+$') as used on true
      group by run.id) as runs`.execute(db);
  const { count, ...cost } = rows[0]!;
  return count > 0 ? cost : null;
}

/** What one turn, or one coding task, has cost on average lately; null when there was none. */
export async function usualCost(db: Db, of: 'turn' | 'task'): Promise<Average | null> {
  const latest =
    of === 'turn'
      ? sql`from (select distinct turn_id as id from (select turn_id from steps order by created_at desc limit 200) as lately) as turns
          cross join lateral (${ofTurn}) as spent`
      : sql`from (select id from tasks where ended_at is not null order by created_at desc limit 20) as tasks cross join lateral (${ofTask}) as spent
          where spent.tokens > 0`;
  const { rows } = await sql<Average & { count: number }>`select ${average} ${latest}`.execute(db);
  const { count, ...cost } = rows[0]!;
  return count > 0 ? cost : null;
}
