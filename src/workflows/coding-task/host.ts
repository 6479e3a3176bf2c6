import type { TaskActivities } from '../../contracts/task.ts';
import { MINUTE } from '../../domain/time.ts';
import { hostIsAway } from '../shared/failure-of.ts';
import { tell } from './messages.ts';
import { onHost, taskRecords } from './policies.ts';
import { show, type TaskRun } from './task-run.ts';

/** Longest time that one offer of work to an absent host lasts. Then the task looks for another host. */
const LONGEST_OFFER_MS = 15 * MINUTE;

/**
 * Runs an activity on the host. While no worker of the host takes it, the person is told once and the work is offered
 * again.
 */
export async function onItsHost<T>(run: TaskRun, activity: (host: TaskActivities) => Promise<T>): Promise<T> {
  const { taskId, workspace, limits } = run.input;
  for (let told = false, offerMs = limits.awayMs; ; ) {
    try {
      const result = await activity(run.host.activities);
      if (told) offer(run, run.host.name, limits.awayMs);
      return result;
    } catch (error) {
      if (!hostIsAway(error)) throw error;
      const { name } = run.host;
      if (!told)
        await tell(
          run,
          `away${run.view.step}`,
          `The agent in ${workspace} waits: the host "${name}" that it runs on does not answer. It goes on when the host is back.`,
        );
      told = true;
      show(run, run.view.state, `waits for the host ${name}, which does not answer`);
      const other = await taskRecords.move(taskId, name);
      if (!other) {
        // a host may be away for weeks, and each offer costs eight events
        offerMs = Math.min(offerMs * 2, LONGEST_OFFER_MS);
        offer(run, name, offerMs);
        continue;
      }
      offerMs = limits.awayMs;
      await tell(
        run,
        `moved${run.view.step}`,
        `The agent in ${workspace} goes on at the host "${other}": "${name}" has been gone for long.`,
      );
      offer(run, other, offerMs);
    }
  }
}

/** How long the next activity waits in the host's queue before the host counts as away. */
function offer(run: TaskRun, name: string, offerMs: number): void {
  run.host = { name, activities: onHost(name, offerMs) };
}
