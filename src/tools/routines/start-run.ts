import { WorkflowNotFoundError } from '@temporalio/client';
import { startRoutineRun } from '../../adapters/routine-runs.ts';
import type { Routine } from '../../store/routines/routines.ts';
import { closeRun, type RoutineRun, runningRun } from '../../store/routines/runs.ts';
import { idFromCall } from '../call-ids.ts';
import type { ToolContext, ToolOutcome } from '../tool.ts';

export const steps = (count: number): string => `${count} ${count === 1 ? 'step' : 'steps'}`;

interface RunSource {
  cronId?: string;
  /** its inputs are in the arguments of this call */
  inputs?: boolean;
}

/** Starts a run and returns at once. A second call with the same call id finds the run of the first. */
export async function startRun(
  context: ToolContext,
  routine: Routine,
  { cronId, inputs = false }: RunSource = {},
): Promise<ToolOutcome> {
  const runId = idFromCall('wfr_', context.callId);
  const running = await runningRun(context.db, routine.id);
  if (running && running.id !== runId && (await isLive(context, running))) {
    return {
      ok: false,
      output: `Workflow "${routine.name}" is running already (run ${running.id}). Its result will come to this chat.`,
      metadata: { runId: running.id, status: 'running' },
    };
  }
  await startRoutineRun(context.temporal, {
    routineId: routine.id,
    chatId: routine.chat_id,
    runId,
    ...(cronId && { cronId }),
    ...(inputs && { callId: context.callId }),
  });
  return {
    ok: true,
    output: `Started workflow "${routine.name}" (run ${runId}, ${steps(routine.steps.length)}). Its result will come to this chat when it is done.`,
    metadata: { runId, workflowId: routine.id, status: 'running' },
  };
}

/**
 * Whether a run that is open in the store still has a workflow. A run that an operator terminated is closed here, or it
 * would block its routine for ever.
 */
async function isLive({ db, temporal }: ToolContext, run: RoutineRun): Promise<boolean> {
  const status = await temporal.workflow
    .getHandle(run.workflow_id)
    .describe()
    .then(
      (description) => description.status.name,
      (error) => {
        if (error instanceof WorkflowNotFoundError) return 'GONE';
        throw error;
      },
    );
  if (status === 'RUNNING') return true;
  await closeRun(db, run.id, 'failed', 'ended from outside before its result');
  return false;
}
