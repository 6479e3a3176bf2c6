import {
  accessSync,
  constants,
  copyFileSync,
  existsSync,
  lstatSync,
  renameSync,
  rmSync,
  type Stats,
  utimesSync,
} from 'node:fs';
import { join } from 'node:path';
import { shown } from '../files/names.ts';
import { LIMITS } from '../limits.ts';
import { content, GitFailed, git, type Repository, tryContent } from './git.ts';
import { utf8 } from './process.ts';
import { changedTree, type Entry, emptyTree, indexInfo, isSubmodule, once } from './trees.ts';

/**
 * The present files and index, as trees. Contents are stored byte for byte, without conversion of line endings and
 * without filters. The person's index is read, never written.
 */
export interface Snapshot {
  /** tracked files, and untracked ones that are not ignored */
  tree: string;
  /** content of the index; null while it has conflicts */
  staged: string | null;
  /** versions of conflicting files, under `1/`, `2/` and `3/`; null when there are none */
  unmerged: string | null;
  /** tracked files of `tree` that a sparse checkout leaves out of the working tree */
  absent: Map<string, Entry>;
  /** ignored files, and folders that are ignored whole (they end with `/`) */
  ignored: string[];
  /** further trees of a state */
  trees?: Record<string, string | null>;
  /** the index file, which has more than a tree can hold */
  index?: Buffer;
  /** what could not be saved */
  notes: string[];
}

export interface SnapshotOptions {
  /** paths that are included when they exist, even if they are ignored */
  also?: Iterable<string>;
  /** what is left out, unless it is in `also` */
  except?: { untracked: (path: string) => boolean; tracked: (path: string) => boolean };
}

export function takeSnapshot(repository: Repository, options: SnapshotOptions = {}): Snapshot {
  const index = readIndex(repository);
  const untracked = listed(repository, ['ls-files', '-o', '-z', '--exclude-standard']);
  const ignored = listed(repository, ['ls-files', '-o', '-i', '-z', '--exclude-standard', '--directory']);
  const look = new Look(repository.root);
  const notes: string[] = [];
  const paths: string[] = [];
  const given = new Map<string, Entry>();
  const absent = new Map<string, Entry>();
  const also = [...(options.also ?? [])];
  const wanted = new Set(also);
  const known = new Set([...index.entries.keys(), ...index.unmerged.keys(), ...wanted]);

  for (const path of new Set([...known, ...untracked])) {
    if (path.endsWith('/')) {
      // a repository inside the workspace: see `others`
      continue;
    }
    if (options.except && !wanted.has(path) && options.except[known.has(path) ? 'tracked' : 'untracked'](path))
      continue;
    const tracked = index.entries.get(path) ?? null;
    const stats = look.at(path);
    if (!stats) {
      // a sparse checkout leaves files out on purpose
      if (tracked && index.sparse.has(path)) {
        given.set(path, tracked);
        absent.set(path, tracked);
      }
    } else if (stats.isDirectory()) {
      if (tracked && isSubmodule(tracked))
        given.set(path, { mode: '160000', oid: submoduleHead(repository, path) ?? tracked.oid });
    } else if (!stats.isFile() && !stats.isSymbolicLink()) {
      // only its name is saved
    } else if (stats.isFile() && !readable(repository.root, path)) {
      if (tracked) given.set(path, tracked);
    } else if (stats.size > LIMITS.keptFileBytes && !tracked) {
      notes.push(`${shown(utf8(path))} is larger than ${LIMITS.keptFileBytes / 1024 ** 3} GB, and is not kept`);
    } else {
      paths.push(path);
    }
  }
  return {
    tree: treeOfFiles(repository, paths, given),
    staged: index.staged(),
    unmerged: index.unmergedTree(),
    absent,
    ignored,
    notes,
  };
}

function listed(repository: Repository, args: string[]): string[] {
  return git(repository, args)
    .split('\0')
    .filter((path) => path !== '');
}

/** What is in an index file. */
interface IndexEntries {
  entries: Map<string, Entry>;
  sparse: Set<string>;
  /** files that git takes for unchanged without a look */
  assumed: Set<string>;
  /** path → stage → entry */
  unmerged: Map<string, Map<string, Entry>>;
}

interface Index extends IndexEntries {
  staged(): string | null;
  unmergedTree(): string | null;
}

/** The person's index, as its file is now. It is not refreshed or written. */
export function readIndex(repository: Repository): Index {
  const file = join(repository.gitDir, 'index');
  // git never writes into it, but replaces it
  const stats = lstatSync(file, { throwIfNoEntry: false, bigint: true });
  const stamp = stats ? `${file} ${stats.ino} ${stats.size} ${stats.mtimeNs} ${stats.ctimeNs}` : file;
  const { entries, sparse, assumed, unmerged } = once(repository, `index ${stamp}`, () => parseIndex(repository));
  const treeFrom = (all: Iterable<[string, Entry]>) => changedTree(repository, emptyTree(repository), all);
  return {
    entries,
    sparse,
    assumed,
    unmerged,
    staged: () => (unmerged.size > 0 ? null : treeFrom(entries)),
    unmergedTree: () =>
      unmerged.size === 0
        ? null
        : treeFrom(
            [...unmerged].flatMap(([path, stages]) =>
              [...stages].map(([stage, entry]): [string, Entry] => [`${stage}/${path}`, entry]),
            ),
          ),
  };
}

