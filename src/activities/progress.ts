import type { Arrival } from '../contracts/conversation.ts';
import { stepsInWords } from '../domain/chat/words/plan-words.ts';
import { MINUTE } from '../domain/time.ts';
import { signalArrival } from '../gateway/intake/signal.ts';
import { type ProgressReport, recordProgress } from '../store/chats/messages/outbox.ts';
import { sayTo } from '../store/chats/preferences.ts';
import { latestSteps } from '../store/kennel/tasks/task-log.ts';
import { setTaskNews, type Task } from '../store/kennel/tasks/tasks.ts';
import { waitedForPeople } from '../store/turns/questions/questions.ts';
import type { ActivityDeps, KennelDeps } from './activity-deps.ts';

type ProgressDeps = Pick<ActivityDeps, 'db' | 'temporal' | 'config'>;
/** Gets what is being done, or null when nothing new is known. */
type Progress = (doing: string | null) => Promise<void>;

/**
 * Tells a chat what a task or a turn does, at most one message per interval. Screens follow the items; a phone gets a
 * message that is edited, or another one. A progress message that a crash loses does not matter: the next one says
 * more. `firstMs`: when the first one may be sent. Never throws for a server that is away.
 */
export function createProgress(
  { db, temporal, config }: ProgressDeps,
  reportOf: (doing: string) => ProgressReport | Promise<ProgressReport>,
  firstMs?: number,
): Progress {
  const everyMs = () => config.FETCH_PROGRESS_SECONDS * 1000;
  let saidAt = Date.now();
  let said = false;
  const isDue = () => Date.now() >= saidAt + (said ? everyMs() : (firstMs ?? everyMs()));
  let pending: string | null = null;
  return async (doing) => {
    pending = doing ?? pending;
    if (pending === null || everyMs() === 0 || !isDue()) return;
    saidAt = Date.now();
    said = true;
    const what = pending;
    pending = null;
    const report = await reportOf(what);
    const row = await recordProgress(db, report);
    if (!row) return;
    const arrival: Arrival = { kind: 'reply', inboxId: row.outboxId, outboxId: row.outboxId };
    await signalArrival(
      { db, temporal, config },
      { inboxId: row.outboxId, arrival, chatId: report.chatId, channel: row.channel, workflowId: row.workflowId },
    ).catch(() => {});
  };
}

/** What a task does: its agent's own list of steps where it keeps one, or the latest thing that it did. */
export const taskProgress = (db: ActivityDeps['db'], task: Task) => async (doing: string) => {
  const waited = await waitedForPeople(db, { taskId: task.id });
  const minutes = Math.floor((Date.now() - (task.started_at ?? task.created_at).getTime() - waited) / MINUTE);
  const steps = stepsInWords((await latestSteps(db, task.id)) ?? []);
  const say = await sayTo(db, task.chat_id);
  const { workspace } = task;
  const begun =
    minutes > 0 ? say('progress.minutes', { workspace, count: minutes }) : say('progress.begun', { workspace });
  return {
    chatId: task.chat_id,
    threadId: task.thread_id,
    of: task.id,
    text: `${begun}${steps ? `\n${steps}` : ` ${doing}`}`,
  };
};

/** Tells the person and operators how far the build of an image is. */
export function tellProgress(deps: KennelDeps, task: Task): (text: string) => void {
  const progress = createProgress(deps, taskProgress(deps.db, task), 0);
  return (text) => void Promise.all([setTaskNews(deps.db, task.id, text), progress(text)]).catch(() => {});
}
