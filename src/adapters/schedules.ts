import { type Client, ScheduleAlreadyRunning, ScheduleNotFoundError, ScheduleOverlapPolicy, type ScheduleUpdateOptions } from '@temporalio/client';
import { AGENT_QUEUE, scheduledRunWorkflowId, scheduleId } from '../contracts/ids.ts';
import type { RoutineInput } from '../contracts/routine.ts';

export interface NewSchedule {
  cronId: string;
  /** five fields, already checked */
  schedule: string;
  timeZone: string;
  enabled: boolean;
  input: RoutineInput;
  /** a firing that is later than this is skipped */
  catchupMs: number;
}

/** The schedule that a stored cron must have. */
export const scheduleOfCron = (
  cron: { id: string; schedule: string; time_zone: string; enabled: boolean; routine_id: string; chat_id: string },
  catchupHours: number,
): NewSchedule => ({
  cronId: cron.id,
  schedule: cron.schedule,
  timeZone: cron.time_zone,
  enabled: cron.enabled,
  input: { routineId: cron.routine_id, chatId: cron.chat_id, cronId: cron.id },
  catchupMs: Math.round(catchupHours * 3_600_000),
});

export interface ScheduleView {
  paused: boolean;
  /** soonest first; empty when paused or finished */
  next: Date[];
  /** when it last fired, whatever the result */
  lastFired: Date | null;
  catchupMs: number;
  overlap: string | undefined;
}

/**
 * Each firing starts its own run. The run sees in the store whether the previous one still works, and whether a later one is due. Temporal's own buffering
 * would drop firings silently, and a run whose result waits for its channel would block all others.
 */
const OVERLAP = ScheduleOverlapPolicy.ALLOW_ALL;

/** Creates the Temporal Schedule of a cron. A second call with the same id changes nothing and returns false. */
export async function createSchedule(temporal: Client, { cronId, schedule, timeZone, enabled, input, catchupMs }: NewSchedule): Promise<boolean> {
  const policies = { overlap: OVERLAP, catchupWindow: catchupMs, pauseOnFailure: false };
  const memo = { schedule, timeZone, routine: input.routineId, catchupMs };
  try {
    await temporal.schedule.create({
      scheduleId: scheduleId(cronId),
      spec: { cronExpressions: [schedule], timezone: timeZone },
      policies,
      memo,
      state: { paused: !enabled },
      action: {
        type: 'startWorkflow',
        workflowType: 'routine',
        workflowId: scheduledRunWorkflowId(cronId),
        taskQueue: AGENT_QUEUE,
        args: [input],
        staticSummary: `scheduled run of routine ${input.routineId}`,
        staticDetails: `Fires by \`${schedule}\` in ${timeZone}. Its steps and their results are in the database under the id of the run.`,
        memo,
      },
    });
    return true;
  } catch (error) {
    if (error instanceof ScheduleAlreadyRunning) return false;
    throw error;
  }
}

/** Crons that have a schedule, as of some seconds ago, with the catch-up window that each was created with; null for those of earlier releases. */
export async function listScheduled(temporal: Client): Promise<Map<string, number | null>> {
  const found = new Map<string, number | null>();
  const prefix = scheduleId('');
  for await (const { scheduleId: id, memo } of temporal.schedule.list({ pageSize: 1000 })) {
    if (id.startsWith(prefix)) found.set(id.slice(prefix.length), (memo?.catchupMs as number | undefined) ?? null);
  }
  return found;
}

/** Gives a schedule the policies of this version. */
export async function updatePolicies(temporal: Client, wanted: NewSchedule): Promise<void> {
  const view = await describeSchedule(temporal, wanted.cronId);
  if (!view || (view.overlap === OVERLAP && view.catchupMs === wanted.catchupMs)) return;
  await temporal.schedule
    .getHandle(scheduleId(wanted.cronId))
    .update((before) => ({ ...before, policies: { ...before.policies, overlap: OVERLAP, catchupWindow: wanted.catchupMs } }) as ScheduleUpdateOptions);
}

/** Null when there is no such schedule. */
export async function describeSchedule(temporal: Client, cronId: string): Promise<ScheduleView | null> {
  try {
    const { state, info, policies } = await temporal.schedule.getHandle(scheduleId(cronId)).describe();
    return {
      paused: state.paused,
      next: state.paused ? [] : info.nextActionTimes,
      lastFired: info.recentActions.at(-1)?.takenAt ?? null,
      catchupMs: policies.catchupWindow,
      overlap: policies.overlap,
    };
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return null;
    throw error;
  }
}

/** Gives a schedule other times; false when there is none. */
export async function changeSchedule(temporal: Client, cronId: string, { schedule, timeZone }: Pick<NewSchedule, 'schedule' | 'timeZone'>): Promise<boolean> {
  try {
    const spec = { cronExpressions: [schedule], timezone: timeZone };
    await temporal.schedule.getHandle(scheduleId(cronId)).update((before) => ({ ...before, spec }) as ScheduleUpdateOptions);
    return true;
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return false;
    throw error;
  }
}

/** Starts or stops the firings of a schedule; false when there is none. */
export async function setScheduleEnabled(temporal: Client, cronId: string, enabled: boolean): Promise<boolean> {
  const handle = temporal.schedule.getHandle(scheduleId(cronId));
  try {
    await (enabled ? handle.unpause() : handle.pause());
    return true;
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return false;
    throw error;
  }
}

/** Deletes a schedule, if it exists. Runs that it started go on. */
export async function deleteSchedule(temporal: Client, cronId: string): Promise<void> {
  try {
    await temporal.schedule.getHandle(scheduleId(cronId)).delete();
  } catch (error) {
    if (!(error instanceof ScheduleNotFoundError)) throw error;
  }
}
