import { cancellationSignal } from '@temporalio/activity';
import { KennelFull, KennelUnavailable } from '../../adapters/kennel/kennel.ts';
import { worktreeOf } from '../../contracts/kennel.ts';
import type { BaseLook, ConcludedChanges } from '../../contracts/workspace-ops.ts';
import { readableOutput, readTests, withNames } from '../../domain/tasks/checks/test-results.ts';
import { type TestRun, testBudget, verdictOf } from '../../domain/tasks/checks/verdict.ts';
import { hasNoTests } from '../../domain/tasks/report.ts';
import { suffix } from '../../domain/text/storable.ts';
import { MINUTE } from '../../domain/time.ts';
import type { Task } from '../../store/kennel/tasks/tasks.ts';
import { keepTestRun, type TestedState, testRunOf } from '../../store/kennel/workspaces/test-runs.ts';
import type { TaskResult } from '../../store/schema/tables/kennel.ts';
import { lacksPackages } from '../../tools/workspace/shell.ts';
import type { KennelDeps } from '../activity-deps.ts';
import { isStoreAway } from '../failure.ts';
import { workspaceOf, worktreeOption } from './task-workspace.ts';

/** How long tests may run of which nothing is known yet. */
const TESTS_MS = 5 * MINUTE;
/** Before a task they may take longer: how long they take then bounds every later run. */
const BASE_TESTS_MS = 15 * MINUTE;
/** How much output is read, and how much is kept, in bytes and characters. */
const READ_BYTES = 4_000_000;
const SHOWN_CHARS = 20_000;

export type Tested = Pick<TaskResult, 'tests' | 'untested' | 'verdict'>;

const NO_EDITS: BaseLook['edits'] = { weakened: [], settings: [] };

/** Test results after a task, compared with those before it. */
export async function testsOf(deps: KennelDeps, task: Task, { test, files }: ConcludedChanges): Promise<Tested> {
  if (files.length === 0) return { tests: null };
  const look = await lookAtTests(deps, task);
  const edits = look?.edits ?? NO_EDITS;
  const known = look && (await testRunOf(deps.db, look.before));
  if (!test) {
    const verdict = verdictOf({ after: null, before: known, edits });
    return { tests: null, untested: 'the files of the project name none', verdict };
  }
  // first, because it says how long the tests take
  const before = known ?? (look && (await testsBefore(deps, task, look.before)));
  const { run: after, output } = await runTests(deps, task, { argv: test, timeoutMs: testBudget(before, TESTS_MS) });
  if (look) await keep(deps, look.after, after);
  const ran = after.state === 'ended' || after.state === 'timed out';
  const ok = after.code === 0 && after.cases.every(({ outcome }) => outcome !== 'failed');
  return {
    tests: ran ? { command: after.command, ok, output } : null,
    verdict: verdictOf({ after, before, edits }),
  };
}

/** What the diff says of the tests, and the states that runs are kept by; null when it cannot be read. */
async function lookAtTests(
  { kennel, config, log }: KennelDeps,
  task: Task,
): Promise<{ before: TestedState; after: TestedState; edits: BaseLook['edits'] } | null> {
  const folder = workspaceOf(config, task);
  const op = { ...worktreeOption(task), op: 'base', action: 'look', key: task.id } as const;
  const looked = await kennel.workspaceOp(folder, op).catch((error) => {
    if (isPassing(error)) throw error;
    return { ok: false, output: (error as Error).message, data: undefined };
  });
  if (!looked.ok) {
    log?.warn({ task: task.id, why: looked.output }, 'the tests before a task could not be looked at');
    return null;
  }
  const { before, after, edits } = looked.data as unknown as BaseLook;
  const { image: environment } = await kennel.provide('tools', () => {}, cancellationSignal(), folder);
  const workspace = task.workspace_identity ?? `${task.host}/${task.workspace}`;
  return {
    before: { workspace, tree: before, environment },
    after: { workspace, tree: after, environment },
    edits,
  };
}

