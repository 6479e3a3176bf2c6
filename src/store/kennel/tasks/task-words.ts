import { type Selectable, sql } from 'kysely';
import type { LogLine } from '../../../contracts/kennel.ts';
import type { Db, Tx } from '../../postgres/database.ts';
import type { TaskWordsTable } from '../../schema/tables/kennel.ts';
import { isLimited, type Task } from './tasks.ts';

/** What a person, or a failed test, says to a coding task at work. Its agent receives it as its next prompt. */

export type TaskWords = Selectable<TaskWordsTable>;

/** Longest text that a task is told at once. */
export const WORDS_CHARS = 5_000;

/**
 * Stores words for a task that is not over. False when it is over: the lock on its row keeps its end from coming in
 * between. The same id counts once.
 */
export async function tellTask(
  db: Db | Tx,
  words: { id: string; taskId: string; text: string; ofTests?: true },
): Promise<boolean> {
  const { id, taskId, text, ofTests = false } = words;
  const { rows } = await sql<{ live: boolean }>`
    with live as (select id from tasks where id = ${taskId} and ended_at is null for share),
      added as (
        insert into task_words (id, task_id, text, of_tests)
        select ${id}, id, ${text}, ${ofTests}::boolean from live on conflict (id) do nothing)
    select exists (select from live) as live`.execute(db);
  return rows[0]?.live === true;
}

/** What a task was told, oldest first. */
export const wordsOfTask = (db: Db, taskId: string): Promise<TaskWords[]> =>
  db.selectFrom('task_words').selectAll().where('task_id', '=', taskId).orderBy('said_at').orderBy('id').execute();

/** What its agent has not heard yet, oldest first. */
export const unheardWords = (db: Db, taskId: string): Promise<TaskWords[]> =>
  db
    .selectFrom('task_words')
    .selectAll()
    .where('task_id', '=', taskId)
    .where('heard_step', 'is', null)
    .orderBy('said_at')
    .orderBy('id')
    .execute();

/** How many more passes its agent had because tests failed. */
export const morePasses = async (db: Db, taskId: string): Promise<number> =>
  (await wordsOfTask(db, taskId)).filter(({ of_tests, heard_step }) => of_tests && heard_step !== null).length;

/** Records what an agent has heard, as its log says. */
export async function markHeard(tx: Tx, taskId: string, lines: readonly LogLine[]): Promise<void> {
  for (const line of lines)
    if (line.type === 'told' && line.ids.length > 0)
      await tx
        .updateTable('task_words')
        .set({ heard_step: line.step })
        .where('task_id', '=', taskId)
        .where('id', 'in', line.ids)
        .where('heard_step', 'is', null)
        .execute();
}

/** When the agent hears what is said to its task now. */
export function heardWhen(
  task: Pick<Task, 'state' | 'limited_until'>,
): 'queued' | 'paused' | 'working' | 'limited' | 'asks' {
  if (task.state === 'queued' || task.state === 'paused') return task.state;
  if (task.state !== 'waiting') return 'working';
  return isLimited(task) ? 'limited' : 'asks';
}
