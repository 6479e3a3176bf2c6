import { condition, patched } from '@temporalio/workflow';
import { HOUR } from '../../domain/time.ts';
import { give } from './handlers.ts';
import { taskRecords } from './policies.ts';
import { type End, isCancelled, isRenewable, type Renewal, TAKES_WEEKS, type TaskRun } from './task-run.ts';
import { work } from './work.ts';

/** How often to look for a free workspace when no signal says so. Runs of earlier releases use the shorter time. */
const CLAIM_AGAIN_MS = HOUR;
const CLAIM_AGAIN_EARLIER_MS = 20_000;

/** Waits for the workspace, then works. */
export async function claimAndWork(run: TaskRun): Promise<End | Renewal> {
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
