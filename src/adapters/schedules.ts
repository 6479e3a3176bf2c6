import {
  type Backfill,
  type Client,
  ScheduleAlreadyRunning,
  type ScheduleDescription,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
  type ScheduleUpdateOptions,
} from '@temporalio/client';
import {
  AGENT_QUEUE,
  BACKGROUND_PRIORITY,
  BACKGROUND_QUEUE,
  scheduledRunWorkflowId,
  scheduleId,
} from '../contracts/ids.ts';
import type { RoutineInput } from '../contracts/routine.ts';
import { scheduleInWords } from '../domain/chat/words/schedule-words.ts';
import { isInterval, isOnce } from '../domain/firings.ts';
import { DAY, HOUR } from '../domain/time.ts';
import { instantsOf, specOf } from './schedule-spec.ts';
import { listedName } from './workflows.ts';

export interface NewSchedule {
  cronId: string;
  name: string;
  /** five fields or an interval, already checked */
  schedule: string;
  timeZone: string;
  enabled: boolean;
  input: RoutineInput;
  /** names of what it gives to each run; the values are in the database */
  gives: string[];
  /** a firing that is later than this is skipped */
  catchupMs: number;
}

/** The schedule that a stored cron must have. */
export const scheduleOfCron = (
  cron: {
    id: string;
    name: string;
    schedule: string;
    time_zone: string;
    enabled: boolean;
    routine_id: string;
    chat_id: string;
    inputs: object;
  },
  catchupHours: number,
): NewSchedule => ({
  cronId: cron.id,
  name: cron.name,
  schedule: cron.schedule,
  timeZone: cron.time_zone,
  enabled: cron.enabled,
  input: { routineId: cron.routine_id, chatId: cron.chat_id, cronId: cron.id },
  gives: Object.keys(cron.inputs),
  // what comes once is done late rather than never
  catchupMs: isOnce(cron.schedule) ? 365 * DAY : Math.round(catchupHours * HOUR),
});

export interface ScheduleView {
  paused: boolean;
  /** when it last fired, whatever the result */
  lastFired: Date | null;
  catchupMs: number;
  overlap: string | undefined;
  priority: number | undefined;
  taskQueue: string;
  /** instants that it has besides its calendars */
  instants: string;
}

/**
 * Each firing starts its own run. The run sees in the store whether the previous one still works, and whether a later
 * one is due. Temporal's own buffering would drop firings silently, and a run whose result waits for its channel would
 * block all others.
 */
const OVERLAP = ScheduleOverlapPolicy.ALLOW_ALL;

/**
 * Creates the Temporal Schedule of a cron. A second call with the same id changes nothing and returns false.
 * `missedSince`: the schedule existed before and was lost, so firings that were due since then come now, in the same
 * request, as after a stop.
 */
export async function createSchedule(temporal: Client, wanted: NewSchedule, missedSince?: Date): Promise<boolean> {
  const policies = { overlap: OVERLAP, catchupWindow: wanted.catchupMs, pauseOnFailure: false };
  const state = {
    paused: !wanted.enabled,
    ...(wanted.enabled && missedSince && { backfill: [missed(missedSince, wanted.catchupMs)] }),
  };
  const name = await listedName(temporal, wanted.name);
  try {
    await temporal.schedule.create({
      scheduleId: scheduleId(wanted.cronId),
      policies,
      memo: { ...memoOf(wanted, name), ...CURRENT },
      state,
      ...firingsOf(wanted, name),
    });
    return true;
  } catch (error) {
    if (error instanceof ScheduleAlreadyRunning) return false;
    throw error;
  }
}

function missed(since: Date, catchupMs: number): Backfill {
  const end = new Date();
  // the firing of that moment has run
  const start = new Date(Math.max(since.getTime() + 1, end.getTime() - catchupMs));
  return { start, end: end > start ? end : start, overlap: OVERLAP };
}

/** What the memo of a schedule of this release has, because the list shows no more than the memo. */
const CURRENT = { ...BACKGROUND_PRIORITY, taskQueue: BACKGROUND_QUEUE };

/** `name`: as `listedName` allows it */
const memoOf = ({ schedule, timeZone, input, catchupMs, gives }: NewSchedule, name: string | undefined) => ({
  ...(name && { name }),
  schedule,
  timeZone,
  routine: input.routineId,
  catchupMs,
  ...(gives.length > 0 && { gives }),
});

const specFor = ({ schedule, timeZone, catchupMs }: NewSchedule) =>
  specOf(schedule, timeZone, new Date(Date.now() - catchupMs));

