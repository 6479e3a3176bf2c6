import { createHash } from 'node:crypto';
import {
  accessSync,
  constants,
  existsSync,
  lstatSync,
  readdirSync,
  readlinkSync,
  type Stats,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { content, type Repository } from '../git/git.ts';
import { foldersOf } from '../git/merge.ts';
import { changedTree, type Entry, emptyTree } from '../git/trees.ts';
import { LIMITS } from '../limits.ts';
import type { Named } from './record.ts';

/**
 * What git does not look at: ignored files, repositories inside the workspace with their git folders, a `.git` file
 * that leads to a repository elsewhere, empty folders, pipes. Files within the limits are saved byte for byte; of larger ones only the name is saved. No git command runs in
 * these repositories.
 */
export interface Others {
  /** by path, as bytes */
  files: Map<string, Entry>;
  named: Named[];
  nested: string[];
  folders: string[];
  pipes: string[];
}

/** Large folders that a package manager or an interpreter can restore: only their names are saved. */
const MADE_AGAIN = /(^|\/)(node_modules|\.venv|venv|__pycache__|\.tox|\.gradle)\/$/;

export function takeOthers(repository: Repository, ignored: string[]): Others {
  const { root } = repository;
  const found: Others = { files: new Map(), named: [], nested: [], folders: [], pipes: [] };
  const budget = { files: LIMITS.otherFiles, bytes: LIMITS.otherBytes };
  const due: Found[] = [];
  const take = (path: string, bounds: Bounds): boolean => {
    const within = {
      files: Math.min(bounds.files, budget.files),
      bytes: Math.min(bounds.bytes, budget.bytes),
      file: bounds.file,
    };
    const again: string[] = [];
    const empty: string[] = [];
    const taken = collect(
      root,
      path,
      within,
      (inner) => MADE_AGAIN.test(`${inner}/`) && again.push(`${inner}/`) > 0,
      empty,
    );
    if (!taken) return false;
    // git does not accept a git folder without its empty folders
    found.folders.push(...empty);
    for (const inner of again) name({ path: inner, why: 'large' });
    for (const { stats } of taken) budget.bytes -= stats.size;
    budget.files -= taken.length;
    due.push(...taken);
    return true;
  };
  const name = (named: Named) => found.named.length < LIMITS.namedFiles && found.named.push(named);
  const left = new Set(ignored);
  walk(root, left, found, name);
  for (const path of found.nested) {
    if (!take(path, { files: LIMITS.nestedFiles, bytes: LIMITS.nestedBytes, file: LIMITS.nestedBytes }))
      name({ path, why: 'large', print: printOf(root, path) });
  }
  // a folder is the repository itself
  if (realFile(root, '.git')) take('.git', { files: 1, bytes: LIMITS.otherFileBytes, file: LIMITS.otherFileBytes });
  for (const path of ignored) {
    const bounds = { files: LIMITS.otherFolderFiles, bytes: LIMITS.otherFolderBytes, file: LIMITS.otherFileBytes };
    if (MADE_AGAIN.test(path) || !take(path, bounds)) name({ path, why: 'large' });
  }
  found.files = storeFiles(repository, root, due);
  return found;
}

/**
 * The same after a task: everything that was saved before, wherever it is, and every repository inside the workspace,
 * also one that has lost its git folder (`nested`).
 */
export function retakeOthers(
  repository: Repository,
  before: Iterable<string>,
  { nested, ignored }: { nested: readonly string[]; ignored: string[] },
): Others {
  const found: Others = { files: new Map(), named: [], nested: [], folders: [], pipes: [] };
  walk(
    repository.root,
    new Set(ignored),
    found,
    (named) => found.named.length < LIMITS.namedFiles && found.named.push(named),
  );
  const due = new Map<string, Found>();
  for (const path of before) {
    const stats = realFile(repository.root, path);
    // a file that grew beyond the limit is not read: it counts as deleted, and undo leaves it where it is
    if (stats && stats.size <= LIMITS.otherBytes) due.set(path, { path, stats });
  }
  const lost = nested.filter((path) => isRealFolder(repository.root, path));
  for (const path of new Set([...found.nested, ...lost])) {
    const bounds = { files: LIMITS.nestedFiles, bytes: LIMITS.nestedBytes, file: LIMITS.nestedBytes };
    const taken = collect(repository.root, path, bounds, (inner) => MADE_AGAIN.test(`${inner}/`));
    for (const file of taken ?? []) due.set(file.path, file);
    if (!taken) found.named.push({ path, why: 'large', print: printOf(repository.root, path) });
  }
  found.files = storeFiles(repository, repository.root, [...due.values()]);
  return found;
}

interface Bounds {
  files: number;
  bytes: number;
  file: number;
}

export interface Found {
  path: string;
  stats: Stats;
}

const onDisk = (root: string, path: string): Buffer =>
  Buffer.concat([Buffer.from(`${root}/`), Buffer.from(path, 'latin1')]);

/** Walks through the folders that git looks at, and finds what git skips. */
function walk(root: string, ignored: Set<string>, found: Others, name: (named: Named) => unknown): void {
  const queue = [''];
  for (let seen = 0; queue.length > 0 && seen < 5 * LIMITS.walkEntries; ) {
    const folder = queue.pop()!;
    let entries: import('node:fs').Dirent<Buffer>[];
    try {
      entries = readdirSync(onDisk(root, folder), { withFileTypes: true, encoding: 'buffer' });
    } catch {
      name({ path: folder, why: 'unreadable' });
      continue;
    }
    seen += entries.length;
    const names = entries.map((entry) => entry.name.toString('latin1'));
    if (folder !== '' && names.includes('.git')) {
      found.nested.push(folder);
      continue;
    }
    if (entries.length === 0 && folder !== '' && found.folders.length < LIMITS.namedFiles) found.folders.push(folder);
    for (const [index, entry] of entries.entries()) {
      const path = folder + names[index];
      if (folder === '' && names[index] === '.git') continue;
      if (ignored.has(path) || ignored.has(`${path}/`)) continue;
      if (entry.isDirectory()) queue.push(`${path}/`);
      else if (entry.isFIFO()) found.pipes.length < LIMITS.namedFiles && found.pipes.push(path);
      else if (!entry.isFile() && !entry.isSymbolicLink()) name({ path, why: 'special' });
      else if (entry.isFile() && !isReadable(root, path)) name({ path, why: 'unreadable' });
    }
  }
}

/** Files and links below a path, and the `empty` folders; null when they exceed the limits or some cannot be read. */
export function collect(
  root: string,
  start: string,
  bounds: Bounds,
  skip: (path: string) => boolean = () => false,
  empty: string[] = [],
): Found[] | null {
  const files: Found[] = [];
  let bytes = 0;
  const queue = [start];
  try {
    while (queue.length > 0) {
      const path = queue.pop()!;
      if (path.endsWith('/') || path === '') {
        const entries = readdirSync(onDisk(root, path), { withFileTypes: true, encoding: 'buffer' });
        if (entries.length === 0) empty.push(path);
        for (const entry of entries) {
          const inner = path + entry.name.toString('latin1');
          if (skip(inner)) continue;
          queue.push(entry.isDirectory() ? `${inner}/` : inner);
        }
        if (queue.length + files.length > bounds.files * 2) return null;
        continue;
      }
      const stats = lstatSync(onDisk(root, path));
      if (!stats.isFile() && !stats.isSymbolicLink()) continue;
      bytes += stats.size;
      files.push({ path, stats });
      if (stats.size > bounds.file || bytes > bounds.bytes || files.length > bounds.files) return null;
      if (stats.isFile() && !isReadable(root, path)) return null;
    }
  } catch {
    return null;
  }
  return files;
}

function isReadable(root: string, path: string): boolean {
  try {
    accessSync(onDisk(root, path), constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

const isRealFolder = (root: string, path: string): boolean =>
  [...foldersOf(path)].every((folder) => lstatSync(onDisk(root, folder), { throwIfNoEntry: false })?.isDirectory());

/** A file or link that is not reached through a linked folder. */
function realFile(root: string, path: string): Stats | null {
  if (!isRealFolder(root, path)) return null;
  const stats = lstatSync(onDisk(root, path), { throwIfNoEntry: false });
  if (!stats || (!stats.isFile() && !stats.isSymbolicLink())) return null;
  return stats.isFile() && !isReadable(root, path) ? null : stats;
}

/** Hashes files into the store. git reads names in quotes, which may hold any bytes. */
export function storeFiles(repository: Repository, root: string, files: Found[]): Map<string, Entry> {
  if (files.length === 0) return new Map();
  const names = files.map(({ path, stats }, number) => {
    if (!stats.isSymbolicLink()) return quoted(onDisk(root, path));
    // the target text of a link is saved, not the file that it leads to
    const file = join(repository.scratch, 'tmp', `link-${number}`);
    writeFileSync(file, readlinkSync(onDisk(root, path), { encoding: 'buffer' }));
    return quoted(Buffer.from(file));
  });
  const oids = content(repository, ['hash-object', '-w', '--no-filters', '--stdin-paths'], { input: names.join('') })
    .trim()
    .split('\n');
  const mode = (stats: Stats) => (stats.isSymbolicLink() ? '120000' : stats.mode & 0o100 ? '100755' : '100644');
  return new Map(files.map(({ path, stats }, number) => [path, { mode: mode(stats), oid: oids[number]! }]));
}

function quoted(path: Buffer): string {
  const chars = [...path].map((byte) =>
    byte < 0x20 || byte > 0x7e || byte === 0x22 || byte === 0x5c
      ? `\\${byte.toString(8).padStart(3, '0')}`
      : String.fromCharCode(byte),
  );
  return `"${chars.join('')}"\n`;
}

/** Changes whenever a file below is created, written or removed. */
export function printOf(root: string, start: string): string {
  const hash = createHash('sha256');
  const queue = [start];
  for (let seen = 0; queue.length > 0 && seen < LIMITS.fingerprintEntries; seen += 1) {
    const path = queue.pop()!;
    const stats = lstatSync(onDisk(root, path), { throwIfNoEntry: false });
    if (!stats) continue;
    if (!stats.isDirectory()) {
      hash.update(`${path}\0${stats.size} ${stats.mtimeMs} ${stats.mode}\0`, 'latin1');
      continue;
    }
    const inside = path.endsWith('/') ? path : `${path}/`;
    try {
      for (const entry of readdirSync(onDisk(root, path), { encoding: 'buffer' }).sort(Buffer.compare))
        queue.push(inside + entry.toString('latin1'));
    } catch {}
    hash.update(`${path}\0`, 'latin1');
  }
  return hash.digest('hex').slice(0, 32);
}

/**
 * A tree of these files. git refuses a name that it could take for its own folder, so such a part of a path gets a mark
 * at its end. `plainPath` removes the mark.
 */
export const othersTree = (repository: Repository, files: Iterable<[string, Entry]>): string =>
  changedTree(
    repository,
    emptyTree(repository),
    [...files].map(([path, entry]) => [markedPath(path), entry]),
  );

export const markedPath = (path: string): string => eachPart(path, (part) => (IS_GIT.test(part) ? `${part}%` : part));
export const plainPath = (path: string): string =>
  eachPart(path, (part) => (IS_GIT.test(part) && part.endsWith('%') ? part.slice(0, -1) : part));

const IS_GIT = /^\.git%*$/i;
const eachPart = (path: string, change: (part: string) => string): string => path.split('/').map(change).join('/');

export const isThere = (root: string, path: string): boolean => existsSync(onDisk(root, path.replace(/\/$/, '')));

/** Whether a path is one of these, or is in one of these folders. */
export function among(paths: Iterable<string>): (path: string) => boolean {
  const all = new Set(paths);
  if (all.size === 0) return () => false;
  return (path) => {
    if (all.has(path)) return true;
    for (let slash = path.indexOf('/'); slash >= 0; slash = path.indexOf('/', slash + 1))
      if (all.has(path.slice(0, slash + 1))) return true;
    return false;
  };
}
