import { lstatSync, mkdirSync } from 'node:fs';
import { otherChanges } from '../checkpoint/besides.ts';
import { readResult } from '../checkpoint/conclude.ts';
import { folderChanges, progressChanges, STASHES, stashesOf } from '../checkpoint/git-folder.ts';
import { markedPath, plainPath } from '../checkpoint/others.ts';
import { factsOf, hadRepository, readOwnRef, type Stored } from '../checkpoint/record.ts';
import { applyChanges, entryOnDisk } from '../files/apply.ts';
import { content, environment, type Repository } from '../git/git.ts';
import { foldersOf } from '../git/merge.ts';
import { run, utf8 } from '../git/process.ts';
import { onDisk } from '../git/snapshot.ts';
import { giveObjects } from '../git/transfer.ts';
import { type Change, changedTree, diffTrees, type Entry, emptyTree, same } from '../git/trees.ts';
import type { UndoRecord } from './undo-log.ts';

/**
 * What undo takes back beside files, HEAD and index: refs, files that git does not look at, files of git itself, empty
 * folders, pipes.
 */
export type Further = Required<
  Pick<UndoRecord, 'refs' | 'othersFrom' | 'othersTo' | 'folderFrom' | 'folderTo' | 'folders' | 'pipes'>
> &
  Pick<UndoRecord, 'stashes' | 'nested'> & {
    /** a merge or the like that was in progress is so again */
    begun: boolean;
  };

export interface Task {
  before: Stored;
  after: Stored;
}

/** From the newest task to the oldest: where it is expected to be now, and where it goes. */
/** `apart`: what git did not look at before one of the tasks, although it may have before another. */
export function planFurther(repository: Repository, chosen: Task[], apart: (path: string) => boolean): Further {
  const refs = new Map<string, { from: string | null; to: string | null }>();
  const others = new Map<string, Change>();
  const folder = new Map<string, Change>();
  const [folders, pipes] = [new Set<string>(), new Set<string>()];
  for (const { before, after } of chosen) {
    for (const { name, from, to } of refChanges(repository, before, after))
      refs.set(name, { from: refs.has(name) ? refs.get(name)!.from : from, to });
    const inTree = diffTrees(repository, after.tree, before.tree).filter(({ path }) => apart(path));
    for (const change of [...inTree, ...otherChanges(repository, after, before)])
      others.set(change.path, { ...change, from: (others.get(change.path) ?? change).from });
    for (const change of folderChanges(repository, after, before))
      folder.set(change.path, { ...change, from: (folder.get(change.path) ?? change).from });
    const facts = factsOf(repository, before);
    for (const path of facts.folders ?? []) folders.add(path);
    for (const path of facts.pipes ?? []) pipes.add(path);
  }
  const whole = chosen.filter(({ before }) => !before.partial);
  const [newest, oldest] = [whole[0]?.after, whole.at(-1)?.before];
  const begun = newest && oldest ? progressChanges(repository, newest, oldest) : [];
  for (const change of begun) folder.set(change.path, change);
  return {
    refs: [...refs].map(([name, change]) => ({ name, ...change })),
    ...(newest && oldest && stashChange(repository, newest, oldest)),
    ...treesOf(repository, 'others', [...others.values()]),
    ...treesOf(repository, 'folder', [...folder.values()]),
    // a folder with a git folder that no task found there
    nested: chosen.flatMap(({ before, after }) => newNested(repository, before, after)),
    begun: begun.length > 0,
    folders: [...folders],
    pipes: [...pipes],
  } as Further;
}

/**
 * Branches, tags, stashes, notes and replacements that a task moved or deleted. Branches and tags that it made stay, and
 * so does what other tasks and remotes did.
 */
