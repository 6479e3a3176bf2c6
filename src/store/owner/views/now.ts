import { type ExpressionBuilder, sql } from 'kysely';
import type { TaskState } from '../../../contracts/task.ts';
import { DAY } from '../../../domain/time.ts';
import type { Db } from '../../postgres/database.ts';
import type { Database } from '../../schema/schema.ts';

/** Open questions of all chats, with what they are about. */

const questions = (db: Db) =>
  db
    .selectFrom('questions')
    .leftJoin('calls', 'calls.id', 'questions.call_id')
    .leftJoin('tasks', 'tasks.id', 'questions.task_id')
    .select([
      'questions.id',
      'questions.thread_id',
      'questions.task_id',
      'questions.kind',
      'questions.prompt',
      'questions.options',
      'questions.evidence',
      'questions.asked_at',
      'questions.delivered_at',
      'questions.budget',
      'calls.name as tool',
      'calls.args',
      'calls.taint',
      'tasks.goal',
      'tasks.workspace',
    ])
    .select((e) => proposesSetup(e).as('setup'));

const proposesSetup = (e: ExpressionBuilder<Pick<Database, 'questions' | 'setup_scripts'>, 'questions'>) =>
  e.exists(
    e.selectFrom('setup_scripts').select('question_id').whereRef('setup_scripts.question_id', '=', 'questions.id'),
  );

export type WaitingRow = Awaited<ReturnType<typeof waitingQuestions>>[number];

/** The oldest first. */
export const waitingQuestions = (db: Db, limit: number) =>
  questions(db)
    .where('questions.state', '=', 'open')
    .orderBy('questions.asked_at')
    .orderBy('questions.id')
    .limit(limit)
    .execute();

export const waitingQuestion = (db: Db, id: string): Promise<WaitingRow | undefined> =>
  questions(db).where('questions.state', '=', 'open').where('questions.id', '=', id).executeTakeFirst();

export async function countWaiting(db: Db): Promise<number> {
  const { count } = await db
    .selectFrom('questions')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('state', '=', 'open')
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Whether a person has been asked and has not answered, for each of these turns and tasks. */
export async function askingNow(db: Db, ids: readonly string[]): Promise<Set<string>> {
  const { rows } = await sql<{ of: string }>`
    select coalesce(task_id, turn_id) as of from questions where state = 'open' and coalesce(task_id, turn_id) = any(${[...ids]})`.execute(
    db,
  );
  return new Set(rows.map(({ of }) => of));
}

/**
 * What failed in all chats, until the owner has seen it: it was marked as seen, or a person has written in the thread of
 * a failed turn since. Success of another run does not count, because then nobody may have looked.
 */

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

/** Longest message that can be repeated, in characters. */
const SAID_CHARS = 20_000;

/** Failures that are older are not shown any more. */
const FAILURES_SHOWN_MS = 30 * DAY;

const unseen = (id: string) => sql`not exists (select from seen_failures as seen where seen.id = ${sql.ref(id)})`;

/** The latest first. */
export async function unseenFailures(db: Db, limit: number): Promise<FailedRow[]> {
  const since = new Date(Date.now() - FAILURES_SHOWN_MS);
  const { rows } = await sql<FailedRow>`
    (select 'turn' as kind, turns.id, turns.thread_id, null::text as chat_id, turns.input_summary as title, turns.error as why, turns.ended_at as at,
        (select case when length(said.content) <= ${SAID_CHARS} then coalesce(said.words, said.content) end
          from transcript as said where said.turn_id = turns.id and said.role = 'user' order by said.ord limit 1) as said,
        null::text as workspace, null::text as cron_id
      from turns where status = 'failed' and ended_at >= ${since} and ${unseen('turns.id')} and not exists (
        select from turns as later where later.thread_id = turns.thread_id and later.created_at > turns.created_at and later.run_id is null)
      order by ended_at desc limit ${limit})
    union all
    (select 'task', id, thread_id, null, goal, reason, ended_at, case when length(goal) <= ${SAID_CHARS} then goal end, workspace, null
      from tasks where state = 'failed' and ended_at >= ${since} and ${unseen('tasks.id')} order by ended_at desc limit ${limit})
    union all
    (select 'routine', runs.id, null, runs.chat_id, runs.routine_name, runs.summary, runs.ended_at, null, null, crons.id
      from routine_runs as runs left join crons on crons.id = runs.cron_id
      where runs.status = 'failed' and runs.ended_at >= ${since} and ${unseen('runs.id')} order by runs.ended_at desc limit ${limit})
    union all
    (select 'message', id, thread_id, chat_id, left(body, 400), error, created_at, null, null, null
      from outbox where state = 'failed' and created_at >= ${since} and ${unseen('outbox.id')} order by created_at desc limit ${limit})
    order by at desc, id limit ${limit}`.execute(db);
  return rows;
}

/** A second call changes nothing. Marks of failures that are not shown any more go. */
export async function markSeen(db: Db, ids: readonly string[]): Promise<void> {
  await db
    .deleteFrom('seen_failures')
    .where('seen_at', '<', new Date(Date.now() - 2 * FAILURES_SHOWN_MS))
    .execute();
  if (ids.length > 0)
    await db
      .insertInto('seen_failures')
      .values(ids.map((id) => ({ id })))
      .onConflict((c) => c.doNothing())
      .execute();
}

/** The running work of all chats. */

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
  /** of a prompt whose turn has not begun, because its chat is at work */
  queued: boolean;
}

/** Runs of routines, the latest first. A prompt that runs is a turn of its chat, and is not listed twice. */
export async function runningRoutines(db: Db, limit: number): Promise<RunningRoutine[]> {
  const { rows } = await sql<RunningRoutine>`
    select runs.id, runs.chat_id, runs.routine_name, runs.started_at, coalesce(jsonb_array_length(routines.steps), 0) as steps,
      jsonb_array_length(runs.results) as done, runs.results -> -1 ->> 'name' as last,
      coalesce(routines.automation, false) and not exists (select from turns where turns.run_id = runs.id) as queued
    from routine_runs as runs left join routines on routines.id = runs.routine_id
    where runs.status = 'running' and not exists (select from turns where turns.run_id = runs.id and turns.status = 'in_progress')
    order by runs.started_at desc, runs.id limit ${limit}`.execute(db);
  return rows;
}
