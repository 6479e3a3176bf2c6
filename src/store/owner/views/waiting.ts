import { type ExpressionBuilder, sql } from 'kysely';
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
