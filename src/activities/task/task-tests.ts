import { cancellationSignal } from '@temporalio/activity';
import { LRUCache } from 'lru-cache';
import type { BaseLook, ConcludedChanges } from '../../contracts/workspace-ops.ts';
import { isBroken } from '../../domain/tasks/checks/part-checks.ts';
import { argvFor, budgetOf, lineOf, type ProjectProfile } from '../../domain/tasks/checks/project-profile.ts';
import { brokenTests, passesText, type TestRun, testBudget, verdictOf } from '../../domain/tasks/checks/verdict.ts';
import { english } from '../../domain/texts/say.ts';
import { MINUTE } from '../../domain/time.ts';
import { commandsOfTask } from '../../store/kennel/tasks/task-log.ts';
import { morePasses } from '../../store/kennel/tasks/task-words.ts';
import type { Task } from '../../store/kennel/tasks/tasks.ts';
import { projectProfile } from '../../store/kennel/workspaces/project-profiles.ts';
import { keepTestRun, type TestedState, testRunOf } from '../../store/kennel/workspaces/test-runs.ts';
import type { TaskResult } from '../../store/schema/tables/kennel.ts';
import { isTestCommand } from '../../tools/workspace/shell.ts';
import type { KennelDeps } from '../activity-deps.ts';
import { isPassing, onCopy, placeOf } from './on-copy.ts';
import { type Ran, runTests } from './run-tests.ts';
import { partsAfter, partsRanOn } from './task-parts.ts';
import { workspaceOf, worktreeOption } from './task-workspace.ts';

/** How long tests may run of which nothing is known yet. */
const TESTS_MS = 5 * MINUTE;
/** Before a task they may take longer: how long they take then bounds every later run. */
const BASE_TESTS_MS = 15 * MINUTE;

export type Tested = Pick<TaskResult, 'tests' | 'untested' | 'testedBy' | 'verdict' | 'parts'>;

const NO_EDITS: BaseLook['edits'] = { weakened: [], settings: [] };

/** The newest run of each task: its result holds for the same files, and its output is kept nowhere else. */
const newest = new LRUCache<string, { state: TestedState; ran: Ran }>({ max: 100 });

/** Whether the tests ran last on these very files. */
const ranOn = (taskId: string, { tree, environment }: TestedState): boolean => {
  const state = newest.get(taskId)?.state;
  return state?.tree === tree && state.environment === environment;
};

/** Results of tests, build, types and lint after a task, compared with those before it. */
export async function testsOf(deps: KennelDeps, task: Task, { test, files }: ConcludedChanges): Promise<Tested> {
  if (files.length === 0) return { tests: null };
  const look = await lookAtTests(deps, task);
  const edits = look?.edits ?? NO_EDITS;
  const known = look && (await testRunOf(deps.db, look.before));
  const profile = await projectProfile(deps.db, task);
  const { flaky } = profile;
  const argv = argvFor('test', { test }, profile.said);
  const state = look?.after;
  // first, because it says how long the tests take
  const before = known ?? (argv && look && (await testsBefore(deps, task, look.before, profile)));
  const timeoutMs = testBudget(before, usualOf(profile));
  const ran = argv ? await testsAfter(deps, task, { argv, timeoutMs, state }) : null;
  const after = ran?.run ?? null;
  const parts = await partsAfter(deps, task, { profile, state, leftMs: timeoutMs - (after?.ms ?? 0) });
  const verdict = verdictOf({ after, before, edits, flaky, parts });
  const passes = await morePasses(deps.db, task.id);
  const isStillBroken = brokenTests({ after, before, flaky }) !== null || parts.some(isBroken);
  if (passes > 0) verdict.reasons.push(passesText(passes, isStillBroken));
  const result = { verdict, ...(parts.length > 0 && { parts }) };
  if (!ran) {
    const testedBy = await testCommandOfAgent(deps, task);
    return { tests: null, untested: english('untested.none'), ...(testedBy && { testedBy }), ...result };
  }
  const { state: how, code, cases, command } = ran.run;
  const hasRun = how === 'ended' || how === 'timed out';
  const ok = code === 0 && cases.every(({ outcome }) => outcome !== 'failed');
  return { tests: hasRun ? { command, ok, output: ran.output } : null, ...result };
}

const COMMANDS_READ = 200;

/** How its agent ran tests, for the person to confirm. Words of the agent: nothing is run by them. */
async function testCommandOfAgent({ db }: KennelDeps, { id }: Task): Promise<string | undefined> {
  const lines = await commandsOfTask(db, id, COMMANDS_READ);
  return lines
    .map((line) => line.replace(/^`|`$/g, '').trim())
    .find((line) => line.length < 100 && isTestCommand(line));
}

