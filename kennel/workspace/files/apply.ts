import { createHash } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { content, type Repository } from '../git/git.ts';
import { foldersOf } from '../git/merge.ts';
import { utf8 } from '../git/process.ts';
import { distrustIndex, onDisk } from '../git/snapshot.ts';
import { type Change, type Entry, isSubmodule, same } from '../git/trees.ts';
import { shown } from './names.ts';

/**
 * Brings files from one state to another. A file that is now in neither state is not touched, and its path is returned;
 * with `strict`, nothing at all is touched then. All contents are written to staging files first, so that a full disk
 * changes nothing.
 */
export function applyChanges(
  repository: Repository,
  changes: readonly Change[],
  strict: boolean,
): { done: string[]; refused: string[] } {
  const files = changes.filter((change) => !isSubmodule(change.from) && !isSubmodule(change.to));
  const due: Change[] = [];
  const refused: string[] = [];
  // removals are decided first: a file may replace a folder, and a folder a file
  const gone = new Set<string>();
  for (const change of files.filter(({ to }) => !to)) {
    const now = entryOnDisk(repository, change.path);
    if (now === null) continue;
    if (now === 'other' || !same(now, change.from)) refused.push(change.path);
    else {
      due.push(change);
      gone.add(change.path);
    }
  }
  for (const change of files.filter(({ to }) => to)) {
    const now = entryOnDisk(repository, change.path);
    if (now !== 'other' && same(now, change.to)) continue;
    const isFree = now === 'other' ? !change.from && isEmptied(repository, change.path, gone) : same(now, change.from);
    if (isFree && !blocked(repository, change.path, gone)) due.push(change);
    else refused.push(change.path);
  }
  if (strict && refused.length > 0) return { done: [], refused };
  const staging = makeStaging(repository);
  try {
    const written = due.map((change, number) => (change.to ? stage(repository, staging, number, change.to) : null));
    const deepestFirst = [...due].filter((change) => !change.to).sort((a, b) => b.path.length - a.path.length);
    for (const change of deepestFirst) removeEntry(repository, change.path);
    for (const [number, change] of due.entries()) if (written[number]) place(repository, written[number], change);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
  return { done: due.map((change) => change.path), refused };
}

/**
 * What is at a path. `other`: a folder, or something that git does not store. Null: nothing, or something behind a
 * link.
 */
export function entryOnDisk(repository: Repository, path: string): Entry | null | 'other' {
  for (const folder of foldersOf(path)) {
    const stats = lstatSync(onDisk(repository.root, folder), { throwIfNoEntry: false });
    if (!stats) return null;
    if (!stats.isDirectory()) return null;
  }
  const at = onDisk(repository.root, path);
  const stats = lstatSync(at, { throwIfNoEntry: false });
  if (!stats) return null;
  if (stats.isSymbolicLink())
    return { mode: '120000', oid: oidOf(repository, readlinkSync(at, { encoding: 'buffer' })) };
  if (!stats.isFile()) return 'other';
  return { mode: stats.mode & 0o100 ? '100755' : '100644', oid: oidOfFile(repository, at, stats.size) };
}

const hashOf = (repository: Repository, size: number) => createHash(formatOf(repository)).update(`blob ${size}\0`);

const formats = new Map<string, 'sha1' | 'sha256'>();
function formatOf(repository: Repository): 'sha1' | 'sha256' {
  const known = formats.get(repository.scratch);
  if (known) return known;
  const format = content(repository, ['rev-parse', '--show-object-format']).trim() === 'sha256' ? 'sha256' : 'sha1';
  formats.set(repository.scratch, format);
  return format;
}

function oidOf(repository: Repository, bytes: Buffer): string {
  return hashOf(repository, bytes.length).update(bytes).digest('hex');
}

function oidOfFile(repository: Repository, path: Buffer, size: number): string {
  const hash = hashOf(repository, size);
  const chunk = Buffer.alloc(1024 * 1024);
  const file = openSync(path, 'r');
  try {
    for (let read = readSync(file, chunk); read > 0; read = readSync(file, chunk)) hash.update(chunk.subarray(0, read));
  } finally {
    closeSync(file);
  }
  return hash.digest('hex');
}

/** What stands where a path needs a folder. */
export function inTheWayOf(repository: Repository, path: string): string | null {
  for (const folder of foldersOf(path)) {
    const stats = lstatSync(onDisk(repository.root, folder), { throwIfNoEntry: false });
    if (!stats) return null;
    if (!stats.isDirectory()) return folder;
  }
  return null;
}

function blocked(repository: Repository, path: string, gone: Set<string>): boolean {
  const other = inTheWayOf(repository, path);
  return other !== null && !gone.has(other);
}

/** A folder that has only folders left when `gone` is removed. */
function isEmptied(repository: Repository, path: string, gone: Set<string>): boolean {
  const stats = lstatSync(onDisk(repository.root, path), { throwIfNoEntry: false });
  if (!stats?.isDirectory()) return gone.has(path);
  return namesIn(repository, path).every((name) => isEmptied(repository, `${path}/${name}`, gone));
}

function removeFolders(repository: Repository, path: string): void {
  for (const name of namesIn(repository, path)) removeFolders(repository, `${path}/${name}`);
  rmdirSync(onDisk(repository.root, path));
}

const namesIn = (repository: Repository, path: string): string[] =>
  readdirSync(onDisk(repository.root, path), 'latin1');

/** A staging folder, on the file system of the working tree if possible, so that files are moved into place whole. */
function makeStaging(repository: Repository): string {
  // a link in its place would lead elsewhere
  const parent = join(repository.gitDir, 'fetch');
  if (lstatSync(parent, { throwIfNoEntry: false })?.isDirectory() === false) unlinkSync(parent);
  mkdirSync(parent, { recursive: true });
  // left by a killed call
  for (const name of readdirSync(parent))
    if (name.startsWith('staging-')) rmSync(join(parent, name), { recursive: true, force: true });
  return mkdtempSync(join(parent, 'staging-'));
}

function stage(repository: Repository, staging: string, number: number, entry: Entry): string {
  const path = join(staging, String(number));
  if (entry.mode === '120000') {
    symlinkSync(Buffer.from(content(repository, ['cat-file', 'blob', entry.oid]), 'latin1'), path);
    return path;
  }
  const file = openSync(path, 'wx', 0o666);
  try {
    content(repository, ['cat-file', 'blob', entry.oid], { stdoutTo: file });
  } finally {
    closeSync(file);
  }
  return path;
}

/** The name of an index of git, and the bytes it begins with. */
const INDEX = /(?:^|\/)index$/;
const isIndex = (at: Buffer): boolean => readFileSync(at).subarray(0, 4).equals(Buffer.from('DIRC'));

function place(repository: Repository, staged: string, change: Change): void {
  const at = onDisk(repository.root, change.path);
  const old = lstatSync(at, { throwIfNoEntry: false });
  if (old?.isDirectory()) removeFolders(repository, change.path);
  for (const folder of foldersOf(change.path)) {
    const stats = lstatSync(onDisk(repository.root, folder), { throwIfNoEntry: false });
    if (stats && !stats.isDirectory()) throw new Error(`${shown(utf8(folder))} is in the way`);
    if (!stats) mkdirSync(onDisk(repository.root, folder));
  }
  if (change.to!.mode !== '120000') {
    const usual = lstatSync(staged).mode & 0o666;
    const mode = old?.isFile() ? old.mode & 0o666 : usual;
    // who may read the file may run it
    chmodSync(staged, change.to!.mode === '100755' ? mode | ((mode & 0o444) >> 2) : mode);
  }
  try {
    renameSync(staged, at);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    if (old && !old.isDirectory()) unlinkSync(at);
    if (change.to!.mode === '120000') symlinkSync(readlinkSync(staged), at);
    else copyFileSync(staged, at);
  }
  if (change.to!.mode !== '120000' && INDEX.test(change.path) && isIndex(at)) distrustIndex(at);
}

/** Removes a file, and then the empty folders above it. */
function removeEntry(repository: Repository, path: string): void {
  unlinkSync(onDisk(repository.root, path));
  for (const folder of foldersOf(path).reverse()) {
    try {
      rmdirSync(onDisk(repository.root, folder));
    } catch {
      return;
    }
  }
}

/** Replaces the content of a file in one step, and keeps its permissions. */
export function replaceFile(absolute: string, bytes: Buffer, mode: number): void {
  const fresh = `${absolute}.fetch-${process.pid}`;
  try {
    writeFileSync(fresh, bytes, { flag: 'wx', mode });
    chmodSync(fresh, mode);
    renameSync(fresh, absolute);
  } catch (error) {
    rmSync(fresh, { force: true });
    throw error;
  }
}
