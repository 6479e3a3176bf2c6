import {
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
  log,
  setDefaultSignalHandler,
  setHandler,
} from '@temporalio/workflow';
import type { Decision } from '../../contracts/decision.ts';
import {
  cancelUpdate,
  decidedSignal,
  holdsQuery,
  orderedSignal,
  pauseUpdate,
  resumeUpdate,
  viewQuery,
  workspaceFreeSignal,
} from '../../contracts/signals.ts';
import type { TaskState, TaskView } from '../../contracts/task.ts';
import { isCancelled, type TaskRun } from './task-run.ts';

type Order = 'cancel' | 'pause' | 'resume';

/**
 * Registers the signals, updates and queries of this task. Call it before the first await. An update returns when its
 * change is in effect.
 */
export function listen(run: TaskRun): void {
  const { orders, view, decisions, outgoing } = run;
  setHandler(defineSignal<[{ questionId: string; decision: Decision }]>(decidedSignal), ({ questionId, decision }) => {
    decisions[questionId] = decision;
  });
  setHandler(defineSignal<[Order]>(orderedSignal), (next) => {
    orders.spoken = true;
    give(run, next);
  });
  setHandler(defineSignal(workspaceFreeSignal), () => {
    run.mayBeFree = true;
  });
  setHandler(defineUpdate<TaskState, []>(cancelUpdate), async () => {
    give(run, 'cancel');
    await condition(() => run.over);
    return view.state;
  });
  setHandler(defineUpdate<TaskState, []>(pauseUpdate), async () => {
    give(run, 'pause');
    await condition(() => orders.held || run.over);
    return view.state;
  });
  setHandler(defineUpdate<TaskState, []>(resumeUpdate), async () => {
    give(run, 'resume');
    await condition(() => !orders.held || run.over);
    return view.state;
  });
  setHandler(defineQuery<TaskView>(viewQuery), () => view);
  setHandler(defineQuery<string[], [string[]]>(holdsQuery), (ids) =>
    ids.filter((id) => id === orders.order || outgoing.unsent.has(id) || decisions[id] !== undefined),
  );
  setDefaultSignalHandler((name) => log.warn('a signal that this version does not know was dropped', { name }));
}

/** Records an order, and interrupts what an order may interrupt. A cancellation is final. */
export function give(run: TaskRun, next: Order): void {
  if (run.over || isCancelled(run)) return;
  run.orders.order = next === 'resume' ? 'none' : next;
  run.orders.goOn = next === 'resume';
  if (next !== 'resume') run.orders.interruptible?.cancel();
}