/**
 * The check that fails at the end of a run and did not fail before the task, and the end of its output. Null when
 * nothing shows that the task broke any. They run on copies, so that nothing of what they write counts as work. Without
 * `again`, also null for files on which they ran last: the agent has changed nothing since.
 */
export async function brokenAfterRun(
  deps: KennelDeps,
  task: Task,
  { again }: { again: boolean },
): Promise<{ command: string; broken: string[]; output: string } | null> {
  const look = await lookAtTests(deps, task, { now: true });
  if (!look || look.before.tree === look.after.tree) return null;
  if (!again && (ranOn(task.id, look.after) || partsRanOn(task.id, look.after))) return null;
  const profile = await projectProfile(deps.db, task);
  const { flaky } = profile;
  const state = look.after;
  const argv = argvFor('test', { test: look.test }, profile.said);
  const before =
    (await testRunOf(deps.db, look.before)) ??
    (argv && (await testsBefore(deps, task, look.before, profile, { now: true })));
  const timeoutMs = testBudget(before, usualOf(profile));
  const options = argv && { argv, timeoutMs, state, base: task.id };
  const ran =
    options && (await onCopy(deps, task, { action: 'copy', now: true }, () => testsAfter(deps, task, options)));
  const broken = ran && brokenTests({ after: ran.run, before, flaky });
  if (broken) return { command: ran.run.command, broken, output: ran.output };
  const leftMs = timeoutMs - (ran?.run.ms ?? 0);
  const part = (await partsAfter(deps, task, { profile, state, leftMs, now: true })).find(isBroken);
  return part?.passedBefore ? { command: part.command, broken: [], output: part.output } : null;
}

/** The tests on the files of now, or the result of the run that has seen the same files. */
async function testsAfter(
  deps: KennelDeps,
  task: Task,
  { state, ...options }: { argv: string[]; timeoutMs: number; state: TestedState | undefined; base?: string },
): Promise<Ran> {
  const known = newest.get(task.id);
  if (state && known?.ran.run.command === lineOf(options.argv) && ranOn(task.id, state)) return known.ran;
  const ran = await runTests(deps, placeOf(deps, task, options.base), options);
  if (!state) return ran;
  await keep(deps, state, ran.run);
  newest.set(task.id, { state, ran });
  return ran;
}

/** What the diff says of the tests, and the states that runs are kept by; null when it cannot be read. */
async function lookAtTests(
  { db, kennel, config, log }: KennelDeps,
  task: Task,
  now: { now?: true } = {},
): Promise<{ before: TestedState; after: TestedState; edits: BaseLook['edits']; test: string[] | null } | null> {
  const folder = workspaceOf(config, task);
  const { said } = await projectProfile(db, task);
  const line = said.test === undefined ? {} : { line: said.test };
  const op = { ...worktreeOption(task), op: 'base', action: 'look', key: task.id, ...now, ...line } as const;
  const looked = await kennel.workspaceOp(folder, op).catch((error) => {
    if (isPassing(error)) throw error;
    return { ok: false, output: (error as Error).message, data: undefined };
  });
  if (!looked.ok) {
    log?.warn({ task: task.id, why: looked.output }, 'the tests before a task could not be looked at');
    return null;
  }
  const { before, after, edits, test = null } = looked.data as unknown as BaseLook;
  const { image: environment } = await kennel.provide('tools', () => {}, cancellationSignal(), folder);
  const workspace = task.workspace_identity ?? `${task.host}/${task.workspace}`;
  return {
    before: { workspace, tree: before, environment },
    after: { workspace, tree: after, environment },
    edits,
    test,
  };
}

/** The tests on a copy of the workspace as it was before the task; null when none can be made. */
const testsBefore = (
  deps: KennelDeps,
  task: Task,
  state: TestedState,
  { said, checked }: ProjectProfile,
  now: { now?: true } = {},
): Promise<TestRun | null> =>
  onCopy(deps, task, { action: 'make', ...now }, async (test) => {
    const argv = argvFor('test', { test }, said);
    const timeoutMs = budgetOf(checked?.parts.test?.ms, BASE_TESTS_MS);
    const run: TestRun = argv
      ? (await runTests(deps, placeOf(deps, task, task.id), { argv, timeoutMs })).run
      : { state: 'no tests', command: '', code: null, ms: 0, cases: [] };
    await keep(deps, state, run);
    return run;
  });

/** A missing program may be there the next time. */
async function keep({ db }: KennelDeps, state: TestedState, run: TestRun): Promise<void> {
  if (run.state !== 'no runner' && !run.cut) await keepTestRun(db, state, run);
}

const usualOf = ({ checked }: ProjectProfile): number => budgetOf(checked?.parts.test?.ms, TESTS_MS);
