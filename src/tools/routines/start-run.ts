import { WorkflowNotFoundError } from '@temporalio/client';
import { z } from 'zod';
import { startRoutineRun } from '../../adapters/workflows.ts';
import { suggestion } from '../../domain/text/nearest.ts';
import { listRoutines, type Routine } from '../../store/routines/routines.ts';
import { closeRun, type RoutineRun, runningRun } from '../../store/routines/runs.ts';
import { toldInPrompt } from '../declarations.ts';
import { idFromCall, type ToolContext, type ToolOutcome } from '../tool.ts';

export const nameOrId = z.string().trim().min(1).max(80).meta(toldInPrompt('Name or id'));

export async function noSuchWorkflow({ db, chatId }: ToolContext, wanted: string): Promise<ToolOutcome> {
  const names = (await listRoutines(db, chatId)).map((routine) => routine.name);
  return { ok: false, output: `There is no routine "${wanted}" in this chat.${suggestion(wanted, names)}` };
}

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
      output: `The routine "${routine.name}" is running already (run ${running.id}). Its result will come to this chat.`,
      metadata: { runId: running.id, status: 'running' },
    };
  }
  const input = {
    routineId: routine.id,
    chatId: routine.chat_id,
    runId,
    ...(cronId && { cronId }),
    ...(inputs && { callId: context.callId }),
  };
  await startRoutineRun(context.temporal, input, routine.name);
  return {
    ok: true,
    output: `Started the routine "${routine.name}" (run ${runId}, ${steps(routine.steps.length)}). Its result will come to this chat when it is done.`,
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
