import { copyFileSync, lstatSync, mkdirSync, readdirSync, renameSync, rmdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Undone, WorkspaceAnswer } from '../../../src/contracts/workspace-ops.ts';
import { applyToFolder } from '../checkpoint/git-folder.ts';
import { readRef } from '../checkpoint/record.ts';
import { named } from '../checkpoint/report.ts';
import { applyChanges, entryOnDisk, inTheWayOf } from '../files/apply.ts';
import { shown } from '../files/names.ts';
import { kept, type Repository, tryGit } from '../git/git.ts';
import { foldersOf } from '../git/merge.ts';
import { utf8 } from '../git/process.ts';
import { headOf } from '../git/repository.ts';
import { distrustIndex, onDisk, readIndex } from '../git/snapshot.ts';
import { indexFile, indexText, overlookAbsent, reread, restage } from '../git/staging.ts';
import { giveObjects, setRefs } from '../git/transfer.ts';
import { type Change, diffTrees, entriesOf, type Signature } from '../git/trees.ts';
import { Refusal } from '../refusal.ts';
import { leaveBranch, moveHead } from './move-head.ts';
import { changesOf, remakeEmpty, setStashes } from './take-back.ts';
import { type UndoRecord, undoRef, writeUndoRecord } from './undo-log.ts';

/** Does what a record says, as far as it is not done yet. */
export function finish(repository: Repository, record: UndoRecord, by: Signature, resumed: boolean): WorkspaceAnswer {
  const ref = undoRef(record.n);
  const stored = readRef(repository, ref)!;
  const files = diffTrees(repository, record.filesFrom, record.filesTo);
  const [inPlaces, others] = inPlacesOf(files, changesOf(repository, record.othersFrom, record.othersTo));
  const { refused } = applyChanges(repository, [...files, ...inPlaces], !resumed);
  const notes = [...record.notes];
  if (refused.length > 0 && !resumed) {
    kept(repository, ['update-ref', '-d', ref, stored]);
    throw new Refusal(refusalFor(repository, refused, record.kind));
  }
  if (refused.length > 0) notes.push(`${named(refused)} changed in the meantime and stay as they are`);
  notes.push(...leftNotes(repository, applyChanges(repository, others, false).refused, record.kind));
  if (record.kind === 'undo') {
    for (const folder of record.nested ?? []) removeSkeleton(repository, folder.replace(/\/$/, ''));
    const lost = remakeEmpty(repository, record.folders ?? [], record.pipes ?? []);
    if (lost.length > 0) notes.push(`Empty folders or pipes could not be made again: ${named(lost)}`);
  }
  if (repository.kept === 'workspace') {
    const own = applyToFolder(repository, changesOf(repository, record.folderFrom, record.folderTo));
    if (own.length > 0) notes.push(`${named(own)} in the git folder changed since the task and stay as they are`);
    giveObjects(
      repository,
      (record.refs ?? []).map((ref) => ref.to),
    );
    const from = { commit: record.headFrom, branch: record.branchFrom };
    const to = { commit: record.headTo, branch: record.branchTo };
    const why = `fetch: ${record.kind} ${record.keys.join(' ')}`;
    if ((record.refs ?? []).length > 0) leaveBranch(repository, headOf(repository), from, to, why);
    const left = setRefs(repository, record.refs ?? []);
    if (left.length > 0) notes.push(`${named(left)} changed since the task and stay as they are`);
    if (!setStashes(repository, record)) notes.push('The stashes changed since the task and stay as they are');
    if (moveHead(repository, headOf(repository), from, to, why)) {
      if (record.index) {
        if (!setIndex(repository, record)) notes.push('What is staged changed in the meantime and stays as it is');
      } else if (record.stagedFrom && record.stagedTo)
        restage(repository, diffTrees(repository, record.stagedFrom, record.stagedTo));
      reread(
        repository,
        files.flatMap(({ path, to }) => (to ? [path] : [])),
      );
      if (record.absent) overlookAbsent(repository, [...entriesOf(repository, record.absent).keys()]);
    } else notes.push('HEAD was moved in the meantime and stays where it is');
  }
  const done = { ...record, notes, done: true };
  writeUndoRecord(repository, done, by, stored);
  return answer(repository, done);
}

/** Writes a whole index, unless it has been changed since this was begun. False: it was. */
function setIndex(repository: Repository, { index, indexFrom }: UndoRecord): boolean {
  const [now, to] = [indexText(repository), indexText(repository, indexFile(repository, index!))];
  if (now === to) return true;
  if (to === null) return false;
  // a record of the version before has only conflicts to bring back
  const from = indexFrom ? indexText(repository, indexFile(repository, indexFrom)) : null;
  if (indexFrom === undefined ? readIndex(repository).unmerged.size > 0 : now !== from) return false;
  const listed = to.split('\0').flatMap((line) => {
    const [, mode, oid] = line.split(' ', 3);
    return oid && mode !== '160000' ? [oid] : [];
  });
  giveObjects(repository, listed);
  const fresh = join(repository.gitDir, 'fetch', 'index');
  mkdirSync(dirname(fresh), { recursive: true });
  copyFileSync(indexFile(repository, index!), fresh);
  distrustIndex(fresh);
  renameSync(fresh, join(repository.gitDir, 'index'));
  tryGit(repository, ['update-index', '-q', '--ignore-submodules', '--refresh']);
  return true;
}

/** Removes the empty folders that are left of a repository inside the workspace. A folder with a file stays. */
function removeSkeleton(repository: Repository, folder: string): void {
  const at = onDisk(repository.root, folder);
  if (!lstatSync(at, { throwIfNoEntry: false })?.isDirectory()) return;
  for (const name of readdirSync(at, 'latin1')) removeSkeleton(repository, `${folder}/${name}`);
  try {
    rmdirSync(at);
  } catch {
    // it is not empty
  }
}

