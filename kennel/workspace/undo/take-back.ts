import { lstatSync, mkdirSync } from 'node:fs';
import { otherChanges } from '../checkpoint/besides.ts';
import { folderChanges, progressChanges } from '../checkpoint/git-folder.ts';
import { markedPath, plainPath } from '../checkpoint/others.ts';
import { extraOf, factsOf, hadRepository, readOwnRef, type Stored } from '../checkpoint/record.ts';
import { applyChanges, entryOnDisk } from '../files/apply.ts';
import { environment, type Repository } from '../git/git.ts';
import { foldersOf } from '../git/merge.ts';
import { run, utf8 } from '../git/process.ts';
import { onDisk } from '../git/snapshot.ts';
import { type Change, changedTree, diffTrees, type Entry, emptyTree, entriesOf } from '../git/trees.ts';
import type { UndoRecord } from './undo-log.ts';

/**
 * What undo takes back beside files, HEAD and index: refs, files that git does not look at, files of git itself, empty
 * folders, pipes.
 */
export type Further = Required<
  Pick<UndoRecord, 'refs' | 'othersFrom' | 'othersTo' | 'folderFrom' | 'folderTo' | 'folders' | 'pipes'>
> &
  Pick<UndoRecord, 'stashes' | 'nested' | 'index'>;

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
    ...(refs.has('refs/stash') && {
      stashes: { from: stashesOf(repository, newest!), to: stashesOf(repository, oldest!) },
    }),
    ...treesOf(repository, 'others', [...others.values()]),
    ...treesOf(repository, 'folder', [...folder.values()]),
    // a folder with a git folder that no task found there
    nested: chosen.flatMap(({ before, after }) => newNested(repository, before, after)),
    ...(begun.length > 0 && { index: extraOf(repository, oldest!.extra, 'index') }),
    folders: [...folders],
    pipes: [...pipes],
  } as Further;
}

/**
 * Branches, tags and stashes that a task moved or deleted. Those that it made stay, and so does what other tasks and
 * remotes did.
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
  return then.flatMap(({ name, oid, symref }) => {
    const from = current.get(name) ?? null;
    const passing = from === oid || name === own || symref !== undefined || name.startsWith('refs/heads/fetch/');
    return passing || (from !== null && name.startsWith('refs/remotes/')) ? [] : [{ name, from, to: oid }];
  });
}

function newNested(repository: Repository, before: Stored, after: Stored): string[] {
  const then = factsOf(repository, before).nested;
  return then ? (factsOf(repository, after).nested ?? []).filter((folder) => !then.includes(folder)) : [];
}

const STASHES = 'logs/refs/stash';

function stashesOf(repository: Repository, state: Stored): string | null {
  const logs = extraOf(repository, state.extra, 'logs');
  return (logs && entriesOf(repository, logs).get(STASHES)?.oid) ?? null;
}

/** Stashes but the newest are in the log of their ref alone, which git writes itself whenever the ref is set. */
export function setStashes(repository: Repository, record: UndoRecord): void {
  const { stashes } = record;
  const ref = record.refs?.find(({ name }) => name === 'refs/stash');
  if (!stashes || !ref || readOwnRef(repository, ref.name) !== ref.to) return;
  const root = { ...repository, root: repository.commonDir };
  const now = entryOnDisk(root, STASHES);
  if (now === 'other') return;
  applyChanges(
    root,
    [{ path: STASHES, from: now, to: stashes.to ? { mode: '100644', oid: stashes.to } : null }],
    false,
  );
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
