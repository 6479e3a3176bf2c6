import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** What failed lately in all chats and has not worked since. */

export interface FailedRow {
  kind: 'turn' | 'task' | 'routine' | 'message';
  id: string;
  thread_id: string | null;
  chat_id: string | null;
  title: string;
  why: string | null;
  at: Date;
  /** words that began the turn, or the goal of the task, to say them once more */
  said: string | null;
  workspace: string | null;
  /** the schedule that started the run, when it still exists */
  cron_id: string | null;
}

/** Characters of a message that is offered to be said once more; a longer one is not offered. */
const SAID_CHARS = 20_000;

/** The latest first. */
export async function failedSince(db: Db, since: Date, limit: number): Promise<FailedRow[]> {
  const { rows } = await sql<FailedRow>`
    (select 'turn' as kind, turns.id, turns.thread_id, null::text as chat_id, turns.input_summary as title, turns.error as why, turns.ended_at as at,
        (select case when length(said.content) <= ${SAID_CHARS} then coalesce(said.words, said.content) end
          from transcript as said where said.turn_id = turns.id and said.role = 'user' order by said.ord limit 1) as said,
        null::text as workspace, null::text as cron_id
      from turns where status = 'failed' and ended_at >= ${since} and not exists (
        select from turns as later where later.thread_id = turns.thread_id and later.created_at > turns.created_at and later.status = 'completed')
      order by ended_at desc limit ${limit})
    union all
    (select 'task', id, thread_id, null, goal, reason, ended_at, case when length(goal) <= ${SAID_CHARS} then goal end, workspace, null
      from tasks where state = 'failed' and ended_at >= ${since} order by ended_at desc limit ${limit})
    union all
    (select 'routine', runs.id, null, runs.chat_id, runs.routine_name, runs.summary, runs.ended_at, null, null, crons.id
      from routine_runs as runs left join crons on crons.id = runs.cron_id
      where runs.status = 'failed' and runs.ended_at >= ${since} and not exists (
        select from routine_runs as later where later.routine_id = runs.routine_id and later.started_at > runs.started_at and later.status = 'completed')
      order by runs.ended_at desc limit ${limit})
    union all
    (select 'message', id, thread_id, chat_id, left(body, 400), error, created_at, null, null, null
      from outbox where state = 'failed' and created_at >= ${since} order by created_at desc limit ${limit})
    order by at desc, id limit ${limit}`.execute(db);
  return rows;
}
