import { createHash, randomUUID } from 'node:crypto';
import { deleteSchedule } from '../../adapters/schedules.ts';
import { startRoutineRun } from '../../adapters/workflows.ts';
import { routineWorkflowId } from '../../contracts/ids.ts';
import type { RequestKey } from '../../store/chats/request-keys.ts';
import { type Cron, deleteCron, findCronById, setCronEnabled } from '../../store/routines/crons.ts';
import { findRoutineById } from '../../store/routines/routines.ts';
import { openRun, runningRun } from '../../store/routines/runs.ts';
import { sendSoon } from './background/schedule.ts';
import { IntakeError } from './intake-error.ts';
import type { IntakeDeps } from './signal.ts';

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

/** The row of the run comes first: should the server not take the workflow, reconciling starts it. */
async function run(deps: IntakeDeps, id: string, key: RequestKey): Promise<string> {
  const { db, temporal } = deps;
  const cron = await requireCron(deps, id);
  const routine = await findRoutineById(db, cron.routine_id);
  if (!routine) throw missing(id);
  const runId = `wfr_${key.fingerprint === null ? randomUUID().replaceAll('-', '') : createHash('sha256').update(key.id).digest('hex').slice(0, 32)}`;
  const running = await runningRun(db, routine.id);
  if (running && running.id !== runId)
    throw new IntakeError('conflict', `${cron.name} runs already, since ${running.started_at.toISOString()}`);
  const given = { inputs: cron.inputs, sources: cron.sources };
  await openRun(db, {
    id: runId,
    routine,
    cronId: id,
    workflowId: routineWorkflowId(runId),
    scheduledFor: null,
    note: null,
    given,
  });
  const input = { routineId: routine.id, chatId: routine.chat_id, runId, cronId: id };
  await temporal.withDeadline(Date.now() + PATIENCE_MS, () => startRoutineRun(temporal, input)).catch(() => {});
  return runId;
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
