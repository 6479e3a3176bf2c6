import { sql } from 'kysely';
import type { Together } from '../../../domain/chat/words/race-words.ts';
import type { Db, Tx } from '../../postgres/database.ts';
import type { Task } from './tasks.ts';

/** Coding tasks that began together: attempts at one goal, or parts of one. */

/** The group of all tasks that a turn begins. A second call finds the first one's. */
export async function openTogether(db: Db, turnId: string, chatId: string, kind: Together['kind']): Promise<string> {
  const id = `race_${turnId}`;
  await db
    .insertInto('races')
    .values({ id, chat_id: chatId, kind })
    .onConflict((c) => c.column('id').doNothing())
    .execute();
  return id;
}

/** In the order in which their numbers stand. */
export const tasksTogether = (db: Db | Tx, raceId: string): Promise<Task[]> =>
  db
    .selectFrom('tasks')
    .leftJoin('calls', 'calls.id', 'tasks.call_id')
    .selectAll('tasks')
    .where('race_id', '=', raceId)
    // those that join parts of attempts came later, by other turns
    .orderBy(sql`case when 'race_' || calls.turn_id <> tasks.race_id then tasks.created_at end`, (o) =>
      o.asc().nullsFirst(),
    )
    .orderBy('calls.step')
    .orderBy('calls.position')
    .orderBy('tasks.id')
    .execute();

/** The commit that all of them begin at: that of the first one which has its worktree. */
export async function commonBase(db: Db, raceId: string, commit: string): Promise<string> {
  await db.updateTable('races').set({ base: commit }).where('id', '=', raceId).where('base', 'is', null).execute();
  return (await baseOf(db, raceId))!;
}

export const baseOf = async (db: Db, raceId: string): Promise<string | null> =>
  (await db.selectFrom('races').select('base').where('id', '=', raceId).executeTakeFirstOrThrow()).base;

export const kindOfRace = async (db: Db, raceId: string): Promise<Together['kind']> =>
  (await db.selectFrom('races').select('kind').where('id', '=', raceId).executeTakeFirstOrThrow()).kind;

/**
 * Whether this task is the one whose end is told as the end of all. The first that asks is, and after it one that began
 * when the others had been told of.
 */
export async function tellsOfAll(db: Db, raceId: string, taskId: string): Promise<boolean> {
  await db
    .updateTable('races')
    .set({ told_by: taskId })
    .where('id', '=', raceId)
    .where(
      sql<boolean>`not exists (
        select 1 from tasks as teller, tasks as mine
        where teller.id = races.told_by and mine.id = ${taskId} and teller.ended_at >= mine.created_at
      )`,
    )
    .where((e) => e.or([e('told_by', 'is', null), e('told_by', '<>', taskId)]))
    .execute();
  const { told_by } = await db.selectFrom('races').select('told_by').where('id', '=', raceId).executeTakeFirstOrThrow();
  return told_by === taskId;
}

/** How long a choice can be made by a bare number. */
const OPEN = sql`interval '7 days'`;

interface Over {
  id: string;
  kind: Together['kind'];
  tasks: Task[];
  /** the branches of those that were not chosen are gone */
  isDropped: boolean;
  /** nothing of it was brought in, and nothing else was said since, so a bare number is about it */
  isAsking: boolean;
}

/** The newest group of a chat that is over, with its tasks. */
export async function latestTogether(db: Db | Tx, chatId: string): Promise<Over | null> {
  const race = await db
    .selectFrom('races')
    .select(['id', 'kind', 'chosen_at', 'dropped_at'])
    .where('chat_id', '=', chatId)
    .where('told_by', 'is not', null)
    .where('created_at', '>', sql<Date>`now() - ${OPEN}`)
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (!race) return null;
  const tasks = await tasksTogether(db, race.id);
  const over = new Date(Math.max(...tasks.map(({ ended_at }) => ended_at?.getTime() ?? 0)));
  const isAsking = race.chosen_at === null && !(await wasSpokenIn(db, chatId, over));
  return { id: race.id, kind: race.kind, tasks, isAsking, isDropped: race.dropped_at !== null };
}

/** Whether a turn of the person began in a chat since then. */
const wasSpokenIn = async (db: Db | Tx, chatId: string, since: Date): Promise<boolean> =>
  (await db
    .selectFrom('inbox')
    .select('id')
    .where('chat_id', '=', chatId)
    .where('received_at', '>', since)
    .where(sql<boolean>`arrival ->> 'kind' in ('turn', 'steer')`)
    .limit(1)
    .executeTakeFirst()) !== undefined;

export async function markChosen(db: Db, task: Pick<Task, 'id' | 'race_id'>): Promise<void> {
  if (task.race_id === null) return;
  await db.updateTable('tasks').set({ chosen: true }).where('id', '=', task.id).execute();
  await db
    .updateTable('races')
    .set({ chosen_at: new Date() })
    .where('id', '=', task.race_id)
    .where('chosen_at', 'is', null)
    .execute();
}

/** Attempts of a host whose race was decided a day ago, and that were not chosen. Their branches can go. */
export const leftOver = (db: Db, host: string): Promise<Task[]> =>
  db
    .selectFrom('tasks')
    .innerJoin('races', 'races.id', 'tasks.race_id')
    .selectAll('tasks')
    .where('races.chosen_at', '<', sql<Date>`now() - interval '1 day'`)
    .where('races.kind', '=', 'race')
    .where('races.dropped_at', 'is', null)
    .where('tasks.host', '=', host)
    .where('tasks.chosen', '=', false)
    .execute();

export async function markDropped(db: Db, raceIds: readonly string[]): Promise<void> {
  if (raceIds.length > 0)
    await db.updateTable('races').set({ dropped_at: new Date() }).where('id', 'in', raceIds).execute();
}
