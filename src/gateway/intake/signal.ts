import { type Client, isGrpcServiceError, WorkflowNotFoundError } from '@temporalio/client';
import type { Config } from '../../config.ts';
import type { Arrival } from '../../contracts/conversation.ts';
import { AGENT_QUEUE, type Channel, taskWorkflowId } from '../../contracts/ids.ts';
import { arrivalSignal, CONVERSATION, decidedSignal, orderedSignal } from '../../contracts/signals.ts';
import { markSignalled } from '../../store/chats/messages/inbox.ts';
import type { Db } from '../../store/postgres/database.ts';
import { traced } from '../../telemetry/tracing.ts';
import { conversationInput } from './workflow-inputs.ts';

/** What intake works with. */
export interface IntakeDeps {
  db: Db;
  temporal: Client;
  config: Config;
}

/** What a signal needs of a stored row. */
export interface ToSignal {
  inboxId: string;
  arrival: Arrival;
  chatId: string;
  channel: Channel;
  workflowId: string;
  /** how often its signal was lost with a Temporal server */
  resignalled?: number;
  /** where the trace of its message goes on; the span that this code runs in, when unset */
  traceParent?: string | null;
}

/**
 * The id under which a conversation knows a row. A lost one gets a new id, because a conversation drops ids that it has
 * seen, even those that it has lost since.
 */
export const signalId = (row: { inboxId: string; resignalled?: number }): string =>
  row.resignalled ? `${row.inboxId}~${row.resignalled}` : row.inboxId;

/**
 * Signals the conversation about a stored row, and starts it if needed. The workflow drops ids that it has seen, so a
 * repeated signal is harmless.
 */
export async function signalArrival(deps: IntakeDeps, row: ToSignal): Promise<void> {
  const attributes = {
    'fetch.inbox_id': row.inboxId,
    'fetch.meant': row.arrival.kind,
    'temporal.workflow_id': row.workflowId,
  };
  await traced('signal', { kind: 'producer', parent: row.traceParent, attributes }, () => signalOwner(deps, row));
  await markSignalled(deps.db, row.inboxId);
}

async function signalOwner(deps: IntakeDeps, row: ToSignal): Promise<void> {
  const { arrival } = row;
  if (arrival.kind === 'task') await signalTask(deps, arrival.taskId, orderedSignal, arrival.order);
  else if (arrival.kind === 'answer' && arrival.taskId)
    await signalTask(deps, arrival.taskId, decidedSignal, {
      questionId: arrival.questionId,
      decision: arrival.decision,
    });
  else if (arrival.kind === 'answer' && arrival.workflowId)
    await signalIfThere(deps, arrival.workflowId, arrivalSignal, { ...arrival, inboxId: signalId(row) });
  else await signalConversation(deps, row);
}

/** A task without a workflow hears nothing. */
export const signalTask = (
  deps: Pick<IntakeDeps, 'temporal'>,
  taskId: string,
  signal: string,
  value: unknown,
): Promise<void> => signalIfThere(deps, taskWorkflowId(taskId), signal, value);

/** Nothing is lost without a workflow: answers and orders are in the store, where the next one looks. */
async function signalIfThere(
  { temporal }: Pick<IntakeDeps, 'temporal'>,
  workflowId: string,
  signal: string,
  value: unknown,
): Promise<void> {
  await temporal
    .withDeadline(Date.now() + 10_000, () => temporal.workflow.getHandle(workflowId).signal(signal, value))
    .catch((error) => {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    });
}

export async function signalConversation({ temporal, config }: IntakeDeps, row: ToSignal): Promise<void> {
  // without a deadline, the call may wait for ever when the server is away; the sweeper tries again
  await temporal.withDeadline(Date.now() + 10_000, () =>
    temporal.workflow.signalWithStart(CONVERSATION, {
      workflowId: row.workflowId,
      taskQueue: AGENT_QUEUE,
      args: [conversationInput(config, row)],
      signal: arrivalSignal,
      signalArgs: [{ ...row.arrival, inboxId: signalId(row) }],
      staticSummary: `Conversation on ${row.channel}`,
      staticDetails:
        'Owns one chat for ever: takes its messages in order, runs turns, waits for answers. Stop a turn by writing "stop" in the chat, not by terminating this workflow.',
      // how long a killed worker keeps a task that it had taken (measured: recovery takes 10 s at the default of 10 s)
      workflowTaskTimeout: 5_000,
    }),
  );
}

/** gRPC status codes: DEADLINE_EXCEEDED, UNAVAILABLE */
const AWAY = [4, 14];

/** The server does not answer. The failure says nothing about its row, and the next row would wait as long. */
export const isServerAway = (error: unknown): boolean => isGrpcServiceError(error) && AWAY.includes(error.code);
