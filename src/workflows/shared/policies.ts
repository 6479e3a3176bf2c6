import { isCancellation, patched, proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { RecordActivities, TurnActivities } from '../../contracts/activities.ts';
import type {
  ActInput,
  ActResult,
  AskInput,
  AskResult,
  CallVerdict,
  DeliverInput,
  FinishInput,
  ThinkInput,
  ThinkResult,
} from '../../contracts/conversation.ts';
import type { Decision } from '../../contracts/decision.ts';
import { type Channel, gatewayQueue } from '../../contracts/ids.ts';
import { nonRetryableTypes } from '../../domain/failures.ts';
import { HOUR, MINUTE } from '../../domain/time.ts';
import { patientRecords } from './patient.ts';

/** Every retry policy of the conversation, each with its reason. Durations in ms. */

/** A dead worker is detected after this long: three missed heartbeats. */
export const HEARTBEAT_TIMEOUT = 3_000;

/**
 * A model step takes long, so missing heartbeats detect a dead worker; a retry finds a stored answer. The activity
 * decides how long to retry (domain/model/patience.ts): it names each wait, and ends what must be given up.
 */
const model = proxyActivities<Pick<TurnActivities, 'think'>>({
  startToCloseTimeout: 30 * MINUTE,
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  retry: {
    initialInterval: 300,
    backoffCoefficient: 2,
    maximumInterval: 30_000,
    nonRetryableErrorTypes: nonRetryableTypes,
  },
});

/** Tools that may run again. The activity limits the attempts and turns the last error into a result. */
const repeatable = proxyActivities<Pick<TurnActivities, 'act'>>({
  startToCloseTimeout: HOUR,
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  retry: {
    initialInterval: 300,
    backoffCoefficient: 2,
    maximumInterval: 10_000,
    maximumAttempts: 12,
    nonRetryableErrorTypes: nonRetryableTypes,
  },
});

/**
 * Tools that must not run twice: one attempt. The heartbeat detects a dead worker within seconds, and the outcome is
 * reported as unknown.
 */
const onceOnly = proxyActivities<Pick<TurnActivities, 'act'>>({
  startToCloseTimeout: HOUR,
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  retry: { maximumAttempts: 1 },
});

/**
 * Tools that touch only our own store: half the time and a third of the events. One attempt, shorter than a workflow
 * task: what takes longer becomes an activity.
 */
const onStore = proxyLocalActivities<Pick<TurnActivities, 'actOnStore'>>({
  startToCloseTimeout: 3_000,
  retry: { maximumAttempts: 1 },
});

/** Turns from before this change made an activity of every call. */
const CALLS_ON_STORE = '2026-11-calls-on-store';

const local = patientRecords<RecordActivities>();

/** Each with the summary that an operator reads beside its marker. */
export const records = {
  openQuestion: (what: string, input: AskInput): Promise<AskResult> =>
    local.openQuestion.executeWithOptions({ summary: `ask for ${what}` }, [input]),
  decisionOf: (questionId: string): Promise<Decision | null> =>
    local.decisionOf.executeWithOptions({ summary: 'read the decision' }, [questionId]),
  remind: (questionId: string): Promise<string | null> =>
    local.remind.executeWithOptions({ summary: 'remind of the open question' }, [questionId]),
  expire: (questionId: string): Promise<boolean> =>
    local.expire.executeWithOptions({ summary: 'nobody answered: the question expires' }, [questionId]),
  recordUnknown: (what: string, input: { callId: string; why?: string }): Promise<void> =>
    local.recordUnknown.executeWithOptions({ summary: `note how ${what} ended` }, [input]),
  finish: (input: FinishInput): Promise<string | null> =>
    local.finish.executeWithOptions(
      { summary: input.failure ? `end the turn: ${input.failure.type}` : `end the turn: ${input.status}` },
      [input],
    ),
};

export const thinkAs = (summary: string, input: ThinkInput): Promise<ThinkResult> =>
  model.think.executeWithOptions({ summary }, [input]);

/**
 * `queue`: the host's own, for a tool of the kennel. A queue that no worker serves must not block the turn for ever.
 */
export async function actAs(
  { summary, effect, queue, onStore: quick }: CallVerdict,
  input: ActInput,
): Promise<ActResult> {
  if (quick && patched(CALLS_ON_STORE)) {
    try {
      return await onStore.actOnStore.executeWithOptions({ summary }, [input]);
    } catch (error) {
      if (isCancellation(error)) throw error;
    }
  }
  const options = { summary, ...(queue !== undefined && { taskQueue: queue, scheduleToStartTimeout: HOST_PATIENCE }) };
  return await (effect === 'once' ? onceOnly : repeatable).act.executeWithOptions(options, [input]);
}

/** A host that takes no work for this long counts as away. */
export const HOST_PATIENCE = 60_000;

/** A send on the queue of the channel. It waits there as long as the channel is away. */
export const deliverOn = (channel: Channel, summary: string, input: DeliverInput): Promise<void> =>
  proxyActivities<Pick<TurnActivities, 'deliver'>>({
    taskQueue: gatewayQueue(channel),
    startToCloseTimeout: 2 * MINUTE,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: {
      initialInterval: 500,
      backoffCoefficient: 2,
      maximumInterval: 60_000,
      nonRetryableErrorTypes: ['NotFound'],
    },
  }).deliver.executeWithOptions({ summary }, [input]);

/** Works out what an approval will show, within some seconds. If that fails, the approval is asked without it. */
export const previewOn = (taskQueue: string, input: ActInput): Promise<void> =>
  proxyActivities<Pick<TurnActivities, 'preview'>>({
    taskQueue,
    startToCloseTimeout: 60_000,
    scheduleToCloseTimeout: 90_000,
    heartbeatTimeout: HEARTBEAT_TIMEOUT,
    retry: { initialInterval: 300, maximumAttempts: 3 },
  }).preview.executeWithOptions({ summary: 'what the approval will show' }, [input]);
