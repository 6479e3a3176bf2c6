import { sql } from 'kysely';
import type { TaskState } from '../../../contracts/task.ts';
import type { Db } from '../../postgres/database.ts';

/** What runs in all chats. */

export interface RunningTurn {
  id: string;
  thread_id: string;
  input_summary: string;
  since: Date;
  micro_usd: number;
  /** names of the tools that run */
  tools: string[];
  /** what it waits for at its model */
  wait: string | null;
  wait_until: Date | null;
  asked: boolean;
}

/** The latest first. Its conversation has one at a time. */
export async function runningTurns(db: Db, limit: number): Promise<RunningTurn[]> {
  const { rows } = await sql<RunningTurn>`
    select turns.id, turns.thread_id, turns.input_summary, coalesce(turns.started_at, turns.created_at) as since,
      (select coalesce(sum(micro_usd), 0)::bigint from steps where steps.turn_id = turns.id) as micro_usd,
      coalesce((select array_agg(name order by position) from calls where calls.turn_id = turns.id and calls.state = 'running'), '{}') as tools,
      wait.what as wait, wait.until as wait_until,
      exists (select from questions where questions.turn_id = turns.id and questions.state = 'open') as asked
    from turns left join lateral
      (select what, until from model_waits where model_waits.turn_id = turns.id and until > now() order by until desc limit 1) as wait on true
    where turns.status = 'in_progress' order by since desc, turns.id limit ${limit}`.execute(db);
  return rows;
}

export interface RunningTask {
  id: string;
  thread_id: string;
  goal: string;
  state: TaskState;
  pausing: boolean;
  last: string | null;
  since: Date;
  limited_until: Date | null;
  micro_usd: number;
}

/** Tasks that are not over, the latest first. */
export async function runningTasks(db: Db, limit: number): Promise<RunningTask[]> {
  const { rows } = await sql<RunningTask>`
    select id, thread_id, goal, state, pausing, last, coalesce(started_at, created_at) as since, limited_until,
      (select coalesce(sum(micro_usd), 0)::bigint from task_usage where task_usage.task_id = tasks.id) as micro_usd
    from tasks where ended_at is null order by since desc, id limit ${limit}`.execute(db);
  return rows;
}

export interface RunningRoutine {
  id: string;
  chat_id: string;
  routine_name: string;
  started_at: Date;
  steps: number;
  done: number;
  /** of the step that ended last */
  last: string | null;
}

/** Runs of routines, the latest first. */
export async function runningRoutines(db: Db, limit: number): Promise<RunningRoutine[]> {
  const { rows } = await sql<RunningRoutine>`
    select runs.id, runs.chat_id, runs.routine_name, runs.started_at, coalesce(jsonb_array_length(routines.steps), 0) as steps,
      jsonb_array_length(runs.results) as done, runs.results -> -1 ->> 'name' as last
    from routine_runs as runs left join routines on routines.id = runs.routine_id
    where runs.status = 'running' order by runs.started_at desc, runs.id limit ${limit}`.execute(db);
  return rows;
}