function refChanges(
  repository: Repository,
  before: Stored,
  after: Stored,
): Array<{ name: string; from: string | null; to: string | null }> {
  const [then, now] = [factsOf(repository, before).refs, factsOf(repository, after).refs];
  if (!then || !now || !hadRepository(after)) return [];
  const current = new Map(now.map((ref) => [ref.name, ref.oid]));
  // HEAD takes its own branch with it
  const own =
    before.branch !== null && before.branch === after.branch
      ? Buffer.from(`refs/heads/${before.branch}`).toString('latin1')
      : null;
  // its conclusion may have committed on a branch that it has switched to
  const tip = after.branch === null ? null : (readResult(repository, before.key)?.tip ?? null);
  const switched = tip && Buffer.from(`refs/heads/${after.branch}`).toString('latin1');
  const known = new Set(then.map(({ name }) => name));
  const fresh = now.filter(({ name }) => /^refs\/(stash$|notes\/|replace\/)/.test(name) && !known.has(name));
  const made = fresh.map(({ name, oid }) => ({ name, from: oid, to: null }));
  const others = then.flatMap(({ name, oid, symref }) => {
    const from = name === switched ? tip : (current.get(name) ?? null);
    const passing = from === oid || name === own || symref !== undefined || name.startsWith('refs/heads/fetch/');
    return passing || (from !== null && name.startsWith('refs/remotes/')) ? [] : [{ name, from, to: oid }];
  });
  return [...others, ...made];
}

function newNested(repository: Repository, before: Stored, after: Stored): string[] {
  const then = factsOf(repository, before).nested;
  return then ? (factsOf(repository, after).nested ?? []).filter((folder) => !then.includes(folder)) : [];
}

function stashChange(repository: Repository, newest: Stored, oldest: Stored): Pick<UndoRecord, 'stashes'> {
  if (!hadRepository(newest) || !hadRepository(oldest)) return {};
  const [from, to] = [stashesOf(repository, newest), stashesOf(repository, oldest)];
  return from === to ? {} : { stashes: { from, to } };
}

/**
 * Stashes but the newest are in the log of their ref alone, which git writes itself whenever the ref is set. False: they
 * changed since, and stay as they are.
 */
export function setStashes(repository: Repository, record: UndoRecord): boolean {
  const { stashes } = record;
  if (!stashes) return true;
  const ref = record.refs?.find(({ name }) => name === 'refs/stash');
  const root = { ...repository, root: repository.commonDir };
  const now = entryOnDisk(root, STASHES);
  const due = stashes.to ? { mode: '100644', oid: stashes.to } : null;
  if (now === 'other' || (ref ? readOwnRef(repository, ref.name) !== ref.to : (now?.oid ?? null) !== stashes.from))
    return now !== 'other' && same(now, due);
  const log = stashes.to ? content(repository, ['cat-file', 'blob', stashes.to]) : '';
  giveObjects(
    repository,
    log.split('\n').flatMap((line) => line.split(' ')[1] ?? []),
  );
  applyChanges(root, [{ path: STASHES, from: now, to: due }], false);
  return true;
}

function treesOf(repository: Repository, name: 'others' | 'folder', changes: Change[]): Partial<Further> {
  const tree = (which: 'from' | 'to') =>
    changedTree(
      repository,
      emptyTree(repository),
      changes.flatMap(
        (change): Array<[string, Entry]> => (change[which] ? [[markedPath(change.path), change[which]]] : []),
      ),
    );
  return { [`${name}From`]: tree('from'), [`${name}To`]: tree('to') };
}

/** The changes of two such trees. */
export const changesOf = (repository: Repository, from: string | undefined, to: string | undefined): Change[] =>
  from && to ? diffTrees(repository, from, to).map((change) => ({ ...change, path: plainPath(change.path) })) : [];

/** Makes empty folders and pipes again where nothing is in their way; those that could not be made. */
export function remakeEmpty(repository: Repository, folders: string[], pipes: string[]): string[] {
  const left: string[] = [];
  const attempt = (path: string, make: () => void) => {
    try {
      for (const folder of [...foldersOf(path)]) {
        const stats = lstatSync(onDisk(repository.root, folder), { throwIfNoEntry: false });
        if (stats && !stats.isDirectory()) throw new Error('something is in the way');
        if (!stats) mkdirSync(onDisk(repository.root, folder));
      }
      make();
    } catch {
      left.push(path);
    }
  };
  for (const path of folders) attempt(path, () => {});
  for (const path of pipes) {
    const stats = lstatSync(onDisk(repository.root, path), { throwIfNoEntry: false });
    if (stats?.isFIFO()) continue;
    attempt(path, () => {
      const name = utf8(path);
      if (stats || name.includes('\ufffd')) throw new Error('it cannot be made');
      const made = run('mkfifo', ['--', `${repository.root}/${name}`], {
        env: { PATH: environment.PATH ?? '/usr/bin:/bin' },
      });
      if (made.code !== 0) throw new Error(made.stderr);
    });
  }
  return left;
}
