import { join } from 'node:path';
import type { Author } from '../../../src/contracts/workspace-ops.ts';
import { othersOf } from '../checkpoint/besides.ts';
import { pathsOf } from '../checkpoint/checkpoint.ts';
import { firstParent, isAncestor, readResult, stagedWith } from '../checkpoint/conclude.ts';
import { storedIndex } from '../checkpoint/git-folder.ts';
import { among } from '../checkpoint/others.ts';
import { extraOf, factsOf, hadRepository, readOwnRef, readRef, refOf, type Stored } from '../checkpoint/record.ts';
import { named } from '../checkpoint/report.ts';
import { git, type Repository } from '../git/git.ts';
import { mergeTrees } from '../git/merge.ts';
import { utf8 } from '../git/process.ts';
import { type Head, headOf, isFolder } from '../git/repository.ts';
import { type Snapshot, takeSnapshot } from '../git/snapshot.ts';
import { indexText, marksOf, ownIndex } from '../git/staging.ts';
import { changedTree, diffTrees, emptyTree, entriesOf, isSubmodule, type Signature, treeOf } from '../git/trees.ts';
import { OwnRefusal, Refusal } from '../refusal.ts';
import { planHead } from './move-head.ts';
import { planFurther, type Task } from './take-back.ts';
import type { UndoRecord } from './undo-log.ts';

export interface Undoing {
  what: 'one' | 'all' | 'redo';
  author: Author;
  key?: string;
  task?: string;
}

/** What every plan starts from: the undo log so far, and what is asked, by whom. */
export interface Planning {
  repository: Repository;
  log: UndoRecord[];
  op: Undoing;
  by: Signature;
}