/**
 * Files that git does not look at and that go, where files come in their places: a file in place of their folder, or a
 * folder in place of one of them. These are one change with the files, or what goes would be in the way of what comes.
 * And the others.
 */
function inPlacesOf(files: readonly Change[], others: readonly Change[]): [Change[], Change[]] {
  const coming = new Set(files.filter(({ to }) => to).map(({ path }) => path));
  const folders = new Set([...coming].flatMap(foldersOf));
  const goesFirst = ({ path, to }: Change): boolean =>
    !to && (folders.has(path) || foldersOf(path).some((folder) => coming.has(folder)));
  return [others.filter(goesFirst), others.filter((change) => !goesFirst(change))];
}

/**
 * Why files cannot be put back. What is in the way is nothing that git looks at, or it would have been taken back: it
 * may be the person's.
 */
function refusalFor(repository: Repository, paths: string[], kind: UndoRecord['kind']): string {
  const others = new Map(
    paths.map((path) => [
      path,
      inTheWayOf(repository, path) ?? (entryOnDisk(repository, path) === 'other' ? path : null),
    ]),
  );
  const blocked = paths.filter((path) => others.get(path) !== null);
  if (blocked.length === 0) return `${named(paths)} changed at this moment. Nothing was changed; try again.`;
  const away = [...new Set(blocked.map((path) => others.get(path)!))];
  return `${named(blocked)} cannot be put back, because ${named(away)} is in the way, which git does not look at. Nothing was changed: move it away, and say "${kind}" again.`;
}

/** Files that git does not look at and that are left as they are, each with its reason. */
function leftNotes(repository: Repository, paths: string[], kind: UndoRecord['kind']): string[] {
  const away = new Map(paths.map((path) => [path, inTheWayOf(repository, path)]));
  const changed = paths.filter((path) => away.get(path) === null);
  const kept = paths.filter((path) => away.get(path) !== null);
  const others = [...new Set(kept.map((path) => away.get(path)!))];
  const again = kind === 'undo' ? '"redo" and then "undo" again' : '"undo" and then "redo" again';
  return [
    ...(changed.length > 0 ? [`${named(changed)} changed since the task and stay as they are`] : []),
    ...(kept.length > 0
      ? [`${named(kept)} could not be put back, because ${named(others)} is in the way: move it away, and say ${again}`]
      : []),
  ];
}

export function answer(repository: Repository, record: UndoRecord): WorkspaceAnswer {
  const others = changesOf(repository, record.othersFrom, record.othersTo).filter(
    ({ path }) => !/(^|\/)\.git\//.test(path),
  );
  const changes = [...diffTrees(repository, record.filesFrom, record.filesTo), ...others];
  const isUndo = record.kind === 'undo';
  const refs = record.refs ?? [];
  const how = {
    moved:
      record.branchFrom === record.branchTo
        ? `Its commit is ${isUndo ? 'taken back' : 'there again'}, too.`
        : record.branchTo
          ? `The branch ${record.branchTo} is checked out again.`
          : 'No branch is checked out, as before.',
    reverted: 'A new commit takes it back, as there are later or published commits.',
    none:
      refs.length > 0 ? `${named(refs.map(({ name }) => name))} ${refs.length === 1 ? 'is' : 'are'} as before it.` : '',
  }[record.commits];
  const which = record.keys.length > 1 ? ` (${steps(record.keys)})` : '';
  const data: Undone = {
    keys: record.keys,
    files: changes.slice(0, 500).map(({ path }) => shown(utf8(path))),
    commits: record.commits,
    head: record.headTo,
  };
  const names = changes.length + record.notes.length + (record.commits === 'moved' ? 1 : refs.length);
  const sentences = [
    `${isUndo ? 'Undone' : 'Redone'}${which}: ${changesInWords(changes, isUndo)}.`,
    how,
    ...record.notes.map((note) => `${note}.`),
    isUndo ? 'Redo brings it back.' : '',
  ];
  return {
    ok: true,
    output: sentences.filter(Boolean).join(' '),
    ...(names === 0 && { ours: true }),
    data: { ...data },
  };
}

/** What became of the files: `a.txt is gone again, b.txt and c.txt are as before`. */
function changesInWords(changes: readonly Change[], isUndo: boolean): string {
  if (changes.length === 0) return 'no file has changed';
  const kinds: Array<[string, Change[]]> = [
    ['gone again', changes.filter(({ to }) => !to)],
    [isUndo ? 'back' : 'there again', changes.filter(({ from }) => !from)],
    [isUndo ? 'as before' : 'changed again', changes.filter(({ from, to }) => from && to)],
  ];
  return kinds
    .filter(([, some]) => some.length > 0)
    .map(([how, some]) => `${named(some.map(({ path }) => path))} ${some.length === 1 ? 'is' : 'are'} ${how}`)
    .join(', ');
}

/** What the keys stand for, in words. */
function steps(keys: string[]): string {
  const some = (count: number, one: string) => (count === 0 ? [] : [count === 1 ? `1 ${one}` : `${count} ${one}s`]);
  const edits = keys.filter((key) => key.startsWith('edit-')).length;
  const commands = keys.filter((key) => key.startsWith('command-')).length;
  const tasks = keys.filter((key) => !/^(edit|command)-/.test(key));
  const all = [...some(tasks.length, 'task'), ...some(edits, 'edit'), ...some(commands, 'command')];
  return all.length > 1 ? `${all.slice(0, -1).join(', ')} and ${all.at(-1)}` : all[0]!;
}
