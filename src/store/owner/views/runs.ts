import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** What runs, waits or sleeps in all chats, as `fetch ps` lists it. Money in millionths of a US dollar. */

/** Kinds of what a person, a workspace or a model is waited for, by the names of the search attribute. */
type WaitsFor = 'question' | 'approval' | 'plan' | 'workspace' | 'resume' | 'limit';

interface RunFacts {
  /** id of the workflow */
  workflow_id: string;
  chat_id: string;
  state: 'waiting' | 'working' | 'idle';
  waits_for: WaitsFor | null;
  micro_usd: number;
  /** when this state began */
  since: Date;
}

export interface ChatRun extends RunFacts {
  kind: 'chat';
}
export interface TaskRun extends RunFacts {
  kind: 'task';
  id: string;
  harness: string;
  workspace: string;
}
export interface RoutineRunFacts extends RunFacts {
  kind: 'routine';
  id: string;
  routine_name: string;
}

/** Chats in which something is open, and those that were used last. */
export async function chatRuns(db: Db, limit: number): Promise<ChatRun[]> {
  const { rows } = await sql<ChatRun>`
    select 'chat' as kind, chats.workflow_id, chats.id as chat_id,
      case when asked.at is not null then 'waiting' when turn.at is not null then 'working' else 'idle' end as state,
      coalesce(asked.kind, case when turn.limited then 'limit' end) as waits_for,
      (select coalesce(sum(micro_usd), 0)::bigint from spending where spending.chat_id = chats.id) as micro_usd,
      coalesce(asked.at, turn.at, chats.last_activity_at) as since
    from chats
      left join lateral (select kind, asked_at as at from questions
        where questions.chat_id = chats.id and task_id is null and state = 'open' order by asked_at limit 1) as asked on true
      left join lateral (select coalesce(turns.started_at, turns.created_at) as at,
          exists (select from model_waits where turn_id = turns.id and kind = 'limit' and until > now()) as limited
        from turns join threads on threads.id = turns.thread_id
        where threads.chat_id = chats.id and turns.status = 'in_progress' order by turns.created_at limit 1) as turn on true
    where chats.id in (select chat_id from questions where state = 'open' and task_id is null)
      or chats.id in (select threads.chat_id from turns join threads on threads.id = turns.thread_id where turns.status = 'in_progress')
      or chats.id in (select id from chats order by last_activity_at desc limit ${limit})`.execute(db);
  return rows;
}

/** Coding tasks that are not over. */
export async function taskRuns(db: Db): Promise<TaskRun[]> {
  const { rows } = await sql<TaskRun>`
    select 'task' as kind, tasks.id, tasks.workflow_id, tasks.chat_id, tasks.harness, tasks.workspace,
      case when asked.at is not null or tasks.state = 'waiting' then 'waiting'
        when tasks.state in ('queued', 'paused') then 'idle' else 'working' end as state,
      coalesce(asked.kind, case when limited then 'limit' when tasks.state = 'queued' then 'workspace'
        when tasks.state = 'paused' then 'resume' when tasks.state = 'waiting' then 'question' end) as waits_for,
      (select coalesce(sum(micro_usd), 0)::bigint from task_usage where task_usage.task_id = tasks.id) as micro_usd,
      coalesce(asked.at, tasks.started_at, tasks.created_at) as since
    from tasks
      cross join lateral (select tasks.state = 'waiting' and tasks.limited_until is not null as limited) as wait
      left join lateral (select kind, asked_at as at from questions
        where questions.task_id = tasks.id and questions.state = 'open' order by asked_at limit 1) as asked on true
    where tasks.ended_at is null`.execute(db);
  return rows;
}

/** Runs of routines that have not ended. */
export async function routineRuns(db: Db): Promise<RoutineRunFacts[]> {
  const { rows } = await sql<RoutineRunFacts>`
    select 'routine' as kind, runs.id, runs.workflow_id, runs.chat_id, runs.routine_name, 'working' as state, null as waits_for,
      ((select coalesce(sum(micro_usd), 0) from turns where turns.run_id = runs.id)
        + (select coalesce(sum(turns.micro_usd), 0) from background_tasks join turns on turns.id = background_tasks.turn_id
            where background_tasks.run_id = runs.id))::bigint as micro_usd,
      runs.started_at as since
    from routine_runs as runs where runs.status = 'running'`.execute(db);
  return rows;
}

/** The workflow and the chat of each of these failures; a row that is gone is left out. */
export async function placesOfFailures(
  db: Db,
  ids: readonly string[],
): Promise<Map<string, { workflow_id: string; chat_id: string; micro_usd: number; name: string | null }>> {
  const { rows } = await sql<{
    id: string;
    workflow_id: string;
    chat_id: string;
    micro_usd: number;
    name: string | null;
  }>`
    select turns.id, chats.workflow_id, chats.id as chat_id, turns.micro_usd, null as name
      from turns join threads on threads.id = turns.thread_id join chats on chats.id = threads.chat_id where turns.id = any(${[...ids]})
    union all
    select outbox.id, chats.workflow_id, chats.id, 0, null from outbox join chats on chats.id = outbox.chat_id where outbox.id = any(${[...ids]})
    union all
    select tasks.id, tasks.workflow_id, tasks.chat_id,
        (select coalesce(sum(micro_usd), 0)::bigint from task_usage where task_usage.task_id = tasks.id), tasks.harness || ' in ' || tasks.workspace
      from tasks where id = any(${[...ids]})
    union all
    select runs.id, runs.workflow_id, runs.chat_id, (select coalesce(sum(micro_usd), 0)::bigint from turns where turns.run_id = runs.id), runs.routine_name
      from routine_runs as runs where id = any(${[...ids]})`.execute(db);
  return new Map(rows.map(({ id, ...place }) => [id, place]));
}
