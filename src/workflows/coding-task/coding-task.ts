import { CancellationScope, continueAsNew, isCancellation } from '@temporalio/workflow';
import type { TaskInput, TaskState } from '../../contracts/task.ts';
import { failureOf } from '../shared/failure-of.ts';
import { claimAndWork } from './claim.ts';
import { conclude } from './conclude.ts';
import { listen } from './handlers.ts';
import { send } from './messages.ts';
import { beginRun, CANCELLED, carriedBy, type End, type Renewal, show } from './task-run.ts';
import { work } from './work.ts';

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
