import { existsSync, lstatSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { argument, content, type Repository, tryGit } from './git.ts';
import { onDisk, readIndex } from './snapshot.ts';
import { giveObjects } from './transfer.ts';
import { blob, type Change, indexInfo, isSubmodule, once, same } from './trees.ts';

/** Changes the person's index entry by entry, so that everything else stays staged. */

/** Why the index cannot be written now; null when it can. */
export function indexLock(repository: Repository): string | null {
  const lock = join(repository.gitDir, 'index.lock');
  for (let tries = 0; existsSync(lock); tries += 1) {
    if (tries === 20) {
      return `another git process holds the index (index.lock in the git folder, since ${statSync(lock).mtime.toISOString()}); if none is running, remove that file`;
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  }
  return null;
}

/**
 * An index as text: entries, conflicts, and what git is told about files: to overlook them, or that they will be added.
 * `file`: an index elsewhere. Null when it cannot be read.
 */
export function indexText(repository: Repository, file?: string): string | null {
  const ask = (...args: string[]) =>
    tryGit(repository, ['ls-files', '-z', ...args], file === undefined ? {} : { index: file });
  const listed = ask('-s', '-v');
  if (listed.code !== 0) return null;
  const empty = emptyBlob(repository);
  const names = listed.stdout
    .split('\0')
    .flatMap((line) => (line.includes(` ${empty} 0\t`) ? [argument(line.slice(line.indexOf('\t') + 1))] : []))
    .filter((name) => name !== null)
    .slice(0, MOST_EMPTY);
  const flags = names.length > 0 ? ask('--debug', '--', ...names).stdout : '';
  const announced = [...flags.matchAll(/^ {2}size: \d+\tflags: ([\da-f]+)$/gm)].map(([, flag]) =>
    Number.parseInt(flag!, 16) & INTENT_TO_ADD ? 'N' : '-',
  );
  return `${listed.stdout}${announced.join('')}`;
}

/** What git is told about files, of an index as text. */
export const marksOf = (text: string | null): string =>
  (text ?? '')
    .split('\0')
    .flatMap((line) => (/^(?:[a-z]|S) /.test(line) ? [`${line[0]} ${line.slice(line.indexOf('\t') + 1)}`] : []))
    .concat(text?.slice(text.lastIndexOf('\0') + 1) ?? '')
    .join('\0');

/** A stored index as a file that git can read. */
export function indexFile(repository: Repository, oid: string): string {
  const file = join(repository.scratch, `index-${oid}`);
  if (!existsSync(file)) writeFileSync(file, Buffer.from(content(repository, ['cat-file', 'blob', oid]), 'latin1'));
  return file;
}

/** The person's index file as it is now, stored. Null: there is none. */
export function ownIndex(repository: Repository): string | null {
  const file = join(repository.gitDir, 'index');
  return existsSync(file) ? blob(repository, readFileSync(file)) : null;
}

/** `CE_INTENT_TO_ADD` of git: in the index, such a file is like an empty one. */
const INTENT_TO_ADD = 0x20000000;
const MOST_EMPTY = 1000;

/** Sets entries that still match `from`. Others were changed by somebody else, and stay. */
export function restage(repository: Repository, changes: readonly Change[]): void {
  if (changes.length === 0) return;
  const { entries: now, sparse, assumed } = readIndex(repository);
  const due = changes.filter((change) => same(now.get(change.path) ?? null, change.from));
  if (due.length === 0) return;
  giveObjects(
    repository,
    due.flatMap((change) => (change.to && !isSubmodule(change.to) ? [change.to.oid] : [])),
  );
  const zero = '0'.repeat((due[0]!.from ?? due[0]!.to)!.oid.length);
  const input = indexInfo(
    due.map((change) => [change.path, change.to]),
    zero,
  );
  const index = join(repository.gitDir, 'index');
  content(repository, ['update-index', '-z', '--index-info'], { index, input });
  // git forgets what it was told to overlook
  const set = due.flatMap(({ path, to }) => (to ? [path] : []));
  mark(
    repository,
    '--assume-unchanged',
    set.filter((path) => assumed.has(path)),
  );
  mark(
    repository,
    '--skip-worktree',
    set.filter((path) => sparse.has(path)),
  );
  // fills in sizes and times, so that the next status need not read the files; the exit code only says that some differ
  tryGit(repository, ['update-index', '-q', '--ignore-submodules', '--refresh']);
}

function mark(repository: Repository, how: '--assume-unchanged' | '--skip-worktree', paths: string[]): void {
  const input = paths.map((path) => `${path}\0`).join('');
  if (input !== '') tryGit(repository, ['update-index', '-z', how, '--stdin'], { input });
}

/** Has git overlook files that a sparse checkout leaves out; it forgets one while the file is there. */
export function overlookAbsent(repository: Repository, paths: string[]): void {
  const { entries, sparse } = readIndex(repository);
  const due = paths.filter((path) => entries.has(path) && !sparse.has(path));
  mark(
    repository,
    '--skip-worktree',
    due.filter((path) => !lstatSync(onDisk(repository.root, path), { throwIfNoEntry: false })),
  );
}

/**
 * Has git read files again that were written without it. It takes one of another size for changed, even where its
 * content is committed in another form, such as other line endings.
 */
export function reread(repository: Repository, paths: string[]): void {
  const changed = new Set(
    tryGit(repository, ['diff-files', '--name-only', '-z', '--ignore-submodules']).stdout.split('\0'),
  );
  const { entries } = readIndex(repository);
  const empty = emptyBlob(repository);
  const due = paths.flatMap((path): Change[] => {
    const entry = changed.has(path) ? entries.get(path) : undefined;
    return entry && !isSubmodule(entry) && entry.oid !== empty ? [{ path, from: entry, to: entry }] : [];
  });
  restage(repository, due);
}

/** Also what the index has of a file that was only announced. */
const emptyBlob = (repository: Repository): string =>
  once(repository, 'empty blob', () => content(repository, ['hash-object', '--stdin'], { input: '' }).trim());