/** What a record of each kind has. */
export function recordOf(
  { repository, log, op, by }: Planning,
  from: Head,
  to: Head,
  commits: UndoRecord['commits'],
  notes: string[],
) {
  return {
    n: (log.at(-1)?.n ?? 0) + 1,
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

export function stagedOf(repository: Repository, snapshot: Snapshot): string | null {
  if (repository.kept === 'beside') return null;
  if (snapshot.staged === null)
    throw new OwnRefusal('The index has unresolved conflicts; resolve them first. Nothing was changed.');
  return snapshot.staged;
}

/** `ours` with the change from `after` to `before` made on it; refused when it does not fit. */
export function without(repository: Repository, after: string, ours: string, before: string, what: string): string {
  const merged = mergeTrees(repository, after, ours, before);
  if (merged.conflicts.length === 0) return merged.tree;
  throw new Refusal(
    `${what} ${named(merged.conflicts)} were changed since, in the same places. Nothing was changed; put those changes away first.`,
  );
}

/** A task in a worktree has left a branch, and nothing else. */
function planBranch(
  planning: Planning,
  { before, after }: Task,
  notes: string[],
  refs: UndoRecord['refs'] = [],
): UndoRecord {
  const { repository } = planning;
  const { key } = before;
  const result = readResult(repository, key);
  const branch = after.branch ?? result?.keptOn ?? null;
  const tip = result?.tip ?? after.head;
  const name = `refs/heads/${branch}`;
  const head = headOf(repository);
  const changes = [...refs];
  if (branch !== null && tip && readOwnRef(repository, name)) {
    if (readOwnRef(repository, name) !== tip)
      throw new Refusal(`Branch ${branch} has had commits since. Nothing was changed; look at it first.`);
    if (head.branch === branch)
      throw new Refusal(`Branch ${branch} is checked out. Switch to another one first; nothing was changed.`);
    const holders = holdersOf(repository, tip, name);
    if (holders.length > 0 && tip !== before.head) {
      throw new Refusal(
        `The commits of task ${key} are in ${named(holders)} by now. Take them back there with git revert; nothing was changed.`,
      );
    }
    changes.push({ name: Buffer.from(name).toString('latin1'), from: tip, to: null });
  } else notes.push('Its branch is gone already');
  const none = emptyTree(repository);
  return {
    ...recordOf(planning, head, head, 'none', notes),
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

/** Other branches that hold a commit. */
const holdersOf = (repository: Repository, commit: string, except: string): string[] =>
  git(repository, ['for-each-ref', '--format=%(refname)', '--contains', commit, 'refs/heads', 'refs/remotes'])
    .split('\n')
    .filter((ref) => ref !== '' && utf8(ref) !== except);

export function planUndo(planning: Planning, chosen: Task[], notes: string[]): UndoRecord {
  const { repository } = planning;
  // files that git did not look at before a task are taken back by themselves
  const apart = among(chosen.flatMap(({ before }) => apartOf(repository, before)));
  const further = planFurther(repository, chosen, apart);
  if (chosen[0]!.before.worktree !== repository.worktree)
    return planBranch(planning, chosen[0]!, [...notes], further.refs);
  if (isFolder(join(repository.root, '.git')) && chosen.some(({ before }) => othersOf(repository, before).has('.git')))
    throw new OwnRefusal(
      'There is a repository now where a .git file led to the one elsewhere. Move the folder .git away first; nothing was changed.',
    );
  const trees = new Map(
    chosen
      .flatMap(({ before, after }) => [before, after])
      .map((state) => [state, strip(repository, state.tree, either(apart, absentIn(repository, state)))]),
  );
  const snapshot = takeSnapshot(repository, {
    also: pathsOf(repository, [...trees.values()]),
    except: { untracked: apart, tracked: apart },
  });
  const start = stagedOf(repository, snapshot);
  const present = strip(repository, snapshot.tree, (path) => snapshot.absent.has(path));
  let files = present;
  let staged = start;
  let head = headOf(repository);
  const from = head;
  let commits: UndoRecord['commits'] = 'none';
  const refs = new Map(further.refs.map(({ name, to }) => [Buffer.from(name, 'latin1').toString('utf8'), to]));
  for (const { before, after } of chosen) {
    files = without(repository, trees.get(after)!, files, trees.get(before)!, 'The files');
    const next = headWithout(planning, { before, after }, head, refs);
    if (next.how !== 'none') commits = commits === 'reverted' ? commits : next.how;
    // of an index in a git folder that was unusable nothing is known
    if (staged !== null && !before.partial && (hadRepository(after) || !hadRepository(before))) {
      const stagedThen = stagedBeforeAndAfter(repository, before, after) ?? [
        treeOf(repository, next.commit),
        treeOf(repository, head.commit),
      ];
      staged = without(repository, stagedThen[1], staged, stagedThen[0], 'Staged changes of');
    }
    head = { commit: next.commit, branch: next.branch };
    const inner = factsOf(repository, before).nested;
    if (
      !inner &&
      diffTrees(repository, before.tree, after.tree).some(
        (change) => isSubmodule(change.from) || isSubmodule(change.to),
      )
    ) {
      notes.push('Submodules are left as they are');
    }
  }
  const index = wholeIndex(planning, chosen, start, head, further.begun);
  if (typeof index === 'string') notes.push(index);
  return {
    ...recordOf(planning, from, head, commits, notes),
    ...further,
    ...(index && typeof index !== 'string' && index),
    absent: chosen.map(({ before }) => extraOf(repository, before.extra, 'absent')).findLast(Boolean) ?? null,
    kind: 'undo',
    of: null,
    keys: chosen.map(({ before }) => before.key),
    filesFrom: present,
    filesTo: files,
    stagedFrom: start,
    stagedTo: staged,
  };
}

/**
 * The whole index as it was before a task, where the task changed more of it than entries: conflicts of a merge, and
 * what git is told about files. Null where entries are enough; a sentence where the rest stays as it is. Refused where a
 * merge or the like would be in progress again elsewhere than it was, or in an index that was changed since.
 */
function wholeIndex(
  { repository }: Planning,
  chosen: Task[],
  staged: string | null,
  to: Head,
  begun: boolean,
): Pick<UndoRecord, 'index' | 'indexFrom'> | string | null {
  const whole = chosen.filter(({ before }) => !before.partial);
  const [newest, oldest] = [whole[0], whole.at(-1)];
  if (!newest || !oldest || repository.worktree !== null || !hadRepository(newest.after)) return null;
  const { before } = oldest;
  const [then, after] = [before, newest.after].map((state) => storedIndex(repository, state));
  if (!then || !after) return null;
  const unmerged = [before, newest.after].map((state) => extraOf(repository, state.extra, 'unmerged'));
  const conflicts = begun || (unmerged[0] !== null && unmerged[0] !== unmerged[1]);
  if (!conflicts && then.marks === after.marks) return null;
  const atPlace = to.commit === before.head && to.branch === before.branch;
  if (conflicts && !atPlace)
    throw new OwnRefusal(
      'A merge was in progress before the task, and there are later or published commits since. Take them back with git; nothing was changed.',
    );
  const isCalm = staged === stagedAfter(repository, newest.before, newest.after);
  if (conflicts && !isCalm)
    throw new OwnRefusal(
      'A merge was in progress before the task, and something was staged since. Unstage it first; nothing was changed.',
    );
  if (atPlace && isCalm && (conflicts || marksOf(indexText(repository)) === after.marks))
    return { index: then.oid, indexFrom: ownIndex(repository) };
  return 'What git is told to overlook stays as it is, because the index was changed since';
}

/** Tracked files that a sparse checkout left out of the working tree. */
function absentIn(repository: Repository, state: Stored): (path: string) => boolean {
  const tree = extraOf(repository, state.extra, 'absent');
  const paths = tree ? entriesOf(repository, tree) : null;
  return (path) => paths?.has(path) ?? false;
}

const either = (a: (path: string) => boolean, b: (path: string) => boolean) => (path: string) => a(path) || b(path);

/** Paths that were there before a task, and that git did not look at. */
function apartOf(repository: Repository, before: Stored): string[] {
  const facts = factsOf(repository, before);
  const known = [...othersOf(repository, before).keys(), ...(facts.named ?? []).map((entry) => entry.path)];
  return facts.named ? known : facts.ignored;
}

/** A tree without some paths. */
export function strip(repository: Repository, tree: string, apart: (path: string) => boolean): string {
  const gone = [...entriesOf(repository, tree).keys()].filter(apart);
  return changedTree(
    repository,
    tree,
    gone.map((path) => [path, null]),
  );
}

/**
 * The index before a task, and as its conclusion left it; null when it had conflicts, and for a worktree, with which the
 * workspace's own index is saved.
 */
function stagedBeforeAndAfter(repository: Repository, before: Stored, after: Stored): [string, string] | null {
  if (before.worktree !== null) return null;
  const first = extraOf(repository, before.extra, 'staged');
  const last = stagedAfter(repository, before, after);
  return first && last ? [first, last] : null;
}

/** The index as the conclusion of a task left it. */
function stagedAfter(repository: Repository, before: Stored, after: Stored): string | null {
  const last = extraOf(repository, after.extra, 'staged');
  const commit = readRef(repository, refOf(before.key, 'commit'));
  if (!last || !commit || (readResult(repository, before.key) ?? { commit }).commit !== commit) return last;
  const parent = treeOf(repository, firstParent(repository, commit));
  return stagedWith(repository, before, parent, last, treeOf(repository, commit)).tree;
}

function headWithout(
  { repository, op, by }: Planning,
  { before, after }: Task,
  head: Head,
  refs: ReadonlyMap<string, string | null>,
) {
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
  // Its conclusion failed, or the version before wrote some names so that they cannot be read again. No undo is asked
  // for while a task is at work.
  const commit = readRef(repository, refOf(before.key, 'commit'));
  const head = headOf(repository).commit;
  const isHere = commit !== null && head !== null && isAncestor(repository, commit, head);
  return { commit: isHere ? commit : after.head, branch: after.branch };
}
