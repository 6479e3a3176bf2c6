import pLimit from 'p-limit';
import {
  createSchedule,
  describeSchedule,
  replaceSchedule,
  type ScheduleView,
  scheduleOfCron,
} from '../../../adapters/schedules.ts';
import { type Cron, followSchedule, lastSettled, markSent } from '../../../store/routines/crons.ts';
import type { IntakeDeps } from '../signal.ts';

/** How long a request waits for the Temporal server. What it does not take now, reconciling sends later. */
export const PATIENCE_MS = 2_000;
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
  await deps.temporal.withDeadline(Date.now() + PATIENCE_MS, () => sendSchedule(deps, cron)).catch(() => {});
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
