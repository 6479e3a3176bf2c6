import { ActivityFailure, CancellationScope, condition, isCancellation } from '@temporalio/workflow';
import type { TaskActivities } from '../../contracts/task.ts';
import { onItsHost } from './host.ts';
import { enter, tell } from './messages.ts';
import { isCancelled, isPaused, type TaskRun } from './task-run.ts';

type OnHost<T> = (host: TaskActivities) => Promise<T>;

/**
 * Completes work that may take long (an image is built, a slot becomes free), through any pauses; false when the task
 * is cancelled. `step`: number of the run whose container a pause freezes.
 */
export async function insist(run: TaskRun, step: number | null, activity: OnHost<unknown>): Promise<boolean> {
  for (;;) {
    if (!(await unpaused(run, step))) return false;
    if ((await unlessOrdered(run, () => onItsHost(run, activity))) !== 'ordered') return true;
  }
}

/** Runs something that an order interrupts; returns 'ordered' when one did. */
export async function unlessOrdered<T>(run: TaskRun, work: () => Promise<T>): Promise<T | 'ordered'> {
  const { orders } = run;
  if (orders.order !== 'none') return 'ordered';
  const scope = new CancellationScope();
  orders.interruptible = scope;
  try {
    return await scope.run(work);
  } catch (error) {
    // this includes the failure of its last attempt (the engine was away): the order is why it was not retried
    if (scope.consideredCancelled && (isCancellation(error) || error instanceof ActivityFailure)) return 'ordered';
    throw error;
  } finally {
    orders.interruptible = null;
  }
}

/** Waits while the task is paused; false when it is cancelled. */
export async function unpaused(run: TaskRun, step: number | null): Promise<boolean> {
  const { orders } = run;
  const { taskId, workspace } = run.input;
  if (isPaused(run)) {
    if (step !== null) await onItsHost(run, (host) => host.setPaused({ taskId, step, paused: true }));
    await enter(run, 'paused', 'is paused');
    orders.held = true;
    orders.pauses += 1;
    if (orders.spoken)
      await tell(run, `paused${orders.pauses}`, `The agent in ${workspace} is paused. Say "resume" and it goes on.`);
    orders.spoken = false;
    await condition(() => !isPaused(run));
    orders.held = false;
    if (orders.spoken && orders.order === 'none')
      await tell(run, `resumed${orders.pauses}`, `The agent in ${workspace} goes on.`);
    orders.spoken = false;
    if (orders.order === 'none') {
      if (step !== null) await onItsHost(run, (host) => host.setPaused({ taskId, step, paused: false }));
      await enter(run, 'running', 'goes on after the pause');
    }
  }
  return !isCancelled(run);
}
