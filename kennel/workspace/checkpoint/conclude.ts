import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Author, ConcludedChanges, WorkspaceAnswer } from '../../../src/contracts/workspace-ops.ts';
import { converter } from '../git/convert.ts';
import { content, GitFailed, type Repository, tryGit } from '../git/git.ts';
import { type Merged, mergeTrees } from '../git/merge.ts';
import { utf8 } from '../git/process.ts';
import { type Head, headOf, inProgress, isFolder, type Place } from '../git/repository.ts';
import { forgetFiles, readIndex, type Snapshot, takeSnapshot } from '../git/snapshot.ts';
import { indexLock, restage } from '../git/staging.ts';
import { giveObjects, type Ref, tidy } from '../git/transfer.ts';
import {
  type Change,
  changedTree,
  commitTree,
  diffTrees,
  type Entry,
  entriesOf,
  isSubmodule,
  jsonBlob,
  type Signature,
  treeOf,
} from '../git/trees.ts';
import { LIMITS } from '../limits.ts';
import { testCommand } from '../project/profile.ts';
import { besides, innerChanges, joined, othersOf } from './besides.ts';
import { pathsOf, repositoryOf, takeHistory, withRest } from './checkpoint.ts';
import { generatedAmong, generatedNote } from './generated.ts';
import { objectDamage } from './git-folder.ts';
import { among, retakeOthers } from './others.ts';
import {
  extraOf,
  type Facts,
  factsOf,
  hadRepository,
  now,
  readOwnRef,
  readRef,
  readState,
  refOf,
  refsOfTask,
  type Stored,
  storeState,
  writeRef,
} from './record.ts';
import { changedFiles, counted, named, summary } from './report.ts';

export interface Concluding {
  key: string;
  message: string;
  author: Author;
  keepOnBranchOnly: boolean;
  uncommitted?: string;
}

/** The content of `refs/fetch/<key>/result`. `tip`: HEAD at the end of the task. */
export interface Result extends Omit<ConcludedChanges, 'test'> {
  tip: string | null;
}

interface Changed {
  before: Stored;
  after: Stored;
  prepared: string | null;
  /** new files that are not committed */
  generated: ReadonlyMap<string, string>;
}

type Committed = Pick<Result, 'commit' | 'keptOn' | 'note' | 'tip' | 'branch'>;

/**
 * Saves the state after a task and commits its changes. Progress is stored in this order: the refs `after` and
 * `commit`, the branch, the index, the ref
 * `result`. So the next call finishes one that was killed. `again`: what had to be restored in git first.
 */
export function conclude(place: Place, op: Concluding, again: string | null = null): WorkspaceAnswer {
  const { repository, before } = repositoryOf(place, op.key);
  const done = refsOfTask(repository, op.key);
  const known = done.result ? readResult(repository, op.key, done.result) : null;
  if (known) return answer(place, repository, known);
  const { refs, head } = repository.opened;
  const unread = takeHistory(repository, refs, head);
  const after =
    (done.after && readState(repository, op.key, 'after')) || takeAfter(repository, before, op, { refs, head, unread });
  const inner = innerChanges(repository, before, after);
  const generated = generatedBy(repository, before, after);
  const shown = changedTree(
    repository,
    after.tree,
    [...generated.keys()].map((path) => [path, null]),
  );
  const files = joined(changedFiles(repository, before.tree, shown), inner.files);
  const committed: Committed =
    repository.kept === 'beside'
      ? { commit: null, branch: null, tip: null }
      : op.uncommitted === undefined
        ? commitChanges(repository, { before, after, prepared: done.commit ?? null, generated }, op, {
            ...op.author,
            seconds: after.at,
          })
        : onlySaved(repository, before, op.uncommitted);
  const made = generatedNote(generated);
  const left = hadRepository(before) && repository.kept !== 'beside' ? keepLeft(repository, before) : undefined;
  const told = [again, committed.note, made, left, ...besides(repository, before, after), ...inner.notes]
    .filter(Boolean)
    .join(' ');
  const result: Result = { ...files, ...committed, ...(told && { note: told }) };
  writeRef(repository, refOf(op.key, 'result'), jsonBlob(repository, result), done.result ?? null);
  tidy(repository);
  if (repository.worktree !== null) forgetFiles(repository);
  return answer(place, repository, result);
}

