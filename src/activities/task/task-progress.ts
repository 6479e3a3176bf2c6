import type { Arrival } from '../../contracts/conversation.ts';
import { signalArrival } from '../../intake/signal.ts';
import { recordProgress } from '../../store/kennel/task-news.ts';
import type { Task } from '../../store/kennel/tasks.ts';
import type { KennelDeps } from '../activity-deps.ts';

/**
 * Tells the chat what a task does, at most one message per interval. Screens follow the items; a phone gets a message that is edited, or another one. A
 * progress message that a crash loses does not matter: the next one says more.
 */
export function createTaskProgress({ db, temporal, config }: KennelDeps, task: Task): (doing: string | null) => Promise<void> {
  const everyMs = config.FETCH_PROGRESS_SECONDS * 1000;
  let lastAt = Date.now();
  let pending: string | null = null;
  return async (doing) => {
    pending = doing ?? pending;
    if (pending === null || everyMs === 0 || Date.now() - lastAt < everyMs) return;
    lastAt = Date.now();
    const row = await recordProgress(db, task, pending);
    pending = null;
    if (!row) return;
    const arrival: Arrival = { kind: 'reply', inboxId: row.outboxId, outboxId: row.outboxId };
    await signalArrival(
      { db, temporal, config },
      { inboxId: row.outboxId, arrival, chatId: task.chat_id, channel: row.channel, workflowId: row.workflowId },
    ).catch(() => {});
  };
}
