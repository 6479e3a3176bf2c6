import { cancellationSignal } from '@temporalio/activity';
import { KennelFull, KennelUnavailable } from '../../adapters/kennel/kennel.ts';
import { worktreeOf } from '../../contracts/kennel.ts';
import type { Task } from '../../store/kennel/tasks/tasks.ts';
import type { KennelDeps } from '../activity-deps.ts';
import { isStoreAway } from '../failure.ts';
import type { TestPlace } from './run-tests.ts';
import { workspaceOf, worktreeOption } from './task-workspace.ts';

/** Copies of the workspace of a task, in which its checks write what they like. */

/** Another attempt may go well. */
export const isPassing = (error: unknown): boolean =>
  error instanceof KennelUnavailable ||
  error instanceof KennelFull ||
  isStoreAway(error) ||
  cancellationSignal().aborted;

/** Does something with a copy of the workspace, given its test command; null when there can be none. */
export async function onCopy<T>(
  { kennel, config, log }: KennelDeps,
  task: Task,
  copy: { action: 'make' | 'copy'; now?: true },
  work: (test: string[] | null) => Promise<T>,
): Promise<T | null> {
  const folder = workspaceOf(config, task);
  const op = { ...worktreeOption(task), op: 'base', key: task.id } as const;
  try {
    const made = await kennel.workspaceOp(folder, { ...op, ...copy });
    if (made.ok) return await work(made.data?.test as string[] | null);
    log?.info({ task: task.id, why: made.output }, 'the checks of a task were not run on a copy');
    return null;
  } catch (error) {
    if (isPassing(error)) throw error;
    log?.warn({ task: task.id, error: (error as Error).message }, 'the checks of a task could not be run on a copy');
    return null;
  } finally {
    await kennel.workspaceOp(folder, { ...op, action: 'remove' }).catch(() => {});
  }
}

/** `base`: on the copy that was made for this task. */
export const placeOf = ({ config }: KennelDeps, task: Task, base: string | undefined): TestPlace => ({
  workspace: workspaceOf(config, task),
  ...(base !== undefined && { base }),
  ...(task.worktree && { cwd: worktreeOf(task.id) }),
  label: `${task.id} tests`,
});
