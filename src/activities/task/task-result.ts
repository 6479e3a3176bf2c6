import { join } from 'node:path';
import { activityInfo, cancellationSignal } from '@temporalio/activity';
import { KennelFull, KennelUnavailable } from '../../adapters/kennel/kennel.ts';
import { worktreeOf } from '../../contracts/kennel.ts';
import type { Concluded } from '../../contracts/task.ts';
import type { ConcludedChanges, WorkspaceAnswer } from '../../contracts/workspace-ops.ts';
import { signedOff } from '../../domain/chat/words/sign-off.ts';
import { hasNoTests, subjectIn } from '../../domain/tasks/report.ts';
import { inline } from '../../domain/text/foreign-text.ts';
import { prefix } from '../../domain/text/storable.ts';
import { MINUTE } from '../../domain/time.ts';
import { lastSaid } from '../../store/kennel/tasks/task-log.ts';
import { findTask, type Task } from '../../store/kennel/tasks/tasks.ts';
import { signatureOf } from '../../store/kennel/workspaces/signatures.ts';
import type { TaskResult } from '../../store/schema/tables/kennel.ts';
import type { KennelDeps } from '../activity-deps.ts';
import { isStoreAway } from '../failure.ts';
import { requireHeld } from '../lease.ts';
import { runFolder } from './run/folder.ts';
import { AUTHOR, workspaceOf, worktreeOption } from './task-workspace.ts';

const TESTS_MS = 5 * MINUTE;
const TEST_OUTPUT = 20_000;

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
    const problem = `Its changes could not be read, and were not committed: ${inline(concluded.output, 500)}`;
    const todo = 'What it wrote is still in the folder. Look at it there, and commit what you want to keep.';
    return { summary: `${reason} ${problem}`, problem: `${problem}\n${todo}`, changes: null, tests: null, said };
  }
  const changes = concluded.data as unknown as ConcludedChanges;
  // there is no network: what the agent fetched has to do
  await afterAll(
    () => kennel.keepFetched(workspace, join(runFolder(config, task.id), 'home')),
    () => {},
  );
  const tested = state === 'completed' ? await testsOf(deps, task, changes) : { tests: null };
  // its branch stays
  if (task.worktree) await afterAll<unknown>(leaveWorktree, () => null);
  return { summary: reason, changes, said, ...tested };
}

type Tested = Pick<TaskResult, 'tests' | 'untested'>;

async function testsOf(deps: KennelDeps, task: Task, { test, files }: ConcludedChanges): Promise<Tested> {
  if (files.length === 0) return { tests: null };
  if (!test) return { tests: null, untested: 'the files of the project name none' };
  return await afterAll<Tested>(
    () => runTests(deps, task, test),
    () => ({ tests: null, untested: 'their container could not be started' }),
  );
}

async function runTests({ config, kennel }: KennelDeps, task: Task, argv: string[]): Promise<Tested> {
  const ran = await kennel.command({
    workspace: workspaceOf(config, task),
    environment: true,
    argv,
    ...(task.worktree && { cwd: worktreeOf(task.id) }),
    timeoutMs: TESTS_MS,
    maxOutput: TEST_OUTPUT,
    label: `${task.id} tests`,
    signal: cancellationSignal(),
  });
  const output =
    `${ran.stdout}${ran.stderr ? `\n${ran.stderr}` : ''}${ran.timedOut ? `\n[stopped after ${TESTS_MS / MINUTE} minutes]` : ''}`.trim();
  const command = argv.join(' ');
  // a missing test runner says nothing about the code
  if (ran.code === 127) return { tests: null, untested: `a program that ${command} needs is not there` };
  if (hasNoTests(output)) return { tests: null, untested: `${command} found none` };
  return { tests: { command, ok: ran.code === 0, output } };
}

/** The result of one part of the end, or its replacement when every attempt failed. */
async function afterAll<T>(part: () => Promise<T>, otherwise: (why: string) => T | Promise<T>): Promise<T> {
  try {
    return await part();
  } catch (error) {
    const passing =
      error instanceof KennelUnavailable ||
      error instanceof KennelFull ||
      isStoreAway(error) ||
      cancellationSignal().aborted;
    if (passing || activityInfo().attempt < ATTEMPTS) throw error;
    return await otherwise((error as Error).message);
  }
}

/** Without a summary of the agent the first line is empty: the program that commits knows what changed. */
const commitMessage = ({ id, goal, harness }: Task, subject: string | null): string =>
  `${subject ?? ''}\n\n${prefix(goal.trim(), 2000)}\n\nFetch-Task: ${id}\nFetch-Agent: ${harness}`;
