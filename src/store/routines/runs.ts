import { type Selectable, sql } from 'kysely';
import { PROMPT_STEP } from '../../contracts/routine.ts';
import type { Amount } from '../../domain/model/spending.ts';
import type { Given } from '../../domain/routine-inputs.ts';
import { cut, prefix, storableText } from '../../domain/text/storable.ts';
import { DAY } from '../../domain/time.ts';
import { type Db, json } from '../postgres/database.ts';
import type { RoutineRunTable } from '../schema/tables/routines.ts';
import type { Cron } from './crons.ts';
import type { Routine } from './routines.ts';

export type RoutineRun = Selectable<RoutineRunTable>;

/** `skipped`: it was not run, because the routine steps before it did not end as it needs */
export type StepOutcome = { name: string; tool: string; ok: boolean; output: string; skipped?: true };

/** Longest stored output of a routine step, in characters; a chat gets far less of it. */
const MAX_STEP_OUTPUT = 20_000;

/** Finished runs that are kept for each routine. */
const RUNS_KEPT = 500;

/** Every run is kept at least this long. */
const RUNS_KEPT_MS = 3 * DAY;

/** Opens a run. A second call with the same id changes nothing and returns the stored row. */
export async function openRun(
  db: Db,
  run: {
    id: string;
    routine: Pick<Routine, 'id' | 'name' | 'chat_id'>;
    cronId: string | null;
    workflowId: string;
    scheduledFor: Date | null;
    note: string | null;
    given: Given;
  },
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
      inputs: json(run.given.inputs),
      sources: json(run.given.sources),
      ended_at: null,
    })
    .onConflict((c) => c.column('id').doNothing())
    .execute();
  if (run.cronId && run.scheduledFor)
    await db.updateTable('crons').set({ last_fired: run.scheduledFor }).where('id', '=', run.cronId).execute();
  return db.selectFrom('routine_runs').selectAll().where('id', '=', run.id).executeTakeFirstOrThrow();
}

/** A run of a prompt in another program. */
interface PastRun {
  ended: Date;
  durationMs: number;
  ok: boolean;
  text: string;
}

const SUMMARY_CHARS = 200;

/** The newest of what a schedule did in another program; oldest first. A second call changes nothing. */
export async function insertPastRuns(db: Db, cron: Cron, runs: readonly PastRun[]): Promise<void> {
  if (runs.length === 0) return;
  const rows = runs.slice(-RUNS_KEPT).map(({ ended, durationMs, ok, text }, at) => {
    const output = storableText(text);
    const id = `${cron.id}_before_${at}`;
    return {
      id,
      routine_id: cron.routine_id,
      routine_name: cron.name,
      chat_id: cron.chat_id,
      cron_id: cron.id,
      workflow_id: `imported/${id}`,
      scheduled_for: null,
      status: ok ? ('completed' as const) : ('failed' as const),
      summary: cut(output.replace(/\s+/g, ' '), SUMMARY_CHARS) || null,
      results: json([{ name: PROMPT_STEP, tool: PROMPT_STEP, ok, output: prefix(output, MAX_STEP_OUTPUT) }]),
      inputs: json({}),
      started_at: new Date(ended.getTime() - durationMs),
      ended_at: ended,
    };
  });
  await db
    .insertInto('routine_runs')
    .values(rows)
    .onConflict((c) => c.doNothing())
    .execute();
}

export const findRun = (db: Db, id: string): Promise<RoutineRun | undefined> =>
  db.selectFrom('routine_runs').selectAll().where('id', '=', id).executeTakeFirst();

/** Newest first. */
export const listRuns = (db: Db, chatId: string, limit: number): Promise<RoutineRun[]> =>
  db
    .selectFrom('routine_runs')
    .selectAll()
    .where('chat_id', '=', chatId)
    .orderBy('started_at', 'desc')
    .limit(limit)
    .execute();

/** The last message of the turn of a run, if it had one in its chat: an outbox id. */
export const lastSentOfRun = async (db: Db, runId: string): Promise<string | undefined> =>
  (
    await db
      .selectFrom('outbox')
      .innerJoin('turns', 'turns.id', 'outbox.turn_id')
      .select('outbox.id')
      .where('turns.run_id', '=', runId)
      .orderBy('outbox.created_at', 'desc')
      .limit(1)
      .executeTakeFirst()
  )?.id;

/** Runs of a schedule that are compared. */
const COMPARED = 1_000;

/**
 * How often in a row, this run included, its schedule has brought what the run before brought, and when the chat was
 * last told of one of them.
 */
export async function sameResults(db: Db, run: RoutineRun): Promise<{ times: number; toldAt: Date | null }> {
  const { rows } = await sql<{ times: number; toldAt: Date | null }>`
    with past as (
      select id, status = ${run.status} and results = ${json(run.results)}::jsonb as same,
        row_number() over (order by started_at desc, id desc) as place
      from (select id, status, results, started_at from routine_runs
        where cron_id = ${run.cron_id} and status <> 'running' and id <> ${run.id} and started_at <= ${run.started_at}
        order by started_at desc limit ${COMPARED}) as latest),
    equal as (select id from past where same and place < coalesce((select min(place) from past where not same), ${COMPARED + 1}))
    select count(*)::int as times,
      (select max(created_at) from outbox where id in (select 'out_' || id || '_result' from equal) and state <> 'dropped') as "toldAt"
    from equal`.execute(db);
  return rows[0]!;
}

