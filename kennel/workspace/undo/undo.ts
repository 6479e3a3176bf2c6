import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Author, Undone, WorkspaceAnswer } from '../../../src/contracts/workspace-ops.ts';
import { othersOf } from '../checkpoint/besides.ts';
import { now, pathsOf, takeHistory } from '../checkpoint/checkpoint.ts';
import { firstParent, readResult } from '../checkpoint/conclude.ts';
import { applyToFolder, remakeFolder } from '../checkpoint/git-folder.ts';
import { openHistory } from '../checkpoint/history.ts';
import { among } from '../checkpoint/others.ts';
import { extraOf, factsOf, hadRepository, readOwnRef, readRef, refOf, type Stored, states } from '../checkpoint/record.ts';
import { named } from '../checkpoint/report.ts';
import { applyChanges } from '../files/apply.ts';
import { shown } from '../files/names.ts';
import { git, kept, type Repository } from '../git/git.ts';
import { mergeTrees } from '../git/merge.ts';
import { utf8 } from '../git/process.ts';
import { type Head, headOf, inProgress, type Place } from '../git/repository.ts';
import { type Snapshot, takeSnapshot } from '../git/snapshot.ts';
import { indexLock, restage } from '../git/staging.ts';
import { giveObjects, setRefs } from '../git/transfer.ts';
import { changedTree, diffTrees, emptyTree, entriesOf, isSubmodule, type Signature, treeOf } from '../git/trees.ts';
import { Refusal } from '../refusal.ts';
import { moveHead, planHead } from './move-head.ts';
import { changesOf, planFurther, remakeEmpty, setStashes, type Task } from './take-back.ts';
import { standing, stepRef, steps, type UndoStep, writeStep } from './undo-log.ts';

export interface Undoing {
  what: 'one' | 'all' | 'redo';
  author: Author;
  key?: string;
  task?: string;
}

/**
 * Takes tasks back, or the last undo. What the person changed since is kept by three-way merges of files, commits and index; where
 * that does not work out, nothing is changed. A call that was killed in the middle is finished by the next one.
 */
export function undo(place: Place, op: Undoing): WorkspaceAnswer {
  const history = openHistory(place, false);
  if (!history || states(history, 'before').length === 0) throw new Refusal('There is nothing to undo: no task has worked in this workspace.');
  const all = steps(history);
  const by: Signature = { ...op.author, seconds: now() };
  const begun = all.find((step) => !step.done && step.worktree === history.worktree);
  if (begun) return finish(history, begun, by, true);
  const asked = op.key ? all.find((step) => step.request === op.key) : undefined;
  if (asked) return answer(history, asked);
  const chosen = op.what === 'redo' ? [] : chooseTasks(history, all, op);
  const { repository, notes } = wholeAgain(place, history, chosen);
  checkCalm(repository);
  takeHistory(repository);
  const step = op.what === 'redo' ? planRedo(repository, all, op, by) : planUndo(repository, all, chosen, op, by, notes);
  writeStep(repository, step, by, null);
  return finish(repository, step, by, false);
}

/** The tasks that are to be taken back, the newest first. */
function chooseTasks(repository: Repository, all: UndoStep[], op: Undoing): Task[] {
  const { undone } = standing(all, repository.worktree);
  const afters = new Map(states(repository, 'after').map((after) => [after.key, after]));
  const tasks = states(repository, 'before')
    .filter((before) => (op.task === undefined ? before.worktree === repository.worktree : before.key === op.task) && !undone.has(before.key))
    .reverse()
    .flatMap((before): Task[] => {
      const after = afters.get(before.key);
      return after ? [{ before, after }] : [];
    });
  if (tasks.length > 0) return op.what === 'one' ? tasks.slice(0, 1) : tasks;
  if (op.task === undefined) throw new Refusal('There is nothing to undo.');
  throw new Refusal(undone.has(op.task) ? `Task ${op.task} is undone already.` : `No task ${op.task} has ended in this workspace.`);
}