/** Null also for a result that cannot be read. */
export function readResult(
  repository: Repository,
  key: string,
  ref: string | null = readRef(repository, refOf(key, 'result')),
): Result | null {
  if (!ref) return null;
  try {
    return JSON.parse(utf8(content(repository, ['cat-file', 'blob', ref]))) as Result;
  } catch {
    return null;
  }
}

/** Saves the state after a task or a command. */
export function takeAfter(
  repository: Repository,
  before: Stored,
  op: Pick<Concluding, 'key' | 'author'>,
  { refs, head, unread }: { refs: Ref[]; head: Head; unread: string | null },
): Stored {
  const then = factsOf(repository, before);
  const snapshot = snapshotAfter(repository, before);
  const others = retakeOthers(repository, othersOf(repository, before).keys(), {
    nested: then.nested ?? [],
    ignored: snapshot.ignored,
  });
  const { facts } = withRest(repository, snapshot, others, refs);
  const damage = damageOf(repository, before, then, unread);
  const at = Math.max(now(), before.at);
  const { n, key, worktree, turn } = before;
  const notes = snapshot.notes.slice(0, 50);
  const state = {
    n,
    key,
    worktree,
    ...(turn !== undefined && { turn }),
    head: head.commit,
    branch: head.branch,
    at,
    dirty: 0,
    notes,
    kept: repository.kept,
  };
  return storeState(repository, 'after', { snapshot, facts }, { ...state, ...(damage && { damage }) }, op.author);
}

/**
 * The files as they are now, as far as they may be of the task. Files in the checkpoint are compared even if they are
 * ignored now. Files that were ignored then do not belong to the task.
 */
export function snapshotAfter(repository: Repository, before: Stored): Snapshot {
  const then = factsOf(repository, before);
  const apart = among([...othersOf(repository, before).keys(), ...(then.named ?? []).map((entry) => entry.path)]);
  // a repository inside the workspace is one for the whole task, even if the task removes its git folder
  const apartOrNested = either(apart, among(then.nested ?? []));
  const except = { untracked: either(apartOrNested, among(then.ignored)), tracked: apartOrNested };
  return takeSnapshot(repository, { also: pathsOf(repository, [before.tree]), except });
}

const either = (a: (path: string) => boolean, b: (path: string) => boolean) => (path: string) => a(path) || b(path);

/** What a task did to the git folder as a whole; null when the folder is usable. */
function damageOf(repository: Repository, before: Stored, then: Facts, unread: string | null): string | null {
  if (!hadRepository(before)) return null;
  if (repository.kept === 'beside') return repository.damage ?? 'it is gone';
  return objectDamage(repository, then) ?? unread;
}

/** What a task made that does not belong into a commit. */
const generatedBy = (repository: Repository, before: Stored, after: Stored): ReadonlyMap<string, string> =>
  generatedAmong(
    repository.root,
    diffTrees(repository, before.tree, after.tree).flatMap(({ path, from, to }) => (from === null && to ? [path] : [])),
    entriesOf(
      repository,
      repository.kept === 'beside' ? before.tree : treeOf(repository, headOf(repository).commit),
    ).keys(),
  );

