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
 * workspace. A result has the agent's words, file names and test output; where these are the chat's own, it has no source. Only a failure is told in quiet hours.
 */
export async function tellOfTask(
  db: Db,
  task: Task,
  key: string,
  text: string,
  kind: 'notice' | 'quoting' | 'result' = 'notice',
): Promise<string> {
  const outboxId = taskOutboxId(task.id, key);
  const own = kind === 'notice' || (kind === 'result' && task.result?.own);
  const sources = own ? {} : { sources: [sourceOfTask(task)] };
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