/** The repository with its git folder made again, where a task has taken or damaged it. */
function wholeAgain(place: Place, history: Repository, chosen: Task[]): { repository: Repository; notes: string[] } {
  // the state before the oldest of them is the one to go back to
  const source = chosen.findLast(({ before }) => hadRepository(before))?.before;
  const mark = join(history.store!, 'remaking');
  if (source && history.kept === 'workspace' && !hadRepository(chosen[0]!.after) && !existsSync(mark)) {
    const head = headOf(history);
    // an undo that was done again has made it whole already
    if (head.commit === source.head && head.branch === source.branch) return { repository: history, notes: [] };
    throw new Refusal('The task removed the git folder, and another repository was made here since. Move its .git elsewhere first; nothing was changed.');
  }
  const due = source && (history.kept === 'beside' || chosen.some(({ after }) => after.damage) || existsSync(mark));
  if (!due) return { repository: history, notes: [] };
  writeFileSync(mark, source.commit);
  const unknown = chosen.some(({ before, after }) => hadRepository(before) && !hadRepository(after));
  const why = remakeFolder(place, history, source, unknown || history.kept === 'beside');
  rmSync(mark, { force: true });
  const repository = openHistory(place, false)!;
  return { repository, notes: [why ? `The git folder could not be made whole again (${why})` : 'The git folder is whole again, with its history'] };
}

function checkCalm(repository: Repository): void {
  if (repository.kept === 'beside') return;
  const doing = inProgress(repository);
  if (doing) throw new Refusal(`${doing[0]!.toUpperCase()}${doing.slice(1)} is in progress; finish or abort it first. Nothing was changed.`);
  const lock = indexLock(repository);
  if (lock) throw new Refusal(`Nothing was changed: ${lock}.`);
}

function planUndo(repository: Repository, all: UndoStep[], chosen: Task[], op: Undoing, by: Signature, notes: string[]): UndoStep {
  const further = planFurther(repository, chosen);
  if (chosen[0]!.before.worktree !== repository.worktree) return planBranch(repository, all, chosen[0]!, op, by, [...notes], further.refs);
  // files that git did not look at before a task are taken back by themselves
  const apart = among(chosen.flatMap(({ before }) => apartOf(repository, before)));
  const trees = new Map(chosen.flatMap(({ before, after }) => [before, after]).map((state) => [state, strip(repository, state.tree, apart)]));
  const snapshot = takeSnapshot(repository, { also: pathsOf(repository, [...trees.values()]), except: { untracked: apart, tracked: apart } });
  const start = stagedOf(repository, snapshot);
  let files = snapshot.tree;
  let staged = start;
  let head = headOf(repository);
  const from = head;
  let commits: UndoStep['commits'] = 'none';
  const refs = new Map(further.refs.map(({ name, to }) => [Buffer.from(name, 'latin1').toString('utf8'), to]));
  for (const { before, after } of chosen) {
    files = without(repository, trees.get(after)!, files, trees.get(before)!, 'The files');
    const next = headWithout(repository, before, after, head, by, op, refs);
    if (next.how !== 'none') commits = commits === 'reverted' ? commits : next.how;
    // of an index in a git folder that was unusable nothing is known
    if (staged !== null && (hadRepository(after) || !hadRepository(before))) {
      const stagedThen = stagedBeforeAndAfter(repository, before, after) ?? [treeOf(repository, next.commit), treeOf(repository, head.commit)];
      staged = without(repository, stagedThen[1], staged, stagedThen[0], 'Staged changes of');
    }
    head = { commit: next.commit, branch: next.branch };
    const inner = factsOf(repository, before).nested;
    if (!inner && diffTrees(repository, before.tree, after.tree).some((change) => isSubmodule(change.from) || isSubmodule(change.to))) {
      notes.push('Submodules are left as they are');
    }
  }
  return {
    ...stepOf(repository, all, op, by, from, head, commits, notes),
    ...further,
    kind: 'undo',
    of: null,
    keys: chosen.map(({ before }) => before.key),
    filesFrom: snapshot.tree,
    filesTo: files,
    stagedFrom: start,
    stagedTo: staged,
  };
}

/** Paths that were there before a task, and that git did not look at. */
function apartOf(repository: Repository, before: Stored): string[] {
  const facts = factsOf(repository, before);
  const known = [...othersOf(repository, before).keys(), ...(facts.named ?? []).map((entry) => entry.path)];
  return facts.named ? known : facts.ignored;
}

