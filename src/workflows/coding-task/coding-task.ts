import {
  CancellationScope,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  defineUpdate,
  getExternalWorkflowHandle,
  isCancellation,
  log,
  patched,
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
import type { TaskInput, TaskState, TaskView } from '../../contracts/task.ts';
import { HOUR } from '../../domain/time.ts';
import { failureOf } from '../shared/failure-of.ts';
import { onItsHost } from './host.ts';
import { send } from './messages.ts';
import { taskRecords } from './policies.ts';
import {
  beginRun,
  CANCELLED,
  carriedBy,
  type End,
  isCancelled,
  isRenewable,
  type Renewal,
  show,
  TAKES_WEEKS,
  type TaskRun,
} from './task-run.ts';
import { work } from './work.ts';

/** How often to look for a free workspace when no signal says so. Runs of earlier releases use the shorter time. */
const CLAIM_AGAIN_MS = HOUR;

const CLAIM_AGAIN_EARLIER_MS = 20_000;

/**
 * One coding task: waits for its workspace, starts the agent in a container, follows its log, carries questions to the
 * person and answers back, and reports what git shows. After any crash the next attempt of an activity finds the
 * container.
 */
export async function codingTask(input: TaskInput): Promise<TaskState> {
  const { carried } = input;
  const run = beginRun(input);
  listen(run);
  for (const each of carried?.unsent ?? []) send(run, each.summary, each.outboxId);
  let end: End | Renewal;
  try {
    if (carried?.work) end = await work(run, carried.work);
    else {
      show(run, 'queued', 'waits for its workspace');
      end = input.ended ?? (await claimAndWork(run));
    }
  } catch (error) {
    // a cancellation from outside (the Web UI) counts as an order; any other failure is reported as it is
    end = isCancellation(error) ? CANCELLED : { state: 'failed', reason: failureOf(error).message };
  }
  if ('renew' in end) return await continueAsNew<typeof codingTask>({ ...input, carried: carriedBy(run, end.renew) });
  const concluding = end;
  return await CancellationScope.nonCancellable(() => conclude(run, concluding));
}

type Order = 'cancel' | 'pause' | 'resume';

/**
 * Registers the signals, updates and queries of this task. Call it before the first await. An update returns when its
 * change is in effect.
 */
function listen(run: TaskRun): void {
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
function give(run: TaskRun, next: Order): void {
  if (run.over || isCancelled(run)) return;
  run.orders.order = next === 'resume' ? 'none' : next;
  run.orders.goOn = next === 'resume';
  if (next !== 'resume') run.orders.interruptible?.cancel();
}

/** Waits for the workspace, then works. */
async function claimAndWork(run: TaskRun): Promise<End | Renewal> {
  const { taskId, firstStep } = run.input;
  const neverBegan: End = {
    state: 'cancelled',
    reason: firstStep === undefined ? 'It was cancelled before it began.' : 'It was cancelled.',
  };
  for (;;) {
    if (isCancelled(run)) return neverBegan;
    run.mayBeFree = false;
    const claimed = await taskRecords.claimWorkspace(taskId);
    // the order came before there was a workflow to signal
    if (claimed === 'cancel') return neverBegan;
    if (claimed === 'pause') {
      run.orders.spoken = true;
      give(run, 'pause');
    }
    if (claimed) return await work(run);
    if (isRenewable(run)) return { renew: null };
    // a task that ends signals the waiting ones; this look is for a lost signal
    const again = patched(TAKES_WEEKS) ? CLAIM_AGAIN_MS : CLAIM_AGAIN_EARLIER_MS;
    await condition(() => run.mayBeFree || isCancelled(run), again, { summary: 'waiting for the workspace' });
  }
}

/** Ends the container, has the changes committed, reports, and wakes the tasks that wait for the workspace. */
async function conclude(run: TaskRun, { state, reason, gone }: End): Promise<TaskState> {
  const { taskId } = run.input;
  const { step } = run.view;
  show(run, run.view.state, 'ends the container, commits, reports');
  // a task that never began has no container, and must end even when there is no engine
  if (step > 0 && !gone) await onItsHost(run, (host) => host.endStep({ taskId, step }));
  const concluded = await onItsHost(run, (host) => host.conclude({ taskId, state, reason }));
  run.over = true;
  show(run, concluded.state, reason);
  for (const waiting of concluded.waiting)
    await getExternalWorkflowHandle(waiting)
      .signal(workspaceFreeSignal)
      .catch(() => {});
  send(run, 'send report', concluded.outboxId);
  await run.outgoing.sending;
  return concluded.state;
}
