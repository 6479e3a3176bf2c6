import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import {
  bringUpToDate,
  createSchedule,
  hasClockChanges,
  listScheduled,
  scheduleOfCron,
} from '../../../adapters/schedules.ts';
import { listedName } from '../../../adapters/workflows.ts';
import { BACKGROUND_PRIORITY, BACKGROUND_QUEUE } from '../../../contracts/ids.ts';
import type { RoutineInput } from '../../../contracts/routine.ts';
import { ROUTINE } from '../../../contracts/signals.ts';
import { type Cron, lastSettled } from '../../../store/routines/crons.ts';
import type { OpenRun } from '../../../store/routines/reconcile.ts';
import { followPause, sendSchedule } from '../schedules.ts';
import type { IntakeDeps } from '../signal.ts';
import type { Held, Holdings } from './holdings.ts';

/**
 * A run that is open in the store needs its workflow. A lost workflow is started again, with the stored outcome of each
 * routine step. If the workflow was ended, the run is ended and told.
 */
export async function compareRun(temporal: Client, holdings: Holdings, run: OpenRun): Promise<boolean> {
  const { status } = await holdings.of(run.workflow_id, []);
  if (status === 'RUNNING') return false;
  const ended = run.routine === null ? 'the workflow was deleted while it ran' : endedBy(status);
  const input: RoutineInput = {
    routineId: run.routine_id,
    chatId: run.chat_id,
    runId: run.id,
    ...(run.cron_id && { cronId: run.cron_id }),
    ...(ended && { ended }),
  };
  const name = await listedName(temporal, run.routine_name);
  try {
    await temporal.workflow.start(ROUTINE, {
      workflowId: run.workflow_id,
      taskQueue: BACKGROUND_QUEUE,
      args: [input],
      priority: BACKGROUND_PRIORITY,
      staticSummary: `run of ${name ?? `routine ${run.routine_id}`}, taken up again`,
      ...(name && { memo: { name } }),
    });
    return true;
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
    throw error;
  }
}

function endedBy(status: Held['status']): string | null {
  switch (status) {
    case 'GONE':
      return null;
    case 'COMPLETED':
      return 'it had ended before my records were restored to an earlier time, and its result is lost';
    case 'FAILED':
    case 'TIMED_OUT':
      return 'it broke off';
    default:
      return 'it was ended from outside';
  }
}

/**
 * Crons whose schedule is gone, does not have what the row says, was paused in the Web UI, lacks clock changes that are
 * near by now, or has the policies, the priority or the queue of an earlier release or setting. All schedules are listed at once, because a request for each
 * would cost too much. `updated`: crons that this process has checked, because a memo cannot be changed.
 */
export function scheduleComparison(
  { db, temporal, config }: IntakeDeps,
  updated: Set<string>,
): (cron: Cron) => Promise<boolean> {
  let listed: ReturnType<typeof listScheduled> | undefined;
  return async (cron) => {
    listed ??= listScheduled(temporal);
    if (cron.unsent) {
      await sendSchedule({ db, temporal, config }, cron);
      return true;
    }
    const wanted = scheduleOfCron(cron, config.FETCH_CATCHUP_HOURS);
    const there = (await listed).get(cron.id);
    // the list is some seconds late; an existing schedule is left as it is
    if (there === undefined) return await createSchedule(temporal, wanted, lastSettled(cron));
    if (there.paused === cron.enabled) await followPause({ db, temporal }, cron);
    if (!updated.has(cron.id)) {
      if (there.catchupMs !== wanted.catchupMs || hasClockChanges(wanted)) await bringUpToDate(temporal, wanted);
      updated.add(cron.id);
    }
    return false;
  };
}
