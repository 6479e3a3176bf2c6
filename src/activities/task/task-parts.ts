import { cancellationSignal } from '@temporalio/activity';
import { LRUCache } from 'lru-cache';
import type { Profile } from '../../contracts/workspace-ops.ts';
import { PARTS_BESIDE_TESTS, type PartCheck } from '../../domain/tasks/checks/part-checks.ts';
import { argvFor, argvOf, budgetOf, lineOf, type ProjectProfile } from '../../domain/tasks/checks/project-profile.ts';
import { suffix } from '../../domain/text/storable.ts';
import { MINUTE } from '../../domain/time.ts';
import type { Task } from '../../store/kennel/tasks/tasks.ts';
import type { TestedState } from '../../store/kennel/workspaces/test-runs.ts';
import { lacksPackages } from '../../tools/workspace/shell.ts';
import type { KennelDeps } from '../activity-deps.ts';
import { isPassing, onCopy, placeOf } from './on-copy.ts';
import { workspaceOf, worktreeOption } from './task-workspace.ts';

const OUTPUT_BYTES = 1_000_000;
const KEPT_CHARS = 4_000;
/** So long a part may run that was never checked. */
const LEAST_MS = MINUTE;

/** The newest result of each task: it holds for the same files. */
const newest = new LRUCache<string, { tree: string; of: string; parts: PartCheck[] }>({ max: 100 });

/** Whether nothing was changed since the parts were checked. */
export const partsRanOn = (taskId: string, { tree }: TestedState): boolean => newest.get(taskId)?.tree === tree;

interface Part {
  part: PartCheck['part'];
  argv: string[];
  /** it may run so long however little the tests have left */
  usualMs: number;
}

/**
 * Build, types and lint after a task, on a copy of its files, and where they fail on the files of before, too. `leftMs`: what
 * their tests have left of their time.
 */
export async function partsAfter(
  deps: KennelDeps,
  task: Task,
  { profile, state, leftMs, now }: { profile: ProjectProfile; state?: TestedState; leftMs: number; now?: true },
): Promise<PartCheck[]> {
  const known = await knownParts(deps, task, profile);
  if (known.length === 0) return [];
  const of = JSON.stringify([state?.environment, known]);
  const last = newest.get(task.id);
  if (last?.tree === state?.tree && last?.of === of) return last.parts;
  const deadline = performance.now() + leftMs;
  const after = await runOnCopy(deps, task, { action: 'copy', now }, known, deadline);
  if (after === null) return [];
  const failed = known.filter(({ part }) => after.get(part)!.state !== 'passed');
  const before =
    failed.length > 0 ? await runOnCopy(deps, task, { action: 'make', now }, failed, deadline) : new Map<never, Ran>();
  const parts = known.flatMap(({ part, argv }): PartCheck[] => {
    const { lacks, ...is } = after.get(part)!;
    const was = before?.get(part);
    // a missing program or package says nothing of the work where it was missing before
    if (lacks && was?.state !== 'passed') return [];
    return [{ part, command: lineOf(argv), ...is, passedBefore: was ? was.state === 'passed' : null }];
  });
  if (state) newest.set(task.id, { tree: state.tree, of, parts });
  return parts;
}

/** Without the command of now, that of the last check: a part that is gone fails. */
async function knownParts({ kennel, config }: KennelDeps, task: Task, profile: ProjectProfile): Promise<Part[]> {
  const { said, checked } = profile;
  const op = { ...worktreeOption(task), op: 'profile' } as const;
  const looked = await kennel.workspaceOp(workspaceOf(config, task), op).catch((error) => {
    if (isPassing(error)) throw error;
    return null;
  });
  const found = (looked?.data as Partial<Profile> | undefined) ?? null;
  return PARTS_BESIDE_TESTS.flatMap((part) => {
    const before = checked?.parts[part]?.command;
    const argv = argvFor(part, found, said) ?? (before === undefined ? null : argvOf(before));
    return argv ? [{ part, argv, usualMs: budgetOf(checked?.parts[part]?.ms, LEAST_MS) }] : [];
  });
}

type Ran = Pick<PartCheck, 'state' | 'output'> & { lacks: boolean };

const runOnCopy = (
  deps: KennelDeps,
  task: Task,
  { action, now }: { action: 'make' | 'copy'; now: true | undefined },
  parts: readonly Part[],
  deadline: number,
): Promise<Map<PartCheck['part'], Ran> | null> =>
  onCopy(deps, task, { action, ...(now && { now }) }, async () => {
    const ran = new Map<PartCheck['part'], Ran>();
    for (const { part, argv, usualMs } of parts)
      ran.set(part, await runPart(deps, task, argv, Math.max(usualMs, deadline - performance.now())));
    return ran;
  });

async function runPart(deps: KennelDeps, task: Task, argv: string[], timeoutMs: number): Promise<Ran> {
  const { stdout, stderr, code, timedOut } = await deps.kennel.command({
    ...placeOf(deps, task, task.id),
    environment: true,
    argv,
    timeoutMs: Math.round(timeoutMs),
    maxOutput: OUTPUT_BYTES,
    signal: cancellationSignal(),
  });
  const output = suffix(`${stdout}\n${stderr}`.trim(), KEPT_CHARS);
  const state = timedOut ? 'timed out' : code === 0 ? 'passed' : 'failed';
  return { state, output, lacks: state === 'failed' && lacksPackages(output, code) };
}
