import { type Client, WorkflowNotFoundError } from '@temporalio/client';
import type { Config } from '../config.ts';
import type { Arrival, ConversationInput } from '../contracts/conversation.ts';
import { AGENT_QUEUE, type Channel, taskWorkflowId } from '../contracts/ids.ts';
import { arrivalSignal, CONVERSATION, decidedSignal, orderedSignal } from '../contracts/signals.ts';
import type { Db } from '../store/database.ts';
import { arrivalOf, markSignalled, unsignalled } from '../store/inbox.ts';
import { conversationDefaults } from './conversation-settings.ts';

interface Deps {
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
}

/** Tells the conversation about a stored row, starting it where it does not run. The workflow drops what it has seen, so doing this twice is harmless. */
export async function signalArrival(deps: Deps, row: ToSignal): Promise<void> {
  const { arrival } = row;
  if (arrival.kind === 'task') await signalTask(deps, arrival.taskId, orderedSignal, arrival.order);
  else if (arrival.kind === 'answer' && arrival.taskId)
    await signalTask(deps, arrival.taskId, decidedSignal, { questionId: arrival.questionId, decision: arrival.decision });
  else await signalConversation(deps, row);
  await markSignalled(deps.db, row.inboxId);
}

/** A task that is over hears nothing any more, and nothing is lost by that: what it asked is settled in the store. */
async function signalTask({ temporal }: Deps, taskId: string, signal: string, value: unknown): Promise<void> {
  await temporal
    .withDeadline(Date.now() + 10_000, () => temporal.workflow.getHandle(taskWorkflowId(taskId)).signal(signal, value))
    .catch((error) => {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    });
}

async function signalConversation({ temporal, config }: Deps, row: ToSignal): Promise<void> {
  const input: ConversationInput = { chatId: row.chatId, channel: row.channel, ...conversationDefaults(config) };
  // a call without a deadline may wait for ever for a server that is away; the sweeper tries again
  await temporal.withDeadline(Date.now() + 10_000, () =>
    temporal.workflow.signalWithStart(CONVERSATION, {
      workflowId: row.workflowId,
      taskQueue: AGENT_QUEUE,
      args: [input],
      signal: arrivalSignal,
      signalArgs: [row.arrival],
      staticSummary: `Conversation on ${row.channel}`,
      staticDetails:
        'Owns one chat for ever: takes its messages in order, runs turns, waits for answers. Stop a turn by writing "stop" in the chat, not by terminating this workflow.',
      // a worker killed with a task in its hands keeps it until this runs out (measured: recovery 10 s at the default of 10 s)
      workflowTaskTimeout: 5_000,
    }),
  );
}

/** Signals rows whose signal was lost by a crash. At most `limit` at a time, so that a burst is paced and new messages are not held up behind it. */
export async function resignal(deps: Deps, olderThanMs = 2000, limit = 50): Promise<number> {
  const ids = await unsignalled(deps.db, olderThanMs, limit);
  for (const id of ids) {
    const row = await arrivalOf(deps.db, id);
    if (!row || row.signalled_at) continue;
    const { arrival, chat_id, channel, workflow_id } = row;
    await signalArrival(deps, { inboxId: id, arrival: arrival as Arrival, chatId: chat_id, channel, workflowId: workflow_id });
  }
  return ids.length;
}
