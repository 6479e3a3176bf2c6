import type { Author, Undone, WorkspaceAnswer } from '../../src/contracts/workspace-ops.ts';
import { applyChanges } from './apply.ts';
import { now, pathsOf } from './checkpoint.ts';
import { firstParent, readResult } from './conclude.ts';
import { git, type Repository } from './git.ts';
import { moveHead, planHead } from './heads.ts';
import { type Step, standing, stepRef, steps, writeStep } from './journal.ts';
import { mergeTrees } from './merge.ts';
import { shown } from './names.ts';
import { utf8 } from './process.ts';
import { extraOf, readRef, refOf, type Stored, states } from './record.ts';
import { Refusal } from './refusal.ts';
import { named } from './report.ts';
import { type Head, headOf, inProgress, openBeside, openRepository, type Place } from './repository.ts';
import { type Snapshot, takeSnapshot } from './snapshot.ts';
import { indexLock, restage } from './staging.ts';
import { diffTrees, isSubmodule, type Signature, treeOf } from './trees.ts';

export interface Undoing {
  what: 'one' | 'all' | 'redo';
  author: Author;
  key?: string;
}

/**
 * Takes tasks back, or the last undo. What the person changed since is kept by three-way merges of files, commits and index; where
 * that does not work out, nothing is changed. A call that was killed in the middle is finished by the next one.
 */
export function undo(place: Place, op: Undoing): WorkspaceAnswer {
  const repository = repositoryWithHistory(place);
  const all = steps(repository);
  const by: Signature = { ...op.author, seconds: now() };
  const begun = all.find((step) => !step.done && step.worktree === repository.worktree);
  if (begun) return finish(repository, begun, by, true);
  const asked = op.key ? all.find((step) => step.request === op.key) : undefined;
  if (asked) return answer(repository, asked);
  checkCalm(repository);
  const step = op.what === 'redo' ? planRedo(repository, all, op, by) : planUndo(repository, all, op, by);
  writeStep(repository, step, by, null);
  return finish(repository, step, by, false);
}

function repositoryWithHistory(place: Place): Repository {
  const found = [openRepository(place), openBeside(place, false)].filter((repository) => repository !== null);
  const newest = (repository: Repository) => Math.max(0, ...states(repository, 'before').map((state) => state.at));
  const best = found.sort((a, b) => newest(b) - newest(a))[0];
  if (!best) throw new Refusal('There is nothing to undo: no task has worked in this workspace.');
  return best;
}

function checkCalm(repository: Repository): void {
  if (repository.kept === 'beside') return;
  const doing = inProgress(repository);
  if (doing) throw new Refusal(`${doing[0]!.toUpperCase()}${doing.slice(1)} is in progress; finish or abort it first. Nothing was changed.`);
  const lock = indexLock(repository);
  if (lock) throw new Refusal(`Nothing was changed: ${lock}.`);
}

function planUndo(repository: Repository, all: Step[], op: Undoing, by: Signature): Step {
  const { undone } = standing(all, repository.worktree);
  const afters = new Map(states(repository, 'after').map((after) => [after.key, after]));
  const tasks = states(repository, 'before')
    .filter((before) => before.worktree === repository.worktree && !undone.has(before.key))
    .reverse()
    .flatMap((before) => {
      const after = afters.get(before.key);
      return after ? [{ before, after }] : [];
    });
  if (tasks.length === 0) throw new Refusal('There is nothing to undo.');
  const chosen = op.what === 'one' ? tasks.slice(0, 1) : tasks;
  const snapshot = takeSnapshot(repository, {
    also: pathsOf(
      repository,
      chosen.flatMap(({ before, after }) => [before.tree, after.tree]),
    ),
  });
  const start = stagedOf(repository, snapshot);
  let files = snapshot.tree;
  let staged = start;
  let head = headOf(repository);
  const from = head;
  let commits: Step['commits'] = 'none';
  const notes: string[] = [];
  for (const { before, after } of chosen) {
    files = without(repository, after.tree, files, before.tree, 'The files');
    const next = headWithout(repository, before, head, by, op);
    if (next.how !== 'none') commits = commits === 'reverted' ? commits : next.how;
    if (staged !== null) {
      const stagedThen = stagedBeforeAndAfter(repository, before, after) ?? [treeOf(repository, next.commit), treeOf(repository, head.commit)];
      staged = without(repository, stagedThen[1], staged, stagedThen[0], 'Staged changes of');
    }
    head = { commit: next.commit, branch: next.branch };
    if (diffTrees(repository, before.tree, after.tree).some((change) => isSubmodule(change.from) || isSubmodule(change.to))) {
      notes.push('Submodules are left as they are');
    }
  }
  return {
    ...stepOf(repository, all, op, by, from, head, commits, notes),
    kind: 'undo',
    of: null,
    keys: chosen.map(({ before }) => before.key),
    filesFrom: snapshot.tree,
    filesTo: files,
    stagedFrom: start,
    stagedTo: staged,
  };
}

/** The index before a task, and as its conclusion left it; null when it had conflicts. */
function stagedBeforeAndAfter(repository: Repository, before: Stored, after: Stored): [string, string] | null {
  const first = extraOf(repository, before.extra, 'staged');
  const last = extraOf(repository, after.extra, 'staged');
  if (!first || !last) return null;
  const commit = readRef(repository, refOf(before.key, 'commit'));
  if (!commit || readResult(repository, before.key)?.commit !== commit) return [first, last];
  return [first, mergeTrees(repository, treeOf(repository, firstParent(repository, commit)), last, treeOf(repository, commit)).tree];
}

