import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import { deleteSchedule, listScheduled, useOneQueue } from '../../../adapters/schedules.ts';
import { AGENT_QUEUE, BACKGROUND_QUEUE } from '../../../contracts/ids.ts';
import { AGENT_PHASE } from '../../../contracts/signals.ts';
import { isServerAway } from '../signal.ts';
import type { Walked } from './walk.ts';

/**
 * Ends runs that today's code cannot continue. Nothing is lost: PostgreSQL has everything that they knew, and the
 * comparison with the Temporal server starts them again from there.
 */

/** temporal.api.enums.v1.WorkflowTaskFailedCause */
const NON_DETERMINISTIC = 24;
/** With fewer attempts, a worker of another release may have got the task by chance while both ran. */
const STUCK_ATTEMPTS = 4;

export const STUCK = 'its history does not fit the code of today: begins again from the records';

/** True when a run is stuck because its worker's code does not fit its history. */
export async function isStuck(temporal: Client, workflowId: string): Promise<boolean> {
  const handle = temporal.workflow.getHandle(workflowId);
  const { raw, status } = await handle.describe();
  if (status.name !== 'RUNNING' || Number(raw.pendingWorkflowTask?.attempt ?? 0) < STUCK_ATTEMPTS) return false;
  const { events } = await handle.fetchHistory();
  // Temporal records only the first failure of a workflow task
  const last = events?.findLast(
    (event) => event.workflowTaskFailedEventAttributes || event.workflowTaskCompletedEventAttributes,
  );
  return last?.workflowTaskFailedEventAttributes?.cause === NON_DETERMINISTIC;
}

/** Ends a run; its rows bring it back. False when it was already over. */
export async function startOver(temporal: Client, workflowId: string, reason: string): Promise<boolean> {
  try {
    await temporal.workflow.getHandle(workflowId).terminate(reason);
    return true;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

/**
 * Ends every open run with a `patched` branch, because older code would stop at it. `oneQueue`: it does not know the
 * queue of routine runs, so those are ended, too, and schedules get the other one. Returns how many.
 */
export async function startPatchedOver(
  temporal: Client,
  reason: string,
  { oneQueue }: { oneQueue: boolean },
): Promise<number> {
  if (oneQueue) await useOneQueue(temporal);
  const unknown = `TemporalChangeVersion IS NOT NULL${oneQueue ? ` OR TaskQueue = '${BACKGROUND_QUEUE}'` : ''}`;
  return await startOverWhere(temporal, `ExecutionStatus = 'Running' AND (${unknown})`, reason);
}

/**
 * Ends every open run and deletes every schedule: a release that knows no encryption can read none of them. Returns how
 * many runs.
 */
export async function startAllOver(temporal: Client, reason: string): Promise<number> {
  for (const cronId of (await listScheduled(temporal)).keys()) await deleteSchedule(temporal, cronId);
  return await startOverWhere(
    temporal,
    `ExecutionStatus = 'Running' AND TaskQueue IN ('${AGENT_QUEUE}', '${BACKGROUND_QUEUE}')`,
    reason,
  );
}

async function startOverWhere(temporal: Client, query: string, reason: string): Promise<number> {
  let ended = 0;
  for await (const { workflowId } of temporal.workflow.list({ query }))
    if (await startOver(temporal, workflowId, reason)) ended += 1;
  return ended;
}

/**
 * Finds stuck runs with nothing open in the store: an activity stored their last step, or only a send was under way.
 * Stuck runs with something open are found from the store. After the first rounds only runs in the middle of something
 * are checked.
 */
export async function startStuckOver(temporal: Client, all: boolean): Promise<Walked> {
  const walked: Walked = { found: 0, failed: 0 };
  const query = `ExecutionStatus = 'Running' AND ${all ? 'TemporalChangeVersion IS NOT NULL' : `${AGENT_PHASE} IN ('working', 'waiting')`}`;
  try {
    for await (const { workflowId } of temporal.workflow.list({ query })) {
      if (!(await isStuck(temporal, workflowId))) continue;
      if (await startOver(temporal, workflowId, STUCK)) walked.found += 1;
    }
  } catch (error) {
    if (isServerAway(error)) throw error;
    walked.failed += 1;
    walked.failure = error as Error;
  }
  return walked;
}