export const lastRunOfCron = (db: Db, cronId: string): Promise<RoutineRun | undefined> =>
  db
    .selectFrom('routine_runs')
    .selectAll()
    .where('cron_id', '=', cronId)
    .orderBy('started_at', 'desc')
    .limit(1)
    .executeTakeFirst();

export const runningRun = (db: Db, routineId: string): Promise<RoutineRun | undefined> =>
  db
    .selectFrom('routine_runs')
    .selectAll()
    .where('routine_id', '=', routineId)
    .where('status', '=', 'running')
    .limit(1)
    .executeTakeFirst();

/**
 * Records that a routine step begins which must not run twice. False when an attempt that a Temporal server has lost
 * began it before.
 */
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

/** Stores the outcome of step `index`, unless it has one or the run is over. Returns the outcome that counts. */
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

/** Replaces the outcome of a routine step, while the run goes on. */
export async function replaceStep(
  db: Db,
  runId: string,
  index: number,
  { ok, output }: Pick<StepOutcome, 'ok' | 'output'>,
): Promise<void> {
  const change = json({ ok, output: prefix(output, MAX_STEP_OUTPUT) });
  await db
    .updateTable('routine_runs')
    .set({
      results: sql<string>`jsonb_set(results, array[${String(index)}], (results -> ${index}::int) || ${change}::jsonb)`,
    })
    .where('id', '=', runId)
    .where('status', '=', 'running')
    .execute();
}

/** Closes a run once; a later call changes nothing. Deletes old runs of the routine. */
export async function closeRun(
  db: Db,
  id: string,
  status: 'completed' | 'failed',
  summary: string,
): Promise<RoutineRun> {
  await db
    .updateTable('routine_runs')
    .set({ status, summary, ended_at: new Date() })
    .where('id', '=', id)
    .where('status', '=', 'running')
    .execute();
  const run = await db.selectFrom('routine_runs').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  await db
    .deleteFrom('routine_runs')
    .where('routine_id', '=', run.routine_id)
    .where('status', '!=', 'running')
    // a restored schedule fires again what it fired since; the run's row shows that it already ran
    .where('started_at', '<', new Date(Date.now() - RUNS_KEPT_MS))
    .where('id', 'not in', (e) =>
      e
        .selectFrom('routine_runs')
        .select('id')
        .where('routine_id', '=', run.routine_id)
        .orderBy('started_at', 'desc')
        .limit(RUNS_KEPT),
    )
    .execute();
  return run;
}

type Average = Amount & { unpriced: number };

const average = sql`coalesce(avg(tokens), 0)::float8 as tokens, coalesce(avg(micro_usd), 0)::float8 as "microUsd",
  coalesce(avg(unpriced), 0)::float8 as unpriced, count(*)::int as count`;

const ofTask = sql`select sum(input_tokens + output_tokens) as tokens, sum(micro_usd) as micro_usd, sum(unpriced) as unpriced
  from task_usage where task_id = tasks.id`;
const ofTurn = sql`select sum(input_tokens + output_tokens) as tokens, sum(micro_usd) as micro_usd,
  sum(coalesce((result->'usage'->>'unpriced')::numeric, 0)) as unpriced from steps where turn_id = turns.id`;

/** The average cost of the latest runs of a routine; null when none has ended. */
export async function costOfRuns(db: Db, routineId: string): Promise<Average | null> {
  const { rows } = await sql<Average & { count: number }>`
    select ${average} from (
      select coalesce(sum(used.tokens), 0) as tokens, coalesce(sum(used.micro_usd), 0) as micro_usd, coalesce(sum(used.unpriced), 0) as unpriced
      from (select id from routine_runs where routine_id = ${routineId} and status <> 'running' order by started_at desc limit 20) as run
        left join lateral (
          select spent.* from background_tasks b join turns on turns.id = b.turn_id cross join lateral (${ofTurn}) as spent where b.run_id = run.id
          union all select spent.* from turns cross join lateral (${ofTurn}) as spent where turns.run_id = run.id
          union all select spent.* from turns join tasks on tasks.turn_id = turns.id cross join lateral (${ofTask}) as spent where turns.run_id = run.id
          union all select spent.* from background_tasks b join tasks on tasks.thread_id = b.thread_id cross join lateral (${ofTask}) as spent
            where b.run_id = run.id
          union all select spent.* from tasks cross join lateral (${ofTask}) as spent
            where tasks.call_id >= run.id || '_' and tasks.call_id < run.id || '\`' and tasks.call_id ~ '_[0-9]+$') as used on true
      group by run.id) as runs`.execute(db);
  const { count, ...cost } = rows[0]!;
  return count > 0 ? cost : null;
}

/** The average cost of the latest turns, or of the latest coding tasks; null when there was none. */
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
