import type { Channel } from '../../../contracts/ids.ts';
import type { Source } from '../../../contracts/taint.ts';
import type { Db } from '../../postgres/database.ts';
import { recordNotice } from '../../turns/complete-turn.ts';
import type { Task } from './tasks.ts';

/** The agent of a task as a source of text. */
export const sourceOfTask = ({ harness, workspace }: Task): Source => ({
  kind: 'report',
  label: `${harness} in ${workspace}`,
});

/** Outbox ids of a task's messages. They are derived, so that a repeated attempt sends nothing twice. */
export const taskOutboxId = (taskId: string, what: string): string => `out_${taskId}_${what}`;

/**
 * A message about a task, once for each task and key. A notice is our own text, unless it is `quoting` files of the
 * workspace. A result has the agent's words, file names and test output. Only a failure is told in quiet hours.
 */
export async function tellOfTask(
  db: Db,
  task: Task,
  key: string,
  text: string,
  kind: 'notice' | 'quoting' | 'result' = 'notice',
): Promise<string> {
  const outboxId = taskOutboxId(task.id, key);
  const sources = kind === 'notice' ? {} : { sources: [sourceOfTask(task)] };
  await recordNotice(db, {
    chatId: task.chat_id,
    outboxId,
    text,
    kind: kind === 'result' ? kind : 'notice',
    ...sources,
    ...(task.state !== 'failed' && { unasked: 'task' as const }),
  });
  return outboxId;
}

/** The channel and the workflow of a task's chat, which sends what is told of it. */
export const whereToTell = (db: Db, { chat_id: id }: Task): Promise<{ channel: Channel; workflowId: string }> =>
  db
    .selectFrom('chats')
    .select(['channel', 'workflow_id as workflowId'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
