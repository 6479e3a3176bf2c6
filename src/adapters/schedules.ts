import { type Client, ScheduleAlreadyRunning, ScheduleNotFoundError, ScheduleOverlapPolicy } from '@temporalio/client';
import { AGENT_QUEUE, scheduledRunWorkflowId, scheduleId } from '../contracts/ids.ts';
import type { RoutineInput } from '../contracts/routine.ts';

export interface NewSchedule {
  cronId: string;
  /** five fields, already checked */
  schedule: string;
  timeZone: string;
  enabled: boolean;
  input: RoutineInput;
}

export interface ScheduleView {
  paused: boolean;
  /** soonest first; empty when paused for ever or over */
  next: Date[];
  /** when it last fired, whatever came of it */
  lastFired: Date | null;
}

/** Creates the Temporal Schedule of a cron; a second time with the same id it changes nothing, and says so with false. */
export async function createSchedule(temporal: Client, { cronId, schedule, timeZone, enabled, input }: NewSchedule): Promise<boolean> {
  try {
    await temporal.schedule.create({
      scheduleId: scheduleId(cronId),
      spec: { cronExpressions: [schedule], timezone: timeZone },
      policies: {
        // a firing during a long run waits for it: two runs of one routine would tread on each other, and SKIP would lose one
        overlap: ScheduleOverlapPolicy.BUFFER_ONE,
        // after an outage the firings of the last hour still run; the default of a year would flood the chat with stale ones
        catchupWindow: 3_600_000,
        pauseOnFailure: false,
      },
      state: { paused: !enabled },
      action: {
        type: 'startWorkflow',
        workflowType: 'routine',
        workflowId: scheduledRunWorkflowId(cronId),
        taskQueue: AGENT_QUEUE,
        args: [input],
        staticSummary: `scheduled run of routine ${input.routineId}`,
      },
    });
    return true;
  } catch (error) {
    if (error instanceof ScheduleAlreadyRunning) return false;
    throw error;
  }
}

/** Ids of the crons that have a schedule, as they were some seconds ago. */
export async function listScheduled(temporal: Client): Promise<Set<string>> {
  const ids = new Set<string>();
  const prefix = scheduleId('');
  for await (const { scheduleId: id } of temporal.schedule.list({ pageSize: 1000 })) if (id.startsWith(prefix)) ids.add(id.slice(prefix.length));
  return ids;
}

/** Null when there is no such schedule. */
export async function describeSchedule(temporal: Client, cronId: string): Promise<ScheduleView | null> {
  try {
    const { state, info } = await temporal.schedule.getHandle(scheduleId(cronId)).describe();
    return { paused: state.paused, next: state.paused ? [] : info.nextActionTimes, lastFired: info.recentActions.at(-1)?.takenAt ?? null };
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return null;
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

/** A schedule that is already gone is fine. Runs that it started go on. */
export async function deleteSchedule(temporal: Client, cronId: string): Promise<void> {
  try {
    await temporal.schedule.getHandle(scheduleId(cronId)).delete();
  } catch (error) {
    if (!(error instanceof ScheduleNotFoundError)) throw error;
  }
}
