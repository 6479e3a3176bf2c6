import type { TaskActivities } from '../../contracts/task.ts';
import { findTask, isOver, type Task } from '../../store/kennel/tasks/tasks.ts';
import type { KennelDeps } from '../activity-deps.ts';
import { fail } from '../failure.ts';
import { beating } from '../heartbeat.ts';
import { requireHeld } from '../lease.ts';
import { beginStep } from './begin-step.ts';
import { conclude } from './conclude.ts';
import { createFollow } from './follow.ts';
import { prepareTask } from './prepare-task.ts';
import { passOn } from './prompt-of-run.ts';
import { endStep } from './run/end-step.ts';

export function createTaskActivities(deps: KennelDeps): TaskActivities {
  /** Runs for a task that belongs to this host. `ends`: also for a task that is over. */
  const ofTask = <I extends { taskId: string }, O>(run: (task: Task, input: I) => Promise<O>, ends = false) =>
    beating(async (input: I): Promise<O> => {
      const task = await findTask(deps.db, input.taskId);
      if (!task) throw fail('NotFound', `Task ${input.taskId} is not in the database.`);
      // its workflow was reset to an earlier time: nothing is started again
      if (!ends && isOver(task.state)) throw fail('NotFound', `Task ${input.taskId} is over.`);
      requireHeld(deps, task);
      return await run(task, input);
    });
  return {
    prepareTask: ofTask((task) => prepareTask(deps, task)),
    beginStep: ofTask((task, input) => beginStep(deps, task, input)),
    follow: createFollow(deps),
    passOn: ofTask((task, { step, questionId }) => passOn(deps, task, step, questionId)),
    endStep: ofTask((task, { step, kills }) => endStep(deps, task, step, kills), true),
    setPaused: ofTask((task, { step, paused }) => deps.kennel.setPaused(task.id, step, paused)),
    conclude: ofTask((task, input) => conclude(deps, task, input), true),
  };
}
