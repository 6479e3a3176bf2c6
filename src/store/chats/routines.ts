import { type Selectable, sql } from 'kysely';
import type { RoutineStep } from '../../contracts/routine.ts';
import type { Source } from '../../contracts/taint.ts';
import type { ToolAccess } from '../../domain/consent/tool-access.ts';
import { prefix } from '../../domain/text/storable.ts';
import { type Db, json } from '../postgres/database.ts';
import type { CronTable, RoutineRunTable, RoutineTable } from '../routines/tables.ts';

/** Routines, crons and runs. Everything that a tool may reach is looked up inside one chat. */

export type Routine = Selectable<RoutineTable>;
export type Cron = Selectable<CronTable>;
export type RoutineRun = Selectable<RoutineRunTable>;
export type StepOutcome = { name: string; tool: string; ok: boolean; output: string };

/** Stored output of one step, characters; the result that a chat gets is far shorter. */
const MAX_STEP_OUTPUT = 20_000;
/** Finished runs that are kept for each routine. */
const RUNS_KEPT = 50;
/** All of them are kept for this long. */
const RUNS_KEPT_MS = 3 * 86_400_000;

/** Null when the name is taken in this chat; a second time with the same id gives the stored row. */
export async function insertRoutine(
  db: Db,
  routine: { id: string; chatId: string; name: string; description: string; workspace: string | null; steps: RoutineStep[]; sources?: readonly Source[] },
): Promise<Routine | null> {
  await db
    .insertInto('routines')
    .values({
      id: routine.id,
      chat_id: routine.chatId,
      name: routine.name,
      description: routine.description,
      workspace: routine.workspace,
      steps: json(routine.steps),
      sources: json(routine.sources ?? []),
      updated_at: new Date(),
    })
    .onConflict((c) => c.doNothing())
    .execute();
  return (await db.selectFrom('routines').selectAll().where('id', '=', routine.id).executeTakeFirst()) ?? null;
}

export const listRoutines = (db: Db, chatId: string): Promise<Routine[]> =>
  db.selectFrom('routines').selectAll().where('chat_id', '=', chatId).orderBy(sql`lower(name)`).execute();

/** By id or by name, whatever its case. */
export const findRoutine = (db: Db, chatId: string, idOrName: string): Promise<Routine | undefined> =>
  db
    .selectFrom('routines')
    .selectAll()
    .where('chat_id', '=', chatId)
    .where((e) => e.or([e('id', '=', idOrName), e(sql`lower(name)`, '=', idOrName.toLowerCase())]))
    .executeTakeFirst();

/** Its crons go with it. */
export async function deleteRoutine(db: Db, id: string): Promise<void> {
  await db.deleteFrom('routines').where('id', '=', id).execute();
}

/** Null when the name is taken in this chat; a second time with the same id gives the stored row. */
export async function insertCron(
  db: Db,
  cron: { id: string; routineId: string; chatId: string; name: string; schedule: string; timeZone: string; enabled: boolean },
): Promise<Cron | null> {
  await db
    .insertInto('crons')
    .values({
      id: cron.id,
      routine_id: cron.routineId,
      chat_id: cron.chatId,
      name: cron.name,
      schedule: cron.schedule,
      time_zone: cron.timeZone,
      enabled: cron.enabled,
    })
    .onConflict((c) => c.doNothing())
    .execute();
  return (await db.selectFrom('crons').selectAll().where('id', '=', cron.id).executeTakeFirst()) ?? null;
}

export const listCrons = (db: Db, chatId: string): Promise<Cron[]> =>
  db.selectFrom('crons').selectAll().where('chat_id', '=', chatId).orderBy('created_at').execute();

export const findCron = (db: Db, chatId: string, idOrName: string): Promise<Cron | undefined> =>
  db
    .selectFrom('crons')
    .selectAll()
    .where('chat_id', '=', chatId)
    .where((e) => e.or([e('id', '=', idOrName), e(sql`lower(name)`, '=', idOrName.toLowerCase())]))
    .executeTakeFirst();

/** Crons of every chat that are older than `ageMs`: their schedules should exist. By id, from the one after `after`. */
export const settledCrons = (db: Db, ageMs: number, after: string, limit: number): Promise<Cron[]> =>
  db
    .selectFrom('crons')
    .selectAll()
    .where('created_at', '<', new Date(Date.now() - ageMs))
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute();

export const cronsOf = (db: Db, routineId: string): Promise<Cron[]> => db.selectFrom('crons').selectAll().where('routine_id', '=', routineId).execute();

export async function deleteCron(db: Db, id: string): Promise<void> {
  await db.deleteFrom('crons').where('id', '=', id).execute();
}

