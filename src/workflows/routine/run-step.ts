import { isCancellation, proxyActivities } from '@temporalio/workflow';
import type { OpenedStep, RoutineActivities, StepInput, StepResult } from '../../contracts/routine.ts';
import { nonRetryableTypes, unknownOutcome } from '../../domain/failures.ts';
import { hostIsAway } from '../shared/failure-of.ts';
import { HEARTBEAT_TIMEOUT, HOST_PATIENCE } from '../shared/policies.ts';

/** An attempt that runs no tool, and only stores an outcome. */
const LOCAL = { effect: 'idempotent', timeoutMs: 10_000 } as const;

/** Runs one routine step. If it cannot be run to its end, that becomes its outcome. */
export async function runStep(step: OpenedStep, input: StepInput): Promise<StepResult> {
  const { runId, index, skip } = input;
  const summary = `step ${index + 1}: ${step.tool}${skip ? ': skip' : ''}`;
  try {
    return await stepActivity(skip ? { ...LOCAL, tool: step.tool } : step).executeWithOptions({ summary }, [input]);
  } catch (error) {
    if (isCancellation(error)) throw error;
    // the worker died or every attempt failed: use the stored outcome, or say that it is unknown
    const settle = hostIsAway(error)
      ? 'The machine that has this workspace does not answer. Nothing was done.'
      : step.effect === 'once'
        ? unknownOutcome('step')
        : 'This step could not be run to its end.';
    return await stepActivity({ ...LOCAL, tool: step.tool }).executeWithOptions({ summary: `${summary}: settle` }, [
      { runId, index, settle },
    ]);
  }
}

/**
 * `once`: one attempt; the heartbeat detects a dead worker. Other effects are retried, and the activity turns the last
 * error into a result.
 */
const stepActivity = (step: OpenedStep) =>
  proxyActivities<Pick<RoutineActivities, 'runRoutineStep'>>({
    ...(step.queue !== undefined && { taskQueue: step.queue, scheduleToStartTimeout: HOST_PATIENCE }),
    // longer than the tool's own limit, so that the tool reports its time-out itself
    startToCloseTimeout: step.timeoutMs + 15_000,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry:
      step.effect === 'once'
        ? { maximumAttempts: 1 }
        : {
            initialInterval: 300,
            backoffCoefficient: 2,
            maximumInterval: 10_000,
            maximumAttempts: 60,
            nonRetryableErrorTypes: nonRetryableTypes,
          },
  }).runRoutineStep;