/** `prepared`: the commit that an earlier call made, and may have been killed before it moved the branch to it. */
function commitChanges(
  repository: Repository,
  { before, after, prepared, generated }: Changed,
  op: Concluding,
  by: Signature,
): Committed {
  const head = headOf(repository);
  if (prepared && head.commit && isAncestor(repository, prepared, head.commit)) {
    // an earlier call was killed after it moved the branch: only the index may be behind
    if (head.commit === prepared) stageCommit(repository, before, firstParent(repository, prepared), prepared);
    const keptOn = branchFor(repository, before, { ...head, commit: prepared });
    return { commit: prepared, branch: head.branch, keptOn, tip: head.commit, note: notes(before, head, [], keptOn) };
  }
  const { convert: converted, filtered } = converter(
    repository,
    diffTrees(repository, before.tree, after.tree).flatMap(({ path }) => (generated.has(path) ? [] : [path])),
  );
  const convert = (path: string, entry: Entry) => (generated.has(path) ? 'skip' : converted(path, entry));
  const headTree = treeOf(repository, head.commit);
  const merged = mergeTrees(repository, before.tree, headTree, after.tree, { convert });
  const left = [...filtered];
  const own = head.commit !== before.head ? head.commit : null;
  if (merged.conflicts.length === 0 && merged.changes.length === 0) {
    const keptOn = own && branchFor(repository, before, head);
    return { commit: own, branch: head.branch, keptOn, tip: head.commit, note: notes(before, head, left, keptOn) };
  }
  const onOwnBranch = head.branch === `fetch/${op.key}`;
  const much = onOwnBranch || op.keepOnBranchOnly ? null : tooMuch(repository, merged.changes);
  if (much) {
    const note = `Nothing is committed yet, because it is much: ${much}. Look at the files, then say "commit" or "undo".`;
    return { commit: own, branch: head.branch, tip: head.commit, note };
  }
  const why =
    op.keepOnBranchOnly && !onOwnBranch
      ? 'asked'
      : refusal(repository, before, merged.conflicts, headTree, merged.tree);
  const parents = head.commit ? [head.commit] : [];
  if (why === null) {
    const commit = commitTree(repository, merged.tree, parents, messageOf(repository, op, headTree, merged.tree), by);
    giveObjects(repository, [commit], { except: [head.commit], made: true });
    if (prepared !== commit) writeRef(repository, refOf(op.key, 'commit'), commit, prepared);
    const moved = tryGit(repository, [
      'update-ref',
      '-m',
      `fetch: task ${op.key}`,
      'HEAD',
      commit,
      head.commit ?? '0'.repeat(commit.length),
    ]);
    if (moved.code === 0) {
      stageCommit(repository, before, head.commit, commit);
      const keptOn = branchFor(repository, before, { ...head, commit });
      return { commit, branch: head.branch, keptOn, tip: commit, note: notes(before, head, left, keptOn) };
    }
    return keep(`the branch could not be moved (${moved.stderr.trim()})`);
  }
  return keep(why);

  function keep(reason: string): Committed {
    const tree = merged.conflicts.length === 0 ? merged.tree : wholeState(repository, headTree, after.tree, generated);
    const commit = commitTree(repository, tree, parents, messageOf(repository, op, headTree, tree), by);
    giveObjects(repository, [commit], { except: [head.commit], made: true });
    const keptOn = keepBranch(repository, op.key, commit);
    const what = merged.conflicts.length === 0 ? 'They' : "They, together with the person's own unfinished work,";
    const note =
      reason === 'asked'
        ? `The changes are uncommitted in the working tree, and committed on branch ${keptOn} only.`
        : `The changes are in the working tree and were not committed there: ${reason}. ${what} are on branch ${keptOn}.`;
    return {
      commit: own,
      branch: head.branch,
      keptOn,
      tip: head.commit,
      note: [note, notes(before, head, left, null)].filter(Boolean).join(' '),
    };
  }
}

/** What earlier calls have committed, before they failed. */
function onlySaved(repository: Repository, before: Stored, why: string): Committed {
  const head = headOf(repository);
  if (head.commit !== before.head) branchFor(repository, before, head);
  const note = `The changes are in the files and could not be committed: ${why.split('\n')[0]}. Look at them and commit them yourself, or say "undo".`;
  return { commit: head.commit === before.head ? null : head.commit, branch: head.branch, tip: head.commit, note };
}

