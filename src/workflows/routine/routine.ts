import {
  ApplicationFailure,
  CancellationScope,
  condition,
  isCancellation,
  patched,
  proxyActivities,
  setCurrentDetails,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type {
  OpenedRun,
  OpenedStep,
  OpenInput,
  RoutineActivities,
  RoutineInput,
  RoutineResult,
  StepInput,
  StepResult,
} from '../../contracts/routine.ts';
import type { TaskInput } from '../../contracts/task.ts';
import { nonRetryableTypes, unknownOutcome } from '../../domain/failures.ts';
import { MINUTE } from '../../domain/time.ts';
import { hostIsAway } from '../shared/failure-of.ts';
import { patientRecords } from '../shared/patient.ts';
import { deliverOn, HEARTBEAT_TIMEOUT, HOST_PATIENCE } from '../shared/policies.ts';
import { startTask } from '../shared/start-task.ts';

const records = patientRecords<Pick<RoutineActivities, 'openRun' | 'closeRun' | 'endTaskStep'>>();

/** Runs from before this change complete as workflows even when a routine step failed. */
const FAILS_AS_WORKFLOW = '2026-11-routine-fails-as-workflow';
/**
 * Longest wait between two looks for the end of the previous run. It may take an hour or more, and each look costs six
 * events.
 */
const LONGEST_WAIT_MS = 5 * MINUTE;

/** An attempt that runs no tool, and only stores an outcome. */
const LOCAL = { effect: 'idempotent', timeoutMs: 10_000 } as const;

/** Runs one routine step. If it cannot be run to its end, that becomes its outcome. */
async function runStep(step: OpenedStep, input: StepInput): Promise<StepResult> {
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

/**
 * Between two looks for the end of a task. Its workflow usually tells it at once, as our child; each look costs six
 * events.
 */
const FIRST_LOOK_MS = 5_000;
const LONGEST_LOOK_MS = 5 * MINUTE;

/**
 * Starts the coding task of a routine step, and waits for its result, which becomes that of the step. A task outlives a
 * run that is cancelled. Steps of earlier releases do not say that they wait, so they end when the task has begun.
 */
async function endOfTask(
  step: { runId: string; index: number },
  task: TaskInput | undefined,
  waits: true | undefined,
): Promise<boolean> {
  const child = task && (await CancellationScope.nonCancellable(() => startTask(task)));
  if (!waits) return true;
  let told = false;
  const tell = () => {
    told = true;
  };
  child?.result().then(tell, tell);
  const summary = `step ${step.index + 1}: the end of its task`;
  for (let looks = 0; ; looks += 1) {
    const [before, quick] = [told, Math.min(FIRST_LOOK_MS * 2 ** looks, LONGEST_LOOK_MS)];
    if (task || looks > 0) await condition(() => told !== before, child && !told ? LONGEST_LOOK_MS : quick);
    const { over, ok } = await records.endTaskStep.executeWithOptions({ summary }, [step]);
    if (over) return ok;
  }
}

/**
 * One execution of a routine: its routine steps in order, then the result to the chat. After a failure only those run
 * that are there for it.
 */
export async function routine(input: RoutineInput): Promise<RoutineResult> {
  const { workflowId } = workflowInfo();
  const runId = input.runId ?? runIdOf(workflowId);
  const run = await openedRun({
    ...input,
    runId,
    workflowId,
    scheduledFor: input.runId ? null : firingTime(workflowId),
  });
  if (!run) return { runId, status: 'failed', outboxId: null };
  if (run.coalesced) return { runId, status: 'coalesced', outboxId: null };

  const ended = input.ended ?? run.problem;
  let status: RoutineResult['status'] = ended === undefined ? 'completed' : 'failed';
  let cancelled: unknown;
  let cause = run.problem ?? '';
  try {
    const steps = ended === undefined ? run.steps : [];
    for (const [index, step] of steps.entries()) {
      const failed = status === 'failed';
      if (!steps.slice(index).some((later) => isDue(later, failed))) break;
      const about = { runId, index, ...(input.callId !== undefined && { callId: input.callId }) };
      setCurrentDetails(progress(run, index, isDue(step, failed) ? 'running' : 'skipped'));
      const { ok, task, awaitsTask } = await runStep(step, { ...about, ...(!isDue(step, failed) && { skip: true }) });
      const done = ok && (task || awaitsTask) ? await endOfTask(about, task, awaitsTask) : ok;
      if (done || failed || step.onFailure === 'continue') continue;
      status = 'failed';
      cause = `Step ${index + 1} of ${run.steps.length} (${step.tool}) did not succeed.`;
      setCurrentDetails(progress(run, index, 'failed'));
    }
    if (status === 'completed') setCurrentDetails(progress(run, run.steps.length, 'completed'));
  } catch (error) {
    if (!isCancellation(error)) throw error;
    status = 'failed';
    cancelled = error;
  }
  // a cancelled run is closed and told too, or its chat would wait for ever
  return await CancellationScope.nonCancellable(async () => {
    const outboxId = await records.closeRun.executeWithOptions({ summary: `end the run: ${status}` }, [
      {
        runId,
        status,
        steps: run.steps.length,
        ...(cancelled !== undefined ? { reason: 'it was cancelled' } : ended !== undefined && { reason: ended }),
      },
    ]);
    await deliverOn(run.channel, `result of ${runId}`, { outboxId });
    if (cancelled !== undefined) throw cancelled;
    // the person was already told; this is for operators, who list failed workflows
    if (status === 'failed' && patched(FAILS_AS_WORKFLOW)) throw ApplicationFailure.nonRetryable(cause, 'StepFailed');
    return { runId, status, outboxId };
  });
}

/** Opens the run once the previous one has ended. If a later firing becomes due meanwhile, that one runs instead. */
async function openedRun(input: OpenInput): Promise<OpenedRun | null> {
  for (let looks = 0; ; looks += 1) {
    const run = await records.openRun.executeWithOptions({ summary: 'begin the run' }, [input]);
    if (!run?.wait) return run;
    setCurrentDetails('waits for the run before it, or for a budget');
    await sleep(Math.min(5_000 * 2 ** looks, LONGEST_WAIT_MS), { summary: 'waiting for the run before it' });
  }
}

/** Whether a routine step runs, by how the ones before it ended. */
const isDue = ({ when = 'ok' }: OpenedRun['steps'][number], failed: boolean): boolean =>
  when === 'always' || (when === 'failed') === failed;

/**
 * The schedule puts a time at the end of its workflow ids, so the run id is unique:
 * `cron/cron_x/run-2026-11-21T09:00:00Z` gives `wfr_x_20261121T090000Z`.
 */
const runIdOf = (workflowId: string): string =>
  `wfr_${workflowId
    .replace(/^cron\/cron_/, '')
    .replace('/run-', '_')
    .replace(/[^A-Za-z0-9_]/g, '')}`;

const firingTime = (workflowId: string): string | null =>
  /-(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)$/.exec(workflowId)?.[1] ?? null;

const progress = (run: OpenedRun, current: number, state: string): string =>
  run.steps
    .map(
      (step, index) => `${index + 1}. ${step.tool}: ${index < current ? 'done' : index === current ? state : 'to do'}`,
    )
    .join('\n');