/** Opens a run; a second time with the same id it changes nothing and gives the stored row. */
export async function openRun(
  db: Db,
  run: { id: string; routine: Routine; cronId: string | null; workflowId: string; scheduledFor: Date | null; note: string | null },
): Promise<RoutineRun> {
  await db
    .insertInto('routine_runs')
    .values({
      id: run.id,
      routine_id: run.routine.id,
      routine_name: run.routine.name,
      chat_id: run.routine.chat_id,
      cron_id: run.cronId,
      workflow_id: run.workflowId,
      scheduled_for: run.scheduledFor,
      status: 'running',
      summary: null,
      results: '[]',
      note: run.note,
      ended_at: null,
    })
    .onConflict((c) => c.column('id').doNothing())
    .execute();
  if (run.cronId && run.scheduledFor) await db.updateTable('crons').set({ last_fired: run.scheduledFor }).where('id', '=', run.cronId).execute();
  return db.selectFrom('routine_runs').selectAll().where('id', '=', run.id).executeTakeFirstOrThrow();
}

export const findRun = (db: Db, id: string): Promise<RoutineRun | undefined> =>
  db.selectFrom('routine_runs').selectAll().where('id', '=', id).executeTakeFirst();

/** Newest first. */
export const listRuns = (db: Db, chatId: string, limit: number): Promise<RoutineRun[]> =>
  db.selectFrom('routine_runs').selectAll().where('chat_id', '=', chatId).orderBy('started_at', 'desc').limit(limit).execute();

export const lastRunOfCron = (db: Db, cronId: string): Promise<RoutineRun | undefined> =>
  db.selectFrom('routine_runs').selectAll().where('cron_id', '=', cronId).orderBy('started_at', 'desc').limit(1).executeTakeFirst();

export const runningRun = (db: Db, routineId: string): Promise<RoutineRun | undefined> =>
  db.selectFrom('routine_runs').selectAll().where('routine_id', '=', routineId).where('status', '=', 'running').limit(1).executeTakeFirst();

/** Notes that a step begins which must not run twice; false when it was begun before, by an attempt that a Temporal server has forgotten. */
export async function beginOnce(db: Db, runId: string, index: number): Promise<boolean> {
  const begun = index + 1;
  const { numUpdatedRows } = await db
    .updateTable('routine_runs')
    .set({ once_begun: begun })
    .where('id', '=', runId)
    .where('once_begun', '<', begun)
    .executeTakeFirstOrThrow();
  return numUpdatedRows > 0n;
}

/** Stores the outcome of step `index`, unless that step has one already or the run is over; gives the one that counts. */
export async function storeStep(db: Db, runId: string, index: number, outcome: StepOutcome): Promise<StepOutcome> {
  const entry = json([{ ...outcome, output: prefix(outcome.output, MAX_STEP_OUTPUT) }]);
  await db
    .updateTable('routine_runs')
    .set({ results: sql<string>`results || ${entry}::jsonb` })
    .where('id', '=', runId)
    .where('status', '=', 'running')
    .where(sql`jsonb_array_length(results)`, '=', index)
    .execute();
  const run = await db.selectFrom('routine_runs').select('results').where('id', '=', runId).executeTakeFirstOrThrow();
  return run.results[index] ?? outcome;
}

/** Closes a run once; a later close changes nothing. Old runs of the routine go. */
export async function closeRun(db: Db, id: string, status: 'completed' | 'failed', summary: string): Promise<RoutineRun> {
  await db.updateTable('routine_runs').set({ status, summary, ended_at: new Date() }).where('id', '=', id).where('status', '=', 'running').execute();
  const run = await db.selectFrom('routine_runs').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  await db
    .deleteFrom('routine_runs')
    .where('routine_id', '=', run.routine_id)
    .where('status', '!=', 'running')
    // a schedule that was put back fires again what it fired since: the run's row is what tells that it ran
    .where('started_at', '<', new Date(Date.now() - RUNS_KEPT_MS))
    .where('id', 'not in', (e) =>
      e.selectFrom('routine_runs').select('id').where('routine_id', '=', run.routine_id).orderBy('started_at', 'desc').limit(RUNS_KEPT),
    )
    .execute();
  return run;
}

/** Stored output of a tool call of this chat; undefined when there is no such call here. */
export const findCallOutput = (db: Db, chatId: string, callId: string): Promise<{ name: string; output: string | null; state: string } | undefined> =>
  db
    .selectFrom('calls')
    .innerJoin('threads', 'threads.id', 'calls.thread_id')
    .select(['calls.name', 'calls.output', 'calls.state'])
    .where('calls.id', '=', callId)
    .where('threads.chat_id', '=', chatId)
    .executeTakeFirst();

export const chatAutonomy = async (db: Db, chatId: string) =>
  (await db.selectFrom('chats').select(['autonomy', 'channel']).where('id', '=', chatId).executeTakeFirst()) ?? null;

/** What the thread of a chat leaves open to tools: a run has no turn of its own. */
export const chatAccess = async (db: Db, chatId: string): Promise<ToolAccess | null> =>
  (await db
    .selectFrom('threads')
    .select(['mode', 'allow_shell as allowShell'])
    .where('chat_id', '=', chatId)
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst()) ?? null;

/** The row first: by it a schedule that is gone is made again as it should be. */
export async function setCronEnabled(db: Db, id: string, enabled: boolean): Promise<void> {
  await db
    .updateTable('crons')
    .set({ enabled, ...(enabled && { enabled_since: new Date() }) })
    .where('id', '=', id)
    .execute();
}
