import type { RequestKey } from '../../../store/chats/request-keys.ts';
import { findTask, isOver, liveTaskOfThread, markOrdered } from '../../../store/kennel/tasks/tasks.ts';
import type { Tx } from '../../../store/postgres/database.ts';
import type { BackgroundTask, TaskRow } from '../../../store/routines/background-tasks.ts';
import { activeTurn } from '../../../store/turns/turns.ts';
import { IntakeError } from '../intake-error.ts';
import { once } from '../once.ts';
import type { IntakeDeps } from '../signal.ts';
import { addStop } from '../stop-and-steer.ts';
import { type Automations, createAutomations } from './automations.ts';
import { type BackgroundRequest, startBackgroundTask } from './start-task.ts';

/**
 * Orders a task to end: its coding task, or the turn that it runs as, also while that waits for an answer. What is over
 * stays as it is. An order is a row like a message, so a crash loses none.
 */
async function cancelTask(deps: IntakeDeps, task: TaskRow, key: RequestKey): Promise<void> {
  await once(deps, { threadId: task.thread_id, id: key, body: '' }, async (tx, { inboxId }) => {
    const coding = await codingTask(tx.now, task);
    if (coding && !isOver(coding.state)) {
      await markOrdered(tx.now, coding.id, 'cancel');
      return { arrival: { kind: 'task', inboxId, taskId: coding.id, order: 'cancel' }, turnId: null };
    }
    // another turn of its thread is not the task's
    const active = await activeTurn(tx.now, task.thread_id);
    if (active?.id !== task.turn_id) throw new IntakeError('conflict', OVER);
    return { arrival: addStop(tx, { turnId: active.id, inboxId }), turnId: active.id };
  }).catch((error) => {
    if (!(error instanceof IntakeError && error.message === OVER)) throw error;
  });
}

const OVER = 'The task is over.';

/** Looked up under the lock of the thread, because the turn of a background task may just have started it. */
const codingTask = (tx: Tx, { coding_task, coding, thread_id }: TaskRow) =>
  coding_task !== null ? findTask(tx, coding_task) : coding ? liveTaskOfThread(tx, thread_id) : undefined;

/** Work that nobody waits for: tasks, and what starts them on a schedule. */
export interface Background {
  startTask(request: BackgroundRequest): Promise<BackgroundTask>;
  cancelTask(task: TaskRow, key: RequestKey): Promise<void>;
  automations: Automations;
}

export const createBackground = (deps: IntakeDeps & { secret: string }): Background => ({
  startTask: (request) => startBackgroundTask(deps, request),
  cancelTask: (task, key) => cancelTask(deps, task, key),
  automations: createAutomations(deps),
});
