import { capabilitiesOf } from '../../contracts/channels.ts';
import type { Channel } from '../../contracts/ids.ts';
import type { Source } from '../../contracts/taint.ts';
import type { Db } from '../postgres/database.ts';
import { recordNotice } from '../turns/complete-turn.ts';
import type { Task } from './tasks.ts';

/** The agent of a task as a source of text. */
export const sourceOfTask = ({ harness, workspace }: Task): Source => ({ kind: 'report', label: `${harness} in ${workspace}` });

/** Outbox ids of a task's messages. They are derived, so that a repeated attempt sends nothing twice. */
export const taskOutboxId = (taskId: string, what: string): string => `out_${taskId}_${what}`;

/** A message about a task, once for each task and key. */
export async function tellOfTask(db: Db, task: Task, key: string, text: string, kind: 'notice' | 'result' = 'notice'): Promise<string> {
  const outboxId = taskOutboxId(task.id, key);
  // a notice is our own text; a result has the agent's words, file names and test output
  await recordNotice(db, { chatId: task.chat_id, outboxId, text, kind, ...(kind === 'result' && { sources: [sourceOfTask(task)] }) });
  return outboxId;
}

/** A progress report for a channel without our screen; null when screens already show everything. */
export async function recordProgress(db: Db, task: Task, doing: string): Promise<{ outboxId: string; channel: Channel; workflowId: string } | null> {
  const chat = await db.selectFrom('chats').select(['channel', 'workflow_id']).where('id', '=', task.chat_id).executeTakeFirst();
  if (!chat || capabilitiesOf(chat.channel).screen) return null;
  const outboxId = taskOutboxId(task.id, `progress_${Date.now().toString(36)}`);
  const minutes = Math.floor((Date.now() - (task.started_at ?? task.created_at).getTime()) / 60_000);
  await db
    .insertInto('outbox')
    // reports of one task share its id, so that each replaces the one before
    .values({
      id: outboxId,
      chat_id: task.chat_id,
      thread_id: task.thread_id,
      turn_id: task.id,
      kind: 'progress',
      body: `Task ${task.id} (${task.harness} in ${task.workspace}), ${minutes} min: ${doing}`,
    })
    .execute();
  return { outboxId, channel: chat.channel, workflowId: chat.workflow_id };
}
