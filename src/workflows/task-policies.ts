import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  ActivityCancellationType,
  ActivityFailure,
  ParentClosePolicy,
  proxyActivities,
  startChild,
  TimeoutFailure,
  WorkflowIdReusePolicy,
} from '@temporalio/workflow';
import { kennelQueue, taskWorkflowId } from '../contracts/ids.ts';
import { CODING_TASK } from '../contracts/signals.ts';
import type { TaskActivities, TaskInput, TaskRecordActivities } from '../contracts/task.ts';
import { nonRetryableTypes } from '../domain/failures.ts';
import { taskPage } from '../domain/tasks/page.ts';
import { patientRecords } from './patient.ts';
import { HEARTBEAT_TIMEOUT } from './policies.ts';

/** Retry policies of a coding task, each with its reason. Durations in ms. */

const patient = { initialInterval: 300, backoffCoefficient: 2, maximumInterval: 10_000, nonRetryableErrorTypes: nonRetryableTypes };

/** Activities on the host of a task. All of them may run again: a container is found by its label, a commit by its key, a line by its number. */
export function onHost(host: string, awayMs: number): TaskActivities {
  const taskQueue = kennelQueue(host);
  const short = proxyActivities<Omit<TaskActivities, 'follow' | 'conclude'>>({
    taskQueue,
    // images are built on first need, and that takes minutes
    startToCloseTimeout: 30 * 60_000,
    scheduleToStartTimeout: awayMs,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: patient,
    // whoever cancels a start must know whether there is a container now
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  });
  const { follow } = proxyActivities<Pick<TaskActivities, 'follow'>>({
    taskQueue,
    startToCloseTimeout: '7 days',
    scheduleToStartTimeout: awayMs,
    // the one that bounds how long a killed worker holds a task up
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: { ...patient, maximumInterval: 2_000 },
  });
  const { conclude } = proxyActivities<Pick<TaskActivities, 'conclude'>>({
    taskQueue,
    startToCloseTimeout: 20 * 60_000,
    scheduleToStartTimeout: awayMs,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: patient,
  });
  return {
    prepareTask: (input) => short.prepareTask.executeWithOptions({ summary: 'image and working tree' }, [input]),
    beginStep: (input) => short.beginStep.executeWithOptions({ summary: `${input.checkpoint ? 'checkpoint, ' : ''}container of step ${input.step}` }, [input]),
    follow: (input) => follow.executeWithOptions({ summary: `follow step ${input.step} from byte ${input.offset}` }, [input]),
    passOn: (input) => short.passOn.executeWithOptions({ summary: 'pass the answer on' }, [input]),
    endStep: (input) => short.endStep.executeWithOptions({ summary: `end the container of step ${input.step}` }, [input]),
    setPaused: (input) => short.setPaused.executeWithOptions({ summary: input.paused ? 'freeze the container' : 'thaw the container' }, [input]),
    conclude: (input) => conclude.executeWithOptions({ summary: `commit, differences, report: ${input.state}` }, [input]),
  };
}

export const taskRecords = patientRecords<TaskRecordActivities>();

/** No worker of the host took the work: it is off, or has nothing to run containers with. */
export const hostIsAway = (error: unknown): boolean =>
  error instanceof ActivityFailure && error.cause instanceof TimeoutFailure && error.cause.timeoutType === 'SCHEDULE_TO_START';

/** Starts a task as a child that outlives its parent; one that runs already is left alone. */
export async function startTask(input: TaskInput): Promise<void> {
  try {
    await startChild(CODING_TASK, {
      workflowId: taskWorkflowId(input.taskId),
      args: [input],
      parentClosePolicy: ParentClosePolicy.ABANDON,
      workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
      ...taskPage(input),
      workflowTaskTimeout: 5_000,
    });
  } catch (error) {
    if (!(error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
  }
}