function headWithout(repository: Repository, before: Stored, head: Head, by: Signature, op: Undoing) {
  if (repository.kept === 'beside') return { ...head, how: 'none' as const };
  const result = readResult(repository, before.key);
  if (!result) throw new Refusal(`Task ${before.key} is still being concluded.`);
  const message = (subject: string) => `Revert "${subject || before.key}"\n\nUndo of task ${before.key}.\n`;
  return planHead(repository, head, { commit: result.tip, branch: result.branch }, { commit: before.head, branch: before.branch }, message, {
    ...op.author,
    seconds: by.seconds,
  });
}

function planRedo(repository: Repository, all: Step[], op: Undoing, by: Signature): Step {
  const { last } = standing(all, repository.worktree);
  if (!last) throw new Refusal('There is no undo to take back.');
  const snapshot = takeSnapshot(repository, { also: pathsOf(repository, [last.filesFrom, last.filesTo]) });
  const start = stagedOf(repository, snapshot);
  const head = headOf(repository);
  const message = (subject: string) => `Redo ${last.keys.join(', ')}\n\nTakes back ${subject ? `"${subject}"` : 'an undo'}.\n`;
  const next =
    repository.kept === 'beside'
      ? { ...head, how: 'none' as const }
      : planHead(repository, head, { commit: last.headTo, branch: last.branchTo }, { commit: last.headFrom, branch: last.branchFrom }, message, by);
  const files = without(repository, last.filesTo, snapshot.tree, last.filesFrom, 'The files');
  const staged = start && last.stagedTo && last.stagedFrom ? without(repository, last.stagedTo, start, last.stagedFrom, 'Staged changes of') : start;
  return {
    ...stepOf(repository, all, op, by, head, next, next.how, []),
    kind: 'redo',
    of: last.n,
    keys: last.keys,
    filesFrom: snapshot.tree,
    filesTo: files,
    stagedFrom: start,
    stagedTo: staged,
  };
}

function stepOf(repository: Repository, all: Step[], op: Undoing, by: Signature, from: Head, to: Head, commits: Step['commits'], notes: string[]) {
  return {
    n: (all.at(-1)?.n ?? 0) + 1,
    request: op.key ?? null,
    worktree: repository.worktree,
    headFrom: from.commit,
    headTo: to.commit,
    branchFrom: from.branch,
    branchTo: to.branch,
    commits,
    notes: [...new Set(notes)],
    done: false,
    at: by.seconds,
  };
}

function stagedOf(repository: Repository, snapshot: Snapshot): string | null {
  if (repository.kept === 'beside') return null;
  if (snapshot.staged === null) throw new Refusal('The index has unresolved conflicts; resolve them first. Nothing was changed.');
  return snapshot.staged;
}

/** `ours` with the change from `after` to `before` made on it; refused when it does not fit. */
function without(repository: Repository, after: string, ours: string, before: string, what: string): string {
  const merged = mergeTrees(repository, after, ours, before);
  if (merged.conflicts.length === 0) return merged.tree;
  throw new Refusal(`${what} ${named(merged.conflicts)} were changed since, in the same places. Nothing was changed; put those changes away first.`);
}

/** Does what a step says, as far as it is not done yet. */
function finish(repository: Repository, step: Step, by: Signature, resumed: boolean): WorkspaceAnswer {
  const ref = stepRef(step.n);
  const stored = readRef(repository, ref)!;
  const { refused } = applyChanges(repository, diffTrees(repository, step.filesFrom, step.filesTo), !resumed);
  const notes = [...step.notes];
  if (refused.length > 0 && !resumed) {
    git(repository, ['update-ref', '-d', ref, stored]);
    throw new Refusal(`${named(refused)} changed at this moment, or something that git does not keep is in the way. Nothing was changed; try again.`);
  }
  if (refused.length > 0) notes.push(`${named(refused)} changed in the meantime and stay as they are`);
  if (repository.kept === 'workspace') {
    const from = { commit: step.headFrom, branch: step.branchFrom };
    const to = { commit: step.headTo, branch: step.branchTo };
    if (moveHead(repository, headOf(repository), from, to, `fetch: ${step.kind} ${step.keys.join(' ')}`)) {
      if (step.stagedFrom && step.stagedTo) restage(repository, diffTrees(repository, step.stagedFrom, step.stagedTo));
    } else notes.push('HEAD was moved in the meantime and stays where it is');
  }
  const done = { ...step, notes, done: true };
  writeStep(repository, done, by, stored);
  return answer(repository, done);
}

function answer(repository: Repository, step: Step): WorkspaceAnswer {
  const files = diffTrees(repository, step.filesFrom, step.filesTo).map((change) => change.path);
  const verb = step.kind === 'undo' ? 'Undid' : 'Did again';
  const how = {
    moved:
      step.branchFrom === step.branchTo
        ? `The branch ${step.kind === 'undo' ? 'went back to' : 'is at'} ${step.headTo?.slice(0, 10) ?? 'no commit'}.`
        : `HEAD is on ${step.branchTo ?? 'a detached HEAD'} again.`,
    reverted: `Commit ${step.headTo?.slice(0, 10)} takes it back, as there are later or published commits.`,
    none: '',
  }[step.commits];
  const which = `${verb} ${step.keys.length === 1 ? `task ${step.keys[0]}` : `${step.keys.length} tasks`}`;
  const what = files.length === 0 ? 'no file changes.' : `${files.length} ${files.length === 1 ? 'file' : 'files'}: ${named(files)}.`;
  const data: Undone = { keys: step.keys, files: files.slice(0, 500).map((path) => shown(utf8(path))), commits: step.commits, head: step.headTo };
  const back = step.kind === 'undo' ? ' It can be taken back with "redo".' : '';
  const notes = step.notes.length > 0 ? ` ${step.notes.join('. ')}.` : '';
  return { ok: true, output: `${which}; ${what}${how ? ` ${how}` : ''}${notes}${back}`, data: { ...data } };
}
