import { ActivityCancellationType, proxyActivities } from '@temporalio/workflow';
import type { Decision } from '../../contracts/decision.ts';
import { kennelQueue } from '../../contracts/ids.ts';
import type { ModelLimit, PlanAsked, TaskActivities, TaskRecordActivities, TaskState } from '../../contracts/task.ts';
import { nonRetryableTypes } from '../../domain/failures.ts';
import { MINUTE } from '../../domain/time.ts';
import { patientRecords } from '../shared/patient.ts';
import { HEARTBEAT_TIMEOUT } from '../shared/policies.ts';

/** Retry policies of a coding task, each with its reason. Durations in ms. */

const patient = {
  initialInterval: 300,
  backoffCoefficient: 2,
  maximumInterval: 10_000,
  nonRetryableErrorTypes: nonRetryableTypes,
};

/**
 * Activities on the host of a task. All may run again: a container is found by its label, a commit by its key, a log
 * line by its number.
 */
export function onHost(host: string, awayMs: number): TaskActivities {
  const taskQueue = kennelQueue(host);
  const short = proxyActivities<Omit<TaskActivities, 'follow' | 'conclude'>>({
    taskQueue,
    // an image is built when it is first needed, which takes minutes
    startToCloseTimeout: 30 * MINUTE,
    scheduleToStartTimeout: awayMs,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: patient,
    // after a cancelled start the workflow must know whether there is a container
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  });
  const { follow } = proxyActivities<Pick<TaskActivities, 'follow'>>({
    taskQueue,
    startToCloseTimeout: '7 days',
    scheduleToStartTimeout: awayMs,
    // bounds how long a killed worker delays a task
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: { ...patient, maximumInterval: 2_000 },
  });
  const { conclude } = proxyActivities<Pick<TaskActivities, 'conclude'>>({
    taskQueue,
    // the tests of a project may take half an hour, and run on the state before the task, too
    startToCloseTimeout: 90 * MINUTE,
    scheduleToStartTimeout: awayMs,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: patient,
  });
  return {
    prepareTask: (input) => short.prepareTask.executeWithOptions({ summary: 'image and working tree' }, [input]),
    beginStep: (input) =>
      short.beginStep.executeWithOptions(
        { summary: `${input.checkpoint ? 'checkpoint, ' : ''}container of step ${input.step}` },
        [input],
      ),
    follow: (input) =>
      follow.executeWithOptions({ summary: `follow step ${input.step} from byte ${input.offset}` }, [input]),
    passOn: (input) => short.passOn.executeWithOptions({ summary: 'pass the answer on' }, [input]),
    endStep: (input) =>
      short.endStep.executeWithOptions({ summary: `end the container of step ${input.step}` }, [input]),
    setPaused: (input) =>
      short.setPaused.executeWithOptions({ summary: input.paused ? 'freeze the container' : 'thaw the container' }, [
        input,
      ]),
    conclude: (input) =>
      conclude.executeWithOptions({ summary: `commit, differences, report: ${input.state}` }, [input]),
  };
}

const local = patientRecords<TaskRecordActivities>();

/** Short activities on our own store, each with the summary that an operator reads beside its marker. */
export const taskRecords = {
  claimWorkspace: (taskId: string): Promise<boolean | 'cancel' | 'pause'> =>
    local.claimWorkspace.executeWithOptions({ summary: 'claim the workspace' }, [taskId]),
  setState: (taskId: string, state: TaskState, doing: string): Promise<void> =>
    local.setTaskState.executeWithOptions({ summary: doing.slice(0, 100) }, [{ taskId, state }]),
  ask: (taskId: string, questionId: string, title: string): Promise<{ outboxId: string; decided?: Decision }> =>
    local.askForTask.executeWithOptions({ summary: `ask: ${title}` }, [{ taskId, questionId }]),
  askForPlan: (taskId: string, step: number): Promise<PlanAsked | null> =>
    local.askForPlan.executeWithOptions({ summary: 'ask for a yes to the plan' }, [{ taskId, step }]),
  askForHosts: (taskId: string, questionId: string, title: string): Promise<{ outboxId: string; decided?: Decision }> =>
    local.askForHosts.executeWithOptions({ summary: `ask: ${title}` }, [{ taskId, questionId }]),
  remind: (questionId: string): Promise<string | null> =>
    local.remindForTask.executeWithOptions({ summary: 'remind of the open question' }, [questionId]),
  expire: (questionId: string): Promise<boolean> =>
    local.expireForTask.executeWithOptions({ summary: 'nobody answered: the question expires' }, [questionId]),
  tell: (taskId: string, key: string, text: string): Promise<string> =>
    local.tellTask.executeWithOptions({ summary: `tell: ${key}` }, [{ taskId, key, text }]),
  limit: (input: { taskId: string; key: string; limit: ModelLimit; tell: boolean }): Promise<string | null> =>
    local.limitTask.executeWithOptions(
      { summary: `waits for a limit until ${new Date(input.limit.opensAt).toISOString()}` },
      [input],
    ),
  move: (taskId: string, from: string): Promise<string | null> =>
    local.moveTask.executeWithOptions({ summary: 'look for another host' }, [{ taskId, from }]),
};
