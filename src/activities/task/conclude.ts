import { rm } from 'node:fs/promises';
import { activityInfo, cancellationSignal } from '@temporalio/activity';
import { KennelFull, KennelUnavailable } from '../../adapters/kennel/kennel.ts';
import { worktreeOf } from '../../contracts/kennel.ts';
import type { Concluded } from '../../contracts/task.ts';
import type { ConcludedChanges, WorkspaceAnswer } from '../../contracts/workspace-ops.ts';
import { reportText } from '../../domain/tasks/report.ts';
import { cut, prefix } from '../../domain/text/storable.ts';
import type { TaskResult } from '../../store/kennel/tables.ts';
import { endTaskItems, lastSaid } from '../../store/kennel/task-log.ts';
import { taskOutboxId, tellOfTask } from '../../store/kennel/task-news.ts';
import { closeTaskQuestions } from '../../store/kennel/task-questions.ts';
import { endTask, findTask, isOver, type Task, waitingFor } from '../../store/kennel/tasks.ts';
import { usageOf } from '../../store/kennel/usage.ts';
import { isStoreAway } from '../failure.ts';
import type { KennelDeps } from './deps.ts';
import { requireHeld } from './held.ts';
import { forgetRun, gateFolder, runFolder } from './run/folder.ts';
import { AUTHOR, place, workspaceOf } from './workspace.ts';

const TESTS_MS = 5 * 60_000;
const TEST_OUTPUT = 20_000;

/** After this many attempts a task ends without what cannot be had: a task that never ends holds its workspace for ever. */
const ATTEMPTS = 3;

/**
 * Ends a task: its containers, the commit, what changed by git, the tests, the report. Every part is done once by its key, so a
 * second attempt goes on where the first one died.
 */
export const createConclude =
  (deps: KennelDeps) =>
  async (task: Task, { state, reason }: { taskId: string; state: Concluded['state']; reason: string }): Promise<Concluded> => {
    const { db, config, kennel, gate } = deps;
    // one whose harness never started must end also where no engine answers
    const began = task.step > 0;
    const gone = kennel.remove(task.id).catch((error) => {
      if (began) throw error;
    });
    // it is awaited further below, by then with an error that it may have had before
    gone.catch(() => {});
    await gate.close(task.id);
    // sockets of a gate whose process was killed
    await rm(gateFolder(config, task.id), { recursive: true, force: true }).catch(() => {});
    let ended = task;
    if (!isOver(task.state)) {
      const result = await resultOf();
      await requireStillHere();
      await closeTaskQuestions(db, task.id);
      await endTaskItems(db, task);
      ended = await endTask(db, task.id, { state, reason, result, outboxId: taskOutboxId(task.id, 'result') });
    }
    await gone;
    const result = ended.result!;
    const spent = await usageOf(db, task.id);
    const seconds = Math.round(((ended.ended_at ?? new Date()).getTime() - (ended.started_at ?? ended.created_at).getTime()) / 1000);
    const text = reportText({
      id: task.id,
      goal: task.goal,
      harness: task.harness,
      workspace: task.workspace,
      worktree: task.worktree,
      state: ended.state as Concluded['state'],
      reason: ended.reason ?? reason,
      seconds,
      spent,
      result,
    });
    const outboxId = await tellOfTask(db, task, 'result', text, 'result');
    if (!isOver(task.state)) {
      const { calls, tokens, microUsd } = spent;
      const { id, thread_id, turn_id, harness, workspace } = task;
      const files = result.changes?.filesChanged ?? result.changes?.files.length ?? 0;
      const usd = microUsd / 1_000_000;
      deps.log?.info({ task: id, thread: thread_id, turn: turn_id, harness, workspace, files, calls, tokens, usd, seconds }, `task ${ended.state}`);
    }
    // what a session would be resumed with is of no use any more; what cannot be removed now, the host tries again
    await forgetRun(runFolder(config, task.id)).catch(() => {});
    return {
      state: ended.state as Concluded['state'],
      outboxId,
      filesChanged: result.changes?.filesChanged ?? result.changes?.files.length ?? 0,
      waiting: await waitingFor(db, task),
    };

    async function requireStillHere(): Promise<void> {
      requireHeld(deps, (await findTask(db, task.id)) ?? task);
    }

    async function resultOf(): Promise<TaskResult> {
      const said = (await lastSaid(db, task.id)).trim();
      const workspace = workspaceOf(config, task);
      const leaveWorktree = () =>
        kennel.workspaceOp(workspace, { op: 'worktree', action: 'remove', key: task.id, author: AUTHOR }, { label: `${task.id} worktree` });
      // nothing can have changed
      if (!began) {
        if (task.worktree && task.started_at !== null) await leaveWorktree().catch(() => {});
        return { summary: reason, changes: null, tests: null, said };
      }
      // the task may have moved while its container ended: the other host commits then
      await requireStillHere();
      const concluded = await afterAll(
        () =>
          kennel.workspaceOp(
            workspace,
            { ...place(task), op: 'conclude', key: task.id, message: commitMessage(task), author: AUTHOR, keepOnBranchOnly: state !== 'completed' },
            // its container starts while the agent's is taken away, and looks at the files when nothing writes them any more
            { label: `${task.id} conclude`, after: gone, kept: task.id },
          ),
        (why): WorkspaceAnswer => ({ ok: false, output: `What it changed could not be looked at, and was not committed: ${why}` }),
      );
      if (!concluded.ok) return { summary: `${reason} ${concluded.output}`.trim(), changes: null, tests: null, said };
      const changes = concluded.data as unknown as ConcludedChanges;
      const argv = state === 'completed' ? changes.test : null;
      const tests =
        argv &&
        (await afterAll<TaskResult['tests']>(
          () => runTests(workspace, argv),
          () => null,
        ));
      // its branch stays
      if (task.worktree) await afterAll<unknown>(leaveWorktree, () => null);
      return { summary: reason, changes, tests, said };
    }

    async function runTests(workspace: string, argv: string[]): Promise<TaskResult['tests']> {
      const ran = await kennel.command({
        workspace,
        argv,
        ...(task.worktree && { cwd: worktreeOf(task.id) }),
        timeoutMs: TESTS_MS,
        maxOutput: TEST_OUTPUT,
        label: `${task.id} tests`,
        signal: cancellationSignal(),
      });
      const output = `${ran.stdout}${ran.stderr ? `\n${ran.stderr}` : ''}${ran.timedOut ? `\n[stopped after ${TESTS_MS / 60_000} minutes]` : ''}`.trim();
      // a runner that is not there says nothing about the code
      if (ran.code === 127) return null;
      return { command: argv.join(' '), ok: ran.code === 0, output };
    }
  };

/** What a part of the end gives, or what stands in its place when it has failed in every attempt. */
async function afterAll<T>(part: () => Promise<T>, otherwise: (why: string) => T): Promise<T> {
  try {
    return await part();
  } catch (error) {
    const passing = error instanceof KennelUnavailable || error instanceof KennelFull || isStoreAway(error) || cancellationSignal().aborted;
    if (passing || activityInfo().attempt < ATTEMPTS) throw error;
    return otherwise((error as Error).message);
  }
}

/** First line from the goal, as git wants it: short, one line. */
function commitMessage(task: Task): string {
  const line = task.goal.replace(/\s+/g, ' ').trim();
  const title = cut(line, 68);
  return `${title}\n\n${line.length > 68 ? `${prefix(task.goal.trim(), 2000)}\n\n` : ''}Fetch-Task: ${task.id}\nFetch-Agent: ${task.harness}`;
}