function parseIndex(repository: Repository): IndexEntries {
  const entries = new Map<string, Entry>();
  const sparse = new Set<string>();
  const assumed = new Set<string>();
  const unmerged = new Map<string, Map<string, Entry>>();
  if (repository.kept === 'workspace') {
    for (const line of git(repository, ['ls-files', '-s', '-v', '-z']).split('\0')) {
      const tab = line.indexOf('\t');
      if (tab < 0) continue;
      const [tag, mode, oid, stage] = line.slice(0, tab).split(' ') as [string, string, string, string];
      const path = line.slice(tab + 1);
      if (tag.toUpperCase() === 'S') sparse.add(path);
      if (tag !== tag.toUpperCase()) assumed.add(path);
      if (stage === '0') entries.set(path, { mode, oid });
      else unmerged.set(path, (unmerged.get(path) ?? new Map()).set(stage, { mode, oid }));
    }
  }
  return { entries, sparse, assumed, unmerged };
}

/** lstat that follows no link on the way: what is behind a linked folder does not belong to the working tree. */
class Look {
  readonly root: string;
  private readonly folders = new Map<string, boolean>();
  constructor(root: string) {
    this.root = root;
  }
  at(path: string): Stats | null {
    const slash = path.lastIndexOf('/');
    if (slash > 0 && !this.isRealFolder(path.slice(0, slash))) return null;
    return this.lstat(path);
  }
  private isRealFolder(path: string): boolean {
    const known = this.folders.get(path);
    if (known !== undefined) return known;
    const slash = path.lastIndexOf('/');
    const real = (slash < 0 || this.isRealFolder(path.slice(0, slash))) && (this.lstat(path)?.isDirectory() ?? false);
    this.folders.set(path, real);
    return real;
  }
  private lstat(path: string): Stats | null {
    return lstatSync(onDisk(this.root, path), { throwIfNoEntry: false }) ?? null;
  }
}

/** The absolute path of a path of git, as the file system expects it. */
export const onDisk = (root: string, path: string): Buffer =>
  Buffer.concat([Buffer.from(`${root}/`), Buffer.from(path, 'latin1')]);

function readable(root: string, path: string): boolean {
  try {
    accessSync(onDisk(root, path), constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * HEAD of a checked-out submodule, found by letting git record the folder in an index of ours; null when it is not
 * checked out.
 */
function submoduleHead(repository: Repository, path: string): string | null {
  const index = join(repository.scratch, 'submodule-index');
  rmSync(index, { force: true });
  const added = tryContent(repository, ['update-index', '-z', '--add', '--stdin'], { index, input: `${path}\0` });
  if (added.code !== 0) return null;
  const line = content(repository, ['ls-files', '-s', '-z'], { index });
  return line.startsWith('160000 ') ? line.split(' ')[1]! : null;
}

/**
 * Copies an index together with its modification time. By that time git knows which files may have changed in the
 * second of its last look. A younger copy would hide a change in that second that keeps the file's size.
 */
export function copyIndex(from: string, to: string): void {
  copyFileSync(from, to);
  const second = Math.floor(lstatSync(from).mtimeMs / 1000);
  utimesSync(to, second, second);
}

/** Has git compare the content of every file with an index whose time is not known. A time of 0 counts as none. */
export const distrustIndex = (index: string | Buffer): void => utimesSync(index, 1, 1);

/** Without a store, every file is read each time. */
const cacheOf = (repository: Repository): string =>
  join(repository.store ?? repository.scratch, `files-${repository.worktree ?? 'index'}`);

/** Removes the file cache of a worktree that is being deleted. */
export const forgetFiles = (repository: Repository): void => rmSync(cacheOf(repository), { force: true });

/** A tree of the present files. Cached stat data saves reading unchanged files. */
function treeOfFiles(repository: Repository, paths: string[], given: Map<string, Entry>): string {
  const index = join(repository.scratch, 'index');
  const cache = cacheOf(repository);
  rmSync(index, { force: true });
  if (lstatSync(cache, { throwIfNoEntry: false })?.isFile()) copyIndex(cache, index);
  let tree: string;
  try {
    tree = filled(repository, index, paths, given);
  } catch (error) {
    if (!(error instanceof GitFailed) || !existsSync(cache)) throw error;
    // a damaged cache is removed and built again
    rmSync(index, { force: true });
    rmSync(`${index}.lock`, { force: true });
    tree = filled(repository, index, paths, given);
  }
  // there are no files and there was no cache, so git created no index
  if (!existsSync(index)) return tree;
  const fresh = `${cache}.${process.pid}`;
  copyIndex(index, fresh);
  renameSync(fresh, cache);
  return tree;
}

function filled(repository: Repository, index: string, paths: string[], given: Map<string, Entry>): string {
  const wanted = new Set(paths);
  const gone = content(repository, ['ls-files', '-z'], { index })
    .split('\0')
    .filter((path) => path !== '' && !wanted.has(path));
  const zero = '0'.repeat(emptyTree(repository).length);
  if (gone.length > 0)
    content(repository, ['update-index', '-z', '--index-info'], {
      index,
      input: indexInfo(
        gone.map((path) => [path, null]),
        zero,
      ),
    });
  if (paths.length > 0) {
    content(repository, ['update-index', '-z', '--add', '--remove', '--replace', '--stdin'], {
      index,
      input: paths.map((path) => `${path}\0`).join(''),
    });
  }
  if (given.size > 0)
    content(repository, ['update-index', '-z', '--index-info'], { index, input: indexInfo(given, zero) });
  if (!existsSync(index)) return emptyTree(repository);
  return content(repository, ['write-tree', '--missing-ok'], { index }).trim();
}
