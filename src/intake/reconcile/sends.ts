import { taskWorkflowId } from '../../contracts/ids.ts';
import type { ChatWithSends, QueuedSend } from '../../store/chats/reconcile.ts';
import type { Db } from '../../store/postgres/database.ts';
import { findRun } from '../../store/routines/runs.ts';
import { type IntakeDeps, signalConversation } from '../signal.ts';
import { type Held, type Holdings, isUnknownQuestion } from './holdings.ts';

/**
 * A queued message is held by the workflow that is to send it: the conversation, a coding task, the run of a routine. One that nobody holds,
 * because its workflow was ended or lost, is given to the conversation, which sends one after the other: one that is sent already is not sent again.
 */
export async function compareSends(deps: IntakeDeps, holdings: Holdings, chat: ChatWithSends): Promise<boolean> {
  const { sends } = chat;
  // a message of a turn that still runs comes from that turn
  const ids = [...new Set(sends.flatMap((send) => (send.turn_id ? [send.id, send.turn_id] : [send.id])))];
  const conversation = await heldOf(holdings, chat.workflowId, ids);
  const missing = conversation.status === 'RUNNING' ? new Set(conversation.missing) : new Set(ids);
  let found = false;
  for (const send of sends) {
    if (!missing.has(send.id) || (send.turn_id && !missing.has(send.turn_id)) || (await holdsElsewhere(deps.db, holdings, send))) continue;
    await signalConversation(deps, {
      // a name of its own each time: a conversation drops what it has seen
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

/** Code of a release that does not know the question cannot say that it holds a message: giving it one twice sends it once. */
const heldOf = (holdings: Holdings, workflowId: string, ids: string[]): Promise<Held> =>
  holdings.of(workflowId, ids).catch((error) => {
    if (isUnknownQuestion(error)) return { status: 'RUNNING', missing: ids };
    throw error;
  });

async function holdsElsewhere(db: Db, holdings: Holdings, send: QueuedSend): Promise<boolean> {
  // what a task tells meanwhile goes through the conversation
  const taskId = send.kind === 'progress' ? undefined : (send.taskId ?? /^out_(tsk_[A-Za-z0-9]+)_/.exec(send.id)?.[1]);
  if (taskId) {
    const task = await heldOf(holdings, taskWorkflowId(taskId), [send.id]);
    return task.status === 'RUNNING' && !task.missing.includes(send.id);
  }
  const runId = /^out_(wfr_\w+)_result$/.exec(send.id)?.[1];
  const run = runId ? await findRun(db, runId) : undefined;
  // a run that goes on sends its result at its end
  return run !== undefined && (await holdings.of(run.workflow_id, [])).status === 'RUNNING';
}