/** A tree without some paths. */
function strip(repository: Repository, tree: string, apart: (path: string) => boolean): string {
  const gone = [...entriesOf(repository, tree).keys()].filter(apart);
  return changedTree(
    repository,
    tree,
    gone.map((path) => [path, null]),
  );
}

/** Other branches that hold a commit. */
const holdersOf = (repository: Repository, commit: string, except: string): string[] =>
  git(repository, ['for-each-ref', '--format=%(refname)', '--contains', commit, 'refs/heads', 'refs/remotes'])
    .split('\n')
    .filter((ref) => ref !== '' && utf8(ref) !== except);

/** A task in a worktree has left a branch, and nothing else. */
function planBranch(
  repository: Repository,
  all: UndoStep[],
  { before, after }: Task,
  op: Undoing,
  by: Signature,
  notes: string[],
  refs: UndoStep['refs'] = [],
): UndoStep {
  const { key } = before;
  const branch = after.branch;
  const tip = readResult(repository, key)?.tip ?? after.head;
  const name = `refs/heads/${branch}`;
  const head = headOf(repository);
  const changes = [...refs];
  if (branch !== null && tip && readOwnRef(repository, name)) {
    if (readOwnRef(repository, name) !== tip) throw new Refusal(`Branch ${branch} has had commits since. Nothing was changed; look at it first.`);
    if (head.branch === branch) throw new Refusal(`Branch ${branch} is checked out. Switch to another one first; nothing was changed.`);
    const holders = holdersOf(repository, tip, name);
    if (holders.length > 0 && tip !== before.head) {
      throw new Refusal(`The commits of task ${key} are in ${named(holders)} by now. Take them back there with git revert; nothing was changed.`);
    }
    changes.push({ name: Buffer.from(name).toString('latin1'), from: tip, to: null });
  } else notes.push('Its branch is gone already');
  const none = emptyTree(repository);
  return {
    ...stepOf(repository, all, op, by, head, head, 'none', notes),
    refs: changes,
    kind: 'undo',
    of: null,
    keys: [key],
    filesFrom: none,
    filesTo: none,
    stagedFrom: null,
    stagedTo: null,
  };
}

/** The index before a task, and as its conclusion left it; null when it had conflicts. */
function stagedBeforeAndAfter(repository: Repository, before: Stored, after: Stored): [string, string] | null {
  const first = extraOf(repository, before.extra, 'staged');
  const last = extraOf(repository, after.extra, 'staged');
  if (!first || !last) return null;
  const commit = readRef(repository, refOf(before.key, 'commit'));
  if (!commit || (readResult(repository, before.key) ?? { commit }).commit !== commit) return [first, last];
  return [first, mergeTrees(repository, treeOf(repository, firstParent(repository, commit)), last, treeOf(repository, commit)).tree];
}

function headWithout(repository: Repository, before: Stored, after: Stored, head: Head, by: Signature, op: Undoing, refs: ReadonlyMap<string, string | null>) {
  if (repository.kept === 'beside' || !hadRepository(before)) return { ...head, how: 'none' as const };
  const tip = tipOf(repository, before, after);
  const message = (subject: string) => `Revert "${subject || before.key}"\n\nUndo of task ${before.key}.\n`;
  const then = { commit: before.head, branch: before.branch };
  return planHead(repository, head, tip, then, message, { ...op.author, seconds: by.seconds }, refs);
}

/** Where HEAD was when a task was concluded. */
function tipOf(repository: Repository, before: Stored, after: Stored): Head {
  const result = readResult(repository, before.key);
  if (result) return { commit: result.tip, branch: result.branch };
  if (!readRef(repository, refOf(before.key, 'result'))) throw new Refusal(`Task ${before.key} is still being concluded.`);
  // the version before wrote some names so that they cannot be read again
  return { commit: readRef(repository, refOf(before.key, 'commit')) ?? after.head, branch: after.branch };
}

