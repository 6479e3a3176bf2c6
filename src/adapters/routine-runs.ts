import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { BACKGROUND_QUEUE, routineWorkflowId } from '../contracts/ids.ts';
import { BACKGROUND_PRIORITY } from '../contracts/priority.ts';
import type { RoutineInput } from '../contracts/routine.ts';
import { ROUTINE } from '../contracts/signals.ts';

/**
 * Starts a run that somebody asked for. A second call with the same run changes nothing, also when the run has ended.
 */
export async function startRoutineRun(temporal: Client, input: RoutineInput & { runId: string }): Promise<void> {
  try {
    await temporal.workflow.start(ROUTINE, {
      workflowId: routineWorkflowId(input.runId),
      taskQueue: BACKGROUND_QUEUE,
      args: [input],
      priority: BACKGROUND_PRIORITY,
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      staticSummary: `run of routine ${input.routineId}`,
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}