/** How much a commit would add, where that is more than a person expects; null where it is not. */
function tooMuch(repository: Repository, changes: readonly Change[]): string | null {
  const fresh = changes.filter(({ from, to }) => from === null && to !== null).length;
  const sizes = (entries: Array<Entry | null>): number =>
    content(repository, ['cat-file', '--batch-check=%(objectsize)'], {
      input: entries.flatMap((entry) => (entry && !isSubmodule(entry) ? [`${entry.oid}\n`] : [])).join(''),
    })
      .split('\n')
      .reduce((sum, size) => sum + Number(size || 0), 0);
  const bytes = sizes(changes.map(({ to }) => to)) - sizes(changes.map(({ from }) => from));
  if (fresh <= LIMITS.commitFiles && bytes <= LIMITS.commitBytes) return null;
  return `${fresh} new ${fresh === 1 ? 'file' : 'files'}, ${(bytes / 1_000_000).toFixed(1)} MB more`;
}

/** Why the task's changes cannot be committed on the branch; null when they can. */
function refusal(
  repository: Repository,
  before: Stored,
  conflicts: string[],
  headTree: string,
  newTree: string,
): string | null {
  const doing = inProgress(repository);
  if (doing) return `${doing} is in progress`;
  const index = readIndex(repository);
  if (index.unmerged.size > 0) return 'the index has unresolved conflicts';
  if (conflicts.length > 0) return `the task worked on top of uncommitted changes in ${named(conflicts)}`;
  const staged = stagedWith(repository, before, headTree, index.staged()!, newTree);
  if (staged.conflicts.length > 0) return `other changes of ${named(staged.conflicts)} are staged`;
  return indexLock(repository);
}

/** Moves the index from one commit to the next. What else is staged stays staged. */
function stageCommit(repository: Repository, before: Stored, from: string | null, to: string): void {
  const staged = readIndex(repository).staged();
  if (staged === null) return;
  restage(repository, stagedWith(repository, before, treeOf(repository, from), staged, treeOf(repository, to)).changes);
}

/**
 * An index with a commit from `from` to `to`. What the task staged itself, and changed again, gives way; what the person
 * staged does not.
 */
export function stagedWith(repository: Repository, before: Stored, from: string, staged: string, to: string): Merged {
  const merged = mergeTrees(repository, from, staged, to);
  if (merged.conflicts.length === 0) return merged;
  const then = before.worktree === null ? extraOf(repository, before.extra, 'staged') : null;
  const own = new Set(then ? diffTrees(repository, treeOf(repository, before.head), then).map(({ path }) => path) : []);
  if (merged.conflicts.some((path) => own.has(path))) return merged;
  const entries = entriesOf(repository, from);
  const without = changedTree(
    repository,
    staged,
    merged.conflicts.map((path) => [path, entries.get(path) ?? null]),
  );
  const again = mergeTrees(repository, from, without, to);
  return again.conflicts.length > 0 ? again : { ...again, changes: [...diffTrees(repository, staged, again.tree)] };
}

/** All files as they are now, in the form in which they are committed. */
function wholeState(
  repository: Repository,
  headTree: string,
  files: string,
  without: ReadonlyMap<string, string>,
): string {
  const changes = diffTrees(repository, headTree, files);
  const { convert } = converter(
    repository,
    changes.map((change) => change.path),
  );
  const entries = changes.flatMap(({ path, from, to }): Array<[string, typeof from]> => {
    if (without.has(path)) return [];
    const entry = to && convert(path, to);
    return entry === 'skip' ? [] : [[path, entry]];
  });
  return changedTree(repository, headTree, entries);
}

/**
 * The branch that holds a commit of a detached HEAD, which git would delete some day; null where HEAD is on a branch.
 * The branch of a worktree goes on to it.
 */
function branchFor(repository: Repository, { key, worktree }: Stored, { branch, commit }: Head): string | null {
  if (branch !== null || commit === null) return null;
  const ref = `refs/heads/fetch/${key}`;
  const there = worktree === null ? null : readOwnRef(repository, ref);
  if (there && there !== commit && isAncestor(repository, there, commit))
    tryGit(repository, ['update-ref', ref, commit, there]);
  return keepBranch(repository, key, commit);
}

