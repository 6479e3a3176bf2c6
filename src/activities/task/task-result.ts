import { join } from 'node:path';
import { activityInfo } from '@temporalio/activity';
import { runFolder } from '../../adapters/kennel/run-folders.ts';
import type { Concluded } from '../../contracts/task.ts';
import type { ConcludedChanges, WorkspaceAnswer } from '../../contracts/workspace-ops.ts';
import { signedOff } from '../../domain/chat/words/sign-off.ts';
import { subjectIn } from '../../domain/tasks/report.ts';
import { inline } from '../../domain/text/foreign-text.ts';
import { prefix } from '../../domain/text/storable.ts';
import { english } from '../../domain/texts/say.ts';
import { lastSaid } from '../../store/kennel/tasks/task-log.ts';
import { findTask, type Task } from '../../store/kennel/tasks/tasks.ts';
import { signatureOf } from '../../store/kennel/workspaces/signatures.ts';
import type { TaskResult } from '../../store/schema/tables/kennel.ts';
import type { KennelDeps } from '../activity-deps.ts';
import { requireHeld } from '../lease.ts';
import { isPassing } from './on-copy.ts';
import { picturesOf } from './pictures.ts';
import { type Tested, testsOf } from './task-tests.ts';
import { AUTHOR, workspaceOf, worktreeOption } from './task-workspace.ts';

/**
 * After this many attempts a task ends without the part that failed: a task that never ends holds its workspace for
 * ever.
 */
const ATTEMPTS = 3;

/** If the task moved to another host while it ended, that host continues. */
export async function requireStillHere(deps: KennelDeps, task: Task): Promise<void> {
  requireHeld(deps, (await findTask(deps.db, task.id)) ?? task);
}

/**
 * The commit of a task's changes, and the result of the project's tests. `gone`: resolves when the container is
 * removed.
 */
export async function resultOf(
  deps: KennelDeps,
  task: Task,
  end: { state: Concluded['state']; reason: string; gone: Promise<unknown> },
): Promise<TaskResult> {
  const { db, config, kennel } = deps;
  const { state, reason, gone } = end;
  const { said, subject } = subjectIn((await lastSaid(db, task.id)).trim());
  const workspace = workspaceOf(config, task);
  const leaveWorktree = () =>
    kennel.workspaceOp(workspace, { op: 'worktree', action: 'remove', key: task.id, author: AUTHOR });
  // the agent never began, or could only read, so nothing changed
  if (task.step === 0 || task.planning) {
    if (task.worktree && task.started_at !== null) await leaveWorktree().catch(() => {});
    return { summary: reason, changes: null, tests: null, said: task.plan ? '' : said };
  }
  await requireStillHere(deps, task);
  const by = await signatureOf(db, task.chat_id);
  const message = signedOff(commitMessage(task, subject), by);
  const conclude = (uncommitted?: string) =>
    kennel.workspaceOp(
      workspace,
      {
        ...worktreeOption(task),
        op: 'conclude',
        key: task.id,
        message,
        author: by ?? AUTHOR,
        keepOnBranchOnly: state !== 'completed',
        ...(uncommitted !== undefined && { uncommitted }),
      },
      // this container starts while the agent's is removed, and looks at the files when nothing writes them any more
      { after: gone },
    );
  const concluded = await afterAll(conclude, async (why): Promise<WorkspaceAnswer> => {
    deps.log?.error({ task: task.id, error: why }, 'the changes of a task could not be committed');
    return await conclude(why).catch(() => ({ ok: false, output: why }));
  });
  if (!concluded.ok) {
    const problem = english('report.notRead', { why: inline(inWords(concluded.output), 500) });
    return {
      summary: `${reason} ${problem}`,
      problem: `${problem}\n${english('report.leftThere')}`,
      changes: null,
      tests: null,
      said,
    };
  }
  const changes = concluded.data as unknown as ConcludedChanges;
  // there is no network: what the agent fetched has to do
  await afterAll(
    () => kennel.keepFetched(workspace, join(runFolder(config, task.id), 'home')),
    () => {},
  );
  const tested =
    state === 'completed'
      ? await afterAll<Tested>(
          () => testsOf(deps, task, changes),
          () => ({ tests: null, untested: english('untested.container') }),
        )
      : { tests: null };
  const pictures = state === 'completed' ? await picturesOf(deps, task, changes) : [];
  // its branch stays
  if (task.worktree) await afterAll<unknown>(leaveWorktree, () => null);
  return { summary: reason, changes, said, ...tested, ...(pictures.length > 0 && { pictures }) };
}

/** The result of one part of the end, or its replacement when every attempt failed. */
async function afterAll<T>(part: () => Promise<T>, otherwise: (why: string) => T | Promise<T>): Promise<T> {
  try {
    return await part();
  } catch (error) {
    if (isPassing(error) || activityInfo().attempt < ATTEMPTS) throw error;
    return await otherwise((error as Error).message);
  }
}

/** Without a summary of the agent the first line is empty: the program that commits knows what changed. */
const commitMessage = ({ id, goal, harness }: Task, subject: string | null): string =>
  `${subject ?? ''}\n\n${prefix(goal.trim(), 2000)}\n\nFetch-Task: ${id}\nFetch-Agent: ${harness}`;

/** A failure of the file system without the path, which is nothing for a message. */
const inWords = (problem: string): string =>
  /^ENOENT\b/.test(problem)
    ? 'its folder is not there any more'
    : problem.replace(/^(E[A-Z]+: [^,]{1,80}), .*$/s, '$1');
