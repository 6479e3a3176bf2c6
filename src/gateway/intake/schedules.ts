import { createHash, randomUUID } from 'node:crypto';
import pLimit from 'p-limit';
import {
  createSchedule,
  deleteSchedule,
  describeSchedule,
  replaceSchedule,
  type ScheduleView,
  scheduleOfCron,
} from '../../adapters/schedules.ts';
import { startRoutineRun } from '../../adapters/workflows.ts';
import { routineWorkflowId } from '../../contracts/ids.ts';
import type { RequestKey } from '../../store/chats/request-keys.ts';
import {
  type Cron,
  deleteCron,
  findCronById,
  followSchedule,
  lastSettled,
  markSent,
  setCronEnabled,
} from '../../store/routines/crons.ts';
import { findRoutineById } from '../../store/routines/routines.ts';
import { openRun, runningRun } from '../../store/routines/runs.ts';
import { type IntakeDeps, IntakeError } from './signal.ts';

/**
 * Schedules that their owner runs, pauses and ends by hand. It is the owner who does it, so nobody is asked. Each
 * throws an IntakeError for a schedule that is not there.
 */
export interface Schedules {
  /**
   * Runs it now, besides its times and also while it is paused; returns the id of the run. The same key gives the same
   * run.
   */
  run(id: string, key: RequestKey): Promise<string>;
  setEnabled(id: string, enabled: boolean): Promise<void>;
  remove(id: string): Promise<void>;
}

/** How long a request waits for the Temporal server. */
const PATIENCE_MS = 10_000;

export const createSchedules = (deps: IntakeDeps): Schedules => ({
  run: (id, key) => run(deps, id, key),
  setEnabled: (id, enabled) => setEnabled(deps, id, enabled),
  remove: (id) => remove(deps, id),
});

async function run(deps: IntakeDeps, id: string, key: RequestKey): Promise<string> {
  const { db } = deps;
  const cron = await requireCron(deps, id);
  const routine = await findRoutineById(db, cron.routine_id);
  if (!routine) throw missing(id);
  const runId = `wfr_${key.fingerprint === null ? randomUUID().replaceAll('-', '') : createHash('sha256').update(key.id).digest('hex').slice(0, 32)}`;
  const running = await runningRun(db, routine.id);
  if (running && running.id !== runId)
    throw new IntakeError('conflict', `${cron.name} runs already, since ${running.started_at.toISOString()}`);
  await runNow(deps, { runId, routine, cronId: id, given: { inputs: cron.inputs, sources: cron.sources } });
  return runId;
}

/** The row of the run comes first: should the server not take the workflow, reconciling starts it. */
export async function runNow(
  { db, temporal }: IntakeDeps,
  made: Pick<Parameters<typeof openRun>[1], 'routine' | 'given'> & { runId: string; cronId: string },
): Promise<void> {
  const { runId, routine, cronId, given } = made;
  const workflowId = routineWorkflowId(runId);
  await openRun(db, { id: runId, routine, cronId, workflowId, scheduledFor: null, note: null, given });
  const input = { routineId: routine.id, chatId: routine.chat_id, runId, cronId };
  await temporal
    .withDeadline(Date.now() + SCHEDULE_PATIENCE_MS, () => startRoutineRun(temporal, input, routine.name))
    .catch(() => {});
}

/** The row first: what the server does not take now, reconciling sends later. */
async function setEnabled(deps: IntakeDeps, id: string, enabled: boolean): Promise<void> {
  await requireCron(deps, id);
  await sendSoon(deps, await setCronEnabled(deps.db, id, enabled));
}

async function remove(deps: IntakeDeps, id: string): Promise<void> {
  const { db, temporal } = deps;
  await requireCron(deps, id);
  await temporal.withDeadline(Date.now() + PATIENCE_MS, () => deleteSchedule(temporal, id));
  await deleteCron(db, id);
}

const missing = (id: string): IntakeError => new IntakeError('not_found', `Schedule not found: ${id}`);

async function requireCron({ db }: IntakeDeps, id: string): Promise<Cron> {
  const cron = await findCronById(db, id);
  if (!cron) throw missing(id);
  return cron;
}

/** How long a request waits for the Temporal server. What it does not take now, reconciling sends later. */
export const SCHEDULE_PATIENCE_MS = 2_000;
/** A schedule may show a change of ours this much later than its row. */
const SETTLING_MS = 2_000;
/** Schedules that are looked at at once. */
const atOnce = pLimit(8);

/** Gives the schedule of a cron what its row says, also its pause. */
export async function sendSchedule({ db, temporal, config }: IntakeDeps, cron: Cron): Promise<void> {
  const wanted = scheduleOfCron(cron, config.FETCH_CATCHUP_HOURS);
  if (!(await createSchedule(temporal, wanted, lastSettled(cron)))) await replaceSchedule(temporal, wanted);
  await markSent(db, cron);
}

/**
 * The same, at once if the server answers. The row says that it is still to be sent, so nothing is lost when it does
 * not.
 */
export async function sendSoon(deps: IntakeDeps, cron: Cron): Promise<void> {
  await deps.temporal.withDeadline(Date.now() + SCHEDULE_PATIENCE_MS, () => sendSchedule(deps, cron)).catch(() => {});
}

/**
 * Looks whether the schedule was paused or unpaused by itself, and lets the row follow. Returns the row as it is then.
 */
export async function followPause(
  { db, temporal }: Pick<IntakeDeps, 'db' | 'temporal'>,
  cron: Cron,
  view?: ScheduleView | null,
): Promise<Cron> {
  if (cron.unsent || Date.now() - cron.updated_at.getTime() < SETTLING_MS) return cron;
  const seen = view === undefined ? await describeSchedule(temporal, cron.id) : view;
  if (!seen || seen.paused !== cron.enabled) return cron;
  return (await followSchedule(db, cron, !seen.paused)) ?? cron;
}

/**
 * What the server knows of a schedule now; null when it knows none, or does not answer until `deadline` (ms since the
 * epoch).
 */
export const viewOf = (
  { temporal }: Pick<IntakeDeps, 'temporal'>,
  cronId: string,
  deadline: number,
): Promise<ScheduleView | null> =>
  atOnce(() => temporal.withDeadline(deadline, () => describeSchedule(temporal, cronId)).catch(() => null));