/** Commits of a detached HEAD that the task went away from: a branch holds the newest, which git would delete some day. */
function keepLeft(repository: Repository, { key, at }: Stored): string | undefined {
  const log = tryGit(repository, ['log', '--walk-reflogs', '--date=unix', '--format=%H %gd %gs', 'HEAD']);
  const moves = log.stdout.split('\n').filter((line) => Number(/@\{(\d+)\}/.exec(line)?.[1]) >= at);
  const left = moves.flatMap((line, index) => {
    const from = moves[index + 1]?.split(' ')[0];
    return from && / checkout: moving from /.test(line) && !isHeld(repository, from) ? [from] : [];
  });
  const names = left.flatMap((commit) => (isHeld(repository, commit) ? [] : [keepBranch(repository, key, commit)]));
  if (names.length === 0) return undefined;
  return `The task left commits that no branch had; branch ${names.join(', ')} keeps them.`;
}

const REFS = ['refs/heads', 'refs/tags', 'refs/remotes'];
const isHeld = (repository: Repository, commit: string): boolean =>
  tryGit(repository, ['for-each-ref', '--count=1', `--contains=${commit}`, ...REFS]).stdout !== '';

/** Creates branch `fetch/<key>`, with a number at its end if that name is taken. Returns its name. */
function keepBranch(repository: Repository, key: string, commit: string): string {
  let why = '';
  for (const name of [`fetch/${key}`, ...[2, 3, 4, 5, 6, 7, 8, 9].map((n) => `fetch/${key}-${n}`), `fetch-${key}`]) {
    const ref = `refs/heads/${name}`;
    const there = readOwnRef(repository, ref);
    if (there === commit) return name;
    if (there) continue;
    const made = tryGit(repository, ['update-ref', ref, commit, '0'.repeat(commit.length)]);
    if (made.code === 0) return name;
    why = made.stderr.trim();
  }
  throw new GitFailed(`no branch could be made for ${key}: ${why}`);
}

function notes(before: Stored, head: Head, filtered: string[], keptOn: string | null): string | undefined {
  const all: string[] = [];
  if (head.branch !== before.branch) {
    const name = (branch: string | null) => branch ?? 'a detached HEAD';
    all.push(`The task switched from ${name(before.branch)} to ${name(head.branch)}.`);
  }
  if (head.branch === null && keptOn) all.push(`HEAD is detached; branch ${keptOn} keeps its commits.`);
  if (filtered.length > 0)
    all.push(`Not committed, as a filter of the repository would have to run over it: ${named(filtered)}.`);
  return all.length > 0 ? all.join(' ') : undefined;
}

function messageOf(repository: Repository, op: Concluding, from: string, to: string): string {
  const message = op.message.trim() || `Task ${op.key}`;
  return /^\s*\n/.test(op.message) ? `${summary(changedFiles(repository, from, to))}\n\n${message}\n` : `${message}\n`;
}

export function isAncestor(repository: Repository, commit: string, of: string): boolean {
  return tryGit(repository, ['merge-base', '--is-ancestor', commit, of]).code === 0;
}

export function firstParent(repository: Repository, commit: string): string | null {
  return content(repository, ['rev-list', '--parents', '-n1', commit]).trim().split(' ')[1] ?? null;
}

function answer(place: Place, repository: Repository, result: Result): WorkspaceAnswer {
  const { tip: _, ...data } = result;
  const changed = result.files.length === 0 ? 'Nothing was changed.' : `Changed ${counted(result)}.`;
  const committed = result.commit
    ? ` Committed as ${result.commit.slice(0, 10)} on ${result.branch ?? 'a detached HEAD'}.`
    : '';
  const link = join(place.workspace, '.git');
  const why =
    existsSync(link) && !isFolder(link)
      ? 'The git folder of this workspace is elsewhere'
      : 'The workspace is no git repository';
  const beside =
    repository.kept === 'beside' && result.files.length > 0 ? ` ${why}: nothing was committed, but undo works.` : '';
  return {
    ok: true,
    output: changed + committed + beside + (result.note ? ` ${result.note}` : ''),
    data: { ...data, test: result.files.length > 0 ? testCommand(place.root) : null },
  };
}