/** Another attempt may go well. */
export const isPassing = (error: unknown): boolean =>
  error instanceof KennelUnavailable ||
  error instanceof KennelFull ||
  isStoreAway(error) ||
  cancellationSignal().aborted;

/** The tests on a copy of the workspace as it was before the task; null when none can be made. */
async function testsBefore(deps: KennelDeps, task: Task, state: TestedState): Promise<TestRun | null> {
  const { kennel, config, log } = deps;
  const folder = workspaceOf(config, task);
  const op = { ...worktreeOption(task), op: 'base', key: task.id } as const;
  try {
    const made = await kennel.workspaceOp(folder, { ...op, action: 'make' });
    if (!made.ok) {
      log?.info({ task: task.id, why: made.output }, 'the tests before a task were not run');
      return null;
    }
    const argv = made.data?.test as string[] | null;
    const run: TestRun = argv
      ? (await runTests(deps, task, { argv, timeoutMs: BASE_TESTS_MS, base: task.id })).run
      : { state: 'no tests', command: '', code: null, ms: 0, cases: [] };
    await keep(deps, state, run);
    return run;
  } catch (error) {
    if (isPassing(error)) throw error;
    log?.warn({ task: task.id, error: (error as Error).message }, 'the tests before a task could not be run');
    return null;
  } finally {
    await kennel.workspaceOp(folder, { ...op, action: 'remove' }).catch(() => {});
  }
}

/** A missing program may be there the next time. */
async function keep({ db }: KennelDeps, state: TestedState, run: TestRun): Promise<void> {
  if (run.state !== 'no runner' && !run.cut) await keepTestRun(db, state, run);
}

/** Ends the output of the tests; reports for programs follow. */
const REPORTS = '[reports of the test runner]';
/** Runs the tests, and prints the reports in XML that they have written. */
const SCRIPT = `began=$(mktemp); "$@"; code=$?; printf '\\n%s\\n' '${REPORTS}'
find . \\( -name node_modules -o -name .git \\) -prune -o -type f -newer "$began" \\( -name 'TEST-*.xml' -o -name 'junit*.xml' \\) -size -2000k -exec cat {} + 2>/dev/null
exit $code`;

async function runTests(
  { config, kennel }: KennelDeps,
  task: Task,
  { argv, timeoutMs, base }: { argv: string[]; timeoutMs: number; base?: string },
): Promise<{ run: TestRun; output: string }> {
  const began = performance.now();
  const ran = await kennel.command({
    workspace: workspaceOf(config, task),
    ...(base !== undefined && { base }),
    environment: true,
    argv: ['sh', '-c', SCRIPT, 'tests', ...withNames(argv)],
    ...(task.worktree && { cwd: worktreeOf(task.id) }),
    timeoutMs,
    maxOutput: READ_BYTES,
    label: `${task.id} tests`,
    signal: cancellationSignal(),
  });
  const ms = Math.round(performance.now() - began);
  const at = ran.stdout.lastIndexOf(`\n${REPORTS}\n`);
  const printed = at < 0 ? ran.stdout : ran.stdout.slice(0, at);
  const stopped = ran.timedOut ? `\n[stopped after ${Math.round(timeoutMs / MINUTE)} minutes]` : '';
  const said = `${readableOutput(printed)}${ran.stderr ? `\n${ran.stderr}` : ''}`;
  const output = suffix(`${said}${stopped}`.trim(), SHOWN_CHARS);
  const cases = readTests(`${ran.stdout}\n${ran.stderr}`);
  const command = argv.join(' ');
  const lacks = ran.code === 127 || (ran.code !== 0 && cases.length === 0 && lacksPackages(said, ran.code));
  const state = ran.timedOut
    ? 'timed out'
    : lacks
      ? 'no runner'
      : cases.length === 0 && hasNoTests(said)
        ? 'no tests'
        : 'ended';
  const code = state === 'ended' ? ran.code : null;
  return { run: { state, command, code, ms, cases, ...(ran.cut && { cut: true as const }) }, output };
}
