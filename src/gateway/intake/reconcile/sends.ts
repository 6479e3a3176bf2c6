import { taskWorkflowId } from '../../../contracts/ids.ts';
import type { Db } from '../../../store/postgres/database.ts';
import type { ChatWithSends, QueuedSend } from '../../../store/routines/reconcile.ts';
import { findRun } from '../../../store/routines/runs.ts';
import { type IntakeDeps, signalConversation } from '../signal.ts';
import { type Held, type Holdings, isUnknownQuestion } from './holdings.ts';

/**
 * A queued message is held by the workflow that sends it: the conversation, a coding task, or the run of a routine. If
 * that workflow was ended or lost, the conversation gets the message. It sends one message after the other, and never
 * one that was already sent.
 */
export async function compareSends(deps: IntakeDeps, holdings: Holdings, chat: ChatWithSends): Promise<boolean> {
  const { sends } = chat;
  // a turn that still runs sends its own messages
  const ids = [...new Set(sends.flatMap((send) => (send.turn_id ? [send.id, send.turn_id] : [send.id])))];
  const conversation = await heldOf(holdings, chat.workflowId, ids);
  const missing = conversation.status === 'RUNNING' ? new Set(conversation.missing) : new Set(ids);
  let found = false;
  for (const send of sends) {
    if (
      !missing.has(send.id) ||
      (send.turn_id && !missing.has(send.turn_id)) ||
      (await holdsElsewhere(deps.db, holdings, send))
    )
      continue;
    await signalConversation(deps, {
      // a new id each time, because a conversation drops ids that it has seen
      inboxId: `${send.id}~${Date.now().toString(36)}`,
      arrival: { kind: 'reply', inboxId: send.id, outboxId: send.id },
      chatId: chat.chatId,
      channel: chat.channel,
      workflowId: chat.workflowId,
    });
    found = true;
  }
  return found;
}

/**
 * A release that does not know the query cannot say what it holds. Then the message is given to it: a message given
 * twice is sent once.
 */
const heldOf = (holdings: Holdings, workflowId: string, ids: string[]): Promise<Held> =>
  holdings.of(workflowId, ids).catch((error) => {
    if (isUnknownQuestion(error)) return { status: 'RUNNING', missing: ids };
    throw error;
  });

async function holdsElsewhere(db: Db, holdings: Holdings, send: QueuedSend): Promise<boolean> {
  // progress of a task goes through the conversation
  const taskId = send.kind === 'progress' ? undefined : (send.taskId ?? /^out_(tsk_[A-Za-z0-9]+)_/.exec(send.id)?.[1]);
  if (taskId) {
    const task = await heldOf(holdings, taskWorkflowId(taskId), [send.id]);
    return task.status === 'RUNNING' && !task.missing.includes(send.id);
  }
  const runId = /^out_(wfr_\w+)_result$/.exec(send.id)?.[1];
  const run = runId ? await findRun(db, runId) : undefined;
  // a run that still works sends its result at its end
  return run !== undefined && (await holdings.of(run.workflow_id, [])).status === 'RUNNING';
}
