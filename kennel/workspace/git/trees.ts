import { createHash } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { content, type Repository } from './git.ts';

/** Trees and commits as objects. Paths are bytes as characters 0 to 255. */

export interface Entry {
  /** `100644`, `100755`, `120000` or `160000` */
  mode: string;
  oid: string;
}

export interface Change {
  path: string;
  from: Entry | null;
  to: Entry | null;
}

export const isFile = (entry: Entry): boolean => entry.mode.startsWith('100');
export const isSubmodule = (entry: Entry | null): boolean => entry?.mode === '160000';
export const same = (a: Entry | null | undefined, b: Entry | null | undefined): boolean =>
  a?.mode === b?.mode && a?.oid === b?.oid;

/** Caches a question whose answer does not change, because each question starts a git process. */
export function once<T>(repository: Repository, question: string, ask: () => T): T {
  repository.asked ??= new Map();
  const { asked } = repository;
  if (!asked.has(question)) asked.set(question, ask());
  return asked.get(question) as T;
}

/** The `tree` of a commit or tree; the empty tree for null. */
export function treeOf(repository: Repository, commit: string | null): string {
  return commit === null
    ? emptyTree(repository)
    : once(repository, `tree ${commit}`, () =>
        content(repository, ['rev-parse', '--verify', `${commit}^{tree}`]).trim(),
      );
}

export function emptyTree(repository: Repository): string {
  return once(repository, 'empty', () => content(repository, ['mktree'], { input: '' }).trim());
}

/** The differences between two trees; a rename is a deletion and an addition. */
export function diffTrees(repository: Repository, from: string, to: string): readonly Change[] {
  return from === to ? [] : once(repository, `diff ${from} ${to}`, () => differences(repository, from, to));
}

function differences(repository: Repository, from: string, to: string): Change[] {
  const fields = content(repository, ['diff-tree', '-r', '-z', '--raw', '--no-renames', '--no-abbrev', from, to]).split(
    '\0',
  );
  const changes: Change[] = [];
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const [fromMode, toMode, fromOid, toOid] = fields[index]!.slice(1).split(' ');
    const entry = (mode: string, oid: string): Entry | null => (mode === '000000' ? null : { mode, oid });
    changes.push({ path: fields[index + 1]!, from: entry(fromMode!, fromOid!), to: entry(toMode!, toOid!) });
  }
  return changes;
}

/** Every entry of a tree. */
export function entriesOf(repository: Repository, tree: string): ReadonlyMap<string, Entry> {
  return once(repository, `entries ${tree}`, () => readEntries(repository, tree));
}

function readEntries(repository: Repository, tree: string): Map<string, Entry> {
  const entries = new Map<string, Entry>();
  for (const line of content(repository, ['ls-tree', '-r', '-z', '--full-tree', tree]).split('\0')) {
    const tab = line.indexOf('\t');
    if (tab < 0) continue;
    const [mode, , oid] = line.slice(0, tab).split(' ');
    entries.set(line.slice(tab + 1), { mode: mode!, oid: oid! });
  }
  return entries;
}

/** Lines for `update-index --index-info`: deletions first, so that a file can replace a folder. */
export function indexInfo(entries: Iterable<[string, Entry | null]>, zero: string): string {
  const all = [...entries];
  const gone = all.filter(([, entry]) => entry === null).map(([path]) => `0 ${zero}\t${path}\0`);
  const there = all
    .filter(([, entry]) => entry !== null)
    .map(([path, entry]) => `${entry!.mode} ${entry!.oid} 0\t${path}\0`);
  return gone.join('') + there.join('');
}

/** The tree `start` with some entries changed; null entries are removed. */
export function changedTree(repository: Repository, start: string, entries: Iterable<[string, Entry | null]>): string {
  const info = indexInfo(entries, '0'.repeat(start.length));
  if (info === '') return start;
  // the list of changes may be long
  const key = createHash('sha256').update(info, 'latin1').digest('hex');
  return once(repository, `changed ${start} ${key}`, () => writeChanged(repository, start, info));
}

function writeChanged(repository: Repository, start: string, info: string): string {
  const index = join(repository.scratch, 'tree-index');
  rmSync(index, { force: true });
  // no index is an empty one
  if (start !== emptyTree(repository)) content(repository, ['read-tree', start], { index });
  content(repository, ['update-index', '-z', '--index-info'], { index, input: info });
  return content(repository, ['write-tree', '--missing-ok'], { index }).trim();
}

/** A tree with one file. */
export function treeOfPath(repository: Repository, path: string, { mode, oid }: Entry): string {
  let tree = `${mode} blob ${oid}`;
  for (const name of path.split('/').reverse())
    tree = `040000 tree ${content(repository, ['mktree', '-z', '--missing'], { input: `${tree}\t${name}\0` }).trim()}`;
  return tree.split(' ')[2]!;
}

export function blob(repository: Repository, bytes: string | Buffer): string {
  return content(repository, ['hash-object', '-w', '--no-filters', '--stdin'], { input: bytes }).trim();
}

/** Several at once, by name. One git process stores them all. */
export function blobs(repository: Repository, contents: Record<string, string | Buffer>): Record<string, string> {
  const names = Object.keys(contents);
  const paths = names.map((name, at) => {
    const path = join(repository.scratch, 'tmp', `blob-${at}`);
    writeFileSync(path, contents[name]!);
    return path;
  });
  const oids = content(repository, ['hash-object', '-w', '--no-filters', '--stdin-paths'], {
    input: `${paths.join('\n')}\n`,
  })
    .trim()
    .split('\n');
  return Object.fromEntries(names.map((name, at) => [name, oids[at]!]));
}

export const jsonBlob = (repository: Repository, value: unknown): string => blob(repository, asciiJson(value));

/**
 * A value as JSON. It is written in ASCII, so that names as bytes and text come back unchanged, however the blob is
 * read.
 */
export const asciiJson = (value: unknown): string =>
  JSON.stringify(value).replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

export interface Signature {
  name: string;
  email: string;
  /** seconds since 1970 */
  seconds: number;
}

/** Creates a commit object. The same arguments give the same commit. */
export function commitTree(
  repository: Repository,
  tree: string,
  parents: string[],
  message: string,
  by: Signature,
): string {
  const env: Record<string, string> = {};
  for (const role of ['AUTHOR', 'COMMITTER']) {
    env[`GIT_${role}_NAME`] = by.name.replace(/[<>\r\n\0]/g, '').trim() || 'Fetch';
    env[`GIT_${role}_EMAIL`] = by.email.replace(/[<>\r\n\0\s]/g, '') || 'fetch@localhost';
    env[`GIT_${role}_DATE`] = `@${by.seconds} +0000`;
  }
  const args = ['commit-tree', tree, ...[...new Set(parents)].flatMap((parent) => ['-p', parent])];
  const commit = content(repository, args, { input: Buffer.from(message.replaceAll('\0', ''), 'utf8'), env }).trim();
  once(repository, `tree ${commit}`, () => tree);
  return commit;
}