function planRedo(repository: Repository, all: UndoStep[], op: Undoing, by: Signature): UndoStep {
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
    ...(last.othersFrom && last.othersTo && { othersFrom: last.othersTo, othersTo: last.othersFrom }),
    ...(last.stashes && { stashes: { from: last.stashes.to, to: last.stashes.from } }),
    ...(last.folderFrom && last.folderTo && { folderFrom: last.folderTo, folderTo: last.folderFrom }),
    refs: (last.refs ?? []).map(({ name, from, to }) => ({ name, from: to, to: from })),
    kind: 'redo',
    of: last.n,
    keys: last.keys,
    filesFrom: snapshot.tree,
    filesTo: files,
    stagedFrom: start,
    stagedTo: staged,
  };
}

function stepOf(repository: Repository, all: UndoStep[], op: Undoing, by: Signature, from: Head, to: Head, commits: UndoStep['commits'], notes: string[]) {
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
function finish(repository: Repository, step: UndoStep, by: Signature, resumed: boolean): WorkspaceAnswer {
  const ref = stepRef(step.n);
  const stored = readRef(repository, ref)!;
  const { refused } = applyChanges(repository, diffTrees(repository, step.filesFrom, step.filesTo), !resumed);
  const notes = [...step.notes];
  if (refused.length > 0 && !resumed) {
    kept(repository, ['update-ref', '-d', ref, stored]);
    throw new Refusal(`${named(refused)} changed at this moment, or something that git does not keep is in the way. Nothing was changed; try again.`);
  }
  if (refused.length > 0) notes.push(`${named(refused)} changed in the meantime and stay as they are`);
  const others = changesOf(repository, step.othersFrom, step.othersTo);
  const stay = applyChanges(repository, others, false).refused;
  if (stay.length > 0) notes.push(`${named(stay)} changed since the task and stay as they are`);
  if (step.kind === 'undo') {
    const lost = remakeEmpty(repository, step.folders ?? [], step.pipes ?? []);
    if (lost.length > 0) notes.push(`Empty folders or pipes could not be made again: ${named(lost)}`);
  }
  if (repository.kept === 'workspace') {
    const own = applyToFolder(repository, changesOf(repository, step.folderFrom, step.folderTo));
    if (own.length > 0) notes.push(`${named(own)} in the git folder changed since the task and stay as they are`);
    giveObjects(
      repository,
      (step.refs ?? []).map((ref) => ref.to),
    );
    const left = setRefs(repository, step.refs ?? []);
    if (left.length > 0) notes.push(`${named(left)} changed since the task and stay as they are`);
    setStashes(repository, step);
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

function answer(repository: Repository, step: UndoStep): WorkspaceAnswer {
  const others = changesOf(repository, step.othersFrom, step.othersTo).map((change) => change.path);
  const files = [...diffTrees(repository, step.filesFrom, step.filesTo).map((change) => change.path), ...others.filter((path) => !/(^|\/)\.git\//.test(path))];
  const verb = step.kind === 'undo' ? 'Undid' : 'Did again';
  const how = {
    moved:
      step.branchFrom === step.branchTo
        ? `The branch ${step.kind === 'undo' ? 'went back to' : 'is at'} ${step.headTo?.slice(0, 10) ?? 'no commit'}.`
        : `HEAD is on ${step.branchTo ?? 'a detached HEAD'} again.`,
    reverted: `Commit ${step.headTo?.slice(0, 10)} takes it back, as there are later or published commits.`,
    none: (step.refs ?? []).length > 0 ? `${named(step.refs!.map((ref) => ref.name))} ${step.refs!.length === 1 ? 'is' : 'are'} as before it.` : '',
  }[step.commits];
  const which = `${verb} ${step.keys.length === 1 ? `task ${step.keys[0]}` : `${step.keys.length} tasks`}`;
  const what = files.length === 0 ? 'no file changes.' : `${files.length} ${files.length === 1 ? 'file' : 'files'}: ${named(files)}.`;
  const data: Undone = { keys: step.keys, files: files.slice(0, 500).map((path) => shown(utf8(path))), commits: step.commits, head: step.headTo };
  const back = step.kind === 'undo' ? ' It can be taken back with "redo".' : '';
  const notes = step.notes.length > 0 ? ` ${step.notes.join('. ')}.` : '';
  return { ok: true, output: `${which}; ${what}${how ? ` ${how}` : ''}${notes}${back}`, data: { ...data } };
}
