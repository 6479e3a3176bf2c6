import { type Client, isGrpcServiceError, WorkflowNotFoundError } from '@temporalio/client';
import type { Config } from '../config.ts';
import type { Arrival } from '../contracts/conversation.ts';
import { AGENT_QUEUE, type Channel, taskWorkflowId } from '../contracts/ids.ts';
import { arrivalSignal, CONVERSATION, decidedSignal, orderedSignal } from '../contracts/signals.ts';
import { markSignalled } from '../store/chats/inbox.ts';
import type { Db } from '../store/postgres/database.ts';
import { conversationInput } from './workflow-inputs.ts';

/** What intake works with. */
export interface IntakeDeps {
  db: Db;
  temporal: Client;
  config: Config;
}

/** What a signal needs to know of a stored row. */
export interface ToSignal {
  inboxId: string;
  arrival: Arrival;
  chatId: string;
  channel: Channel;
  workflowId: string;
  /** how often its signal was lost with a Temporal server */
  resignalled?: number;
}

/** The id that a conversation knows a row by. One that was lost gets another: a conversation drops what it has seen, also what it has lost since. */
export const signalId = (row: { inboxId: string; resignalled?: number }): string => (row.resignalled ? `${row.inboxId}~${row.resignalled}` : row.inboxId);

/** Tells the conversation about a stored row, starting it where it does not run. The workflow drops what it has seen, so doing this twice is harmless. */
export async function signalArrival(deps: IntakeDeps, row: ToSignal): Promise<void> {
  const { arrival } = row;
  if (arrival.kind === 'task') await signalTask(deps, arrival.taskId, orderedSignal, arrival.order);
  else if (arrival.kind === 'answer' && arrival.taskId)
    await signalTask(deps, arrival.taskId, decidedSignal, { questionId: arrival.questionId, decision: arrival.decision });
  else await signalConversation(deps, row);
  await markSignalled(deps.db, row.inboxId);
}

/** A task that has no workflow hears nothing, and nothing is lost by that: what was answered and ordered is in the store, where a workflow that begins looks. */
export async function signalTask({ temporal }: Pick<IntakeDeps, 'temporal'>, taskId: string, signal: string, value: unknown): Promise<void> {
  await temporal
    .withDeadline(Date.now() + 10_000, () => temporal.workflow.getHandle(taskWorkflowId(taskId)).signal(signal, value))
    .catch((error) => {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    });
}

export async function signalConversation({ temporal, config }: IntakeDeps, row: ToSignal): Promise<void> {
  // a call without a deadline may wait for ever for a server that is away; the sweeper tries again
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
      // a worker killed with a task in its hands keeps it until this runs out (measured: recovery 10 s at the default of 10 s)
      workflowTaskTimeout: 5_000,
    }),
  );
}

/** gRPC status codes: DEADLINE_EXCEEDED, UNAVAILABLE */
const AWAY = [4, 14];

/** The server does not answer: what failed says nothing about its row, and the next row would wait as long. */
export const isServerAway = (error: unknown): boolean => isGrpcServiceError(error) && AWAY.includes(error.code);