/** When a schedule fires, and the run that it starts. */
const firingsOf = (wanted: NewSchedule, name: string | undefined) => ({
  spec: specFor(wanted),
  action: {
    type: 'startWorkflow' as const,
    workflowType: 'routine',
    workflowId: scheduledRunWorkflowId(wanted.cronId),
    taskQueue: BACKGROUND_QUEUE,
    args: [wanted.input],
    staticSummary: `scheduled run of ${name ?? `routine ${wanted.input.routineId}`}`,
    staticDetails: [
      `Fires ${scheduleInWords(wanted.schedule)} (\`${wanted.schedule}\` in ${wanted.timeZone}).`,
      ...(wanted.gives.length > 0 ? [`Gives the inputs ${wanted.gives.join(', ')}.`] : []),
      'Its steps and their results are in the database under the id of the run.',
    ].join(' '),
    memo: memoOf(wanted, name),
    // the client sends it, although the type of its options lacks it
    priority: BACKGROUND_PRIORITY,
  },
});

/** A schedule as the list has it. */
interface ListedSchedule {
  /**
   * the catch-up window that it was created with; null if a release created it that gave no priority, or had one queue
   * for everything
   */
  catchupMs: number | null;
  paused: boolean;
}

/** Crons that have a schedule, as of some seconds ago. */
export async function listScheduled(temporal: Client): Promise<Map<string, ListedSchedule>> {
  const found = new Map<string, ListedSchedule>();
  const prefix = scheduleId('');
  for await (const { scheduleId: id, memo, state } of temporal.schedule.list({ pageSize: 1000 })) {
    if (!id.startsWith(prefix)) continue;
    const current = memo?.priorityKey === CURRENT.priorityKey && memo.taskQueue === CURRENT.taskQueue;
    found.set(id.slice(prefix.length), {
      catchupMs: current ? ((memo.catchupMs as number | undefined) ?? null) : null,
      paused: state.paused,
    });
  }
  return found;
}

/** Whether a schedule has times in the hours in which clocks change, of which it knows those of the next years only. */
export const hasClockChanges = (wanted: NewSchedule): boolean =>
  !isInterval(wanted.schedule) && !isOnce(wanted.schedule) && instantsOf(specFor(wanted)) !== '';

/** Gives a schedule the policies of this version and the clock changes of the next years, and its runs their priority and their queue. */
export async function bringUpToDate(temporal: Client, wanted: NewSchedule): Promise<void> {
  const view = await describeSchedule(temporal, wanted.cronId);
  const spec = specFor(wanted);
  if (
    !view ||
    (view.instants === instantsOf(spec) &&
      view.overlap === OVERLAP &&
      view.catchupMs === wanted.catchupMs &&
      view.priority === BACKGROUND_PRIORITY.priorityKey &&
      view.taskQueue === BACKGROUND_QUEUE)
  )
    return;
  await updateSchedule(temporal, wanted.cronId, ({ policies, action }) => ({
    spec,
    policies: { ...policies, overlap: OVERLAP, catchupWindow: wanted.catchupMs },
    action: { ...action, priority: BACKGROUND_PRIORITY, taskQueue: BACKGROUND_QUEUE },
  }));
}

/** Lets the schedules start their runs where workers of an older release look for them. */
export async function useOneQueue(temporal: Client): Promise<void> {
  for (const cronId of (await listScheduled(temporal)).keys()) {
    const view = await describeSchedule(temporal, cronId);
    if (view?.taskQueue === BACKGROUND_QUEUE)
      await updateSchedule(temporal, cronId, ({ action }) => ({ action: { ...action, taskQueue: AGENT_QUEUE } }));
  }
}

/** Null when there is no such schedule. */
export async function describeSchedule(temporal: Client, cronId: string): Promise<ScheduleView | null> {
  try {
    const { state, info, policies, action, spec } = await temporal.schedule.getHandle(scheduleId(cronId)).describe();
    return {
      paused: state.paused,
      lastFired: info.recentActions.at(-1)?.takenAt ?? null,
      catchupMs: policies.catchupWindow,
      overlap: policies.overlap,
      priority: action.priority?.priorityKey,
      taskQueue: action.taskQueue,
      instants: instantsOf(spec),
    };
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return null;
    throw error;
  }
}

/** Gives a schedule other times, and its runs what describes them; false when there is none. It stays paused or not. */
export async function changeSchedule(temporal: Client, wanted: NewSchedule): Promise<boolean> {
  const name = await listedName(temporal, wanted.name);
  return await updateSchedule(temporal, wanted.cronId, () => firingsOf(wanted, name));
}

/** The same, and pauses or unpauses it. */
export async function replaceSchedule(temporal: Client, wanted: NewSchedule): Promise<boolean> {
  const name = await listedName(temporal, wanted.name);
  return await updateSchedule(temporal, wanted.cronId, () => ({
    ...firingsOf(wanted, name),
    state: { paused: !wanted.enabled },
  }));
}

async function updateSchedule(
  temporal: Client,
  cronId: string,
  change: (before: ScheduleDescription) => object,
): Promise<boolean> {
  try {
    await temporal.schedule
      .getHandle(scheduleId(cronId))
      .update((before) => ({ ...before, ...change(before) }) as ScheduleUpdateOptions);
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
