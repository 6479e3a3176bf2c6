import { randomBytes } from 'node:crypto';
import { closeSync, lstatSync, mkdirSync, openSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LIMITS } from '../limits.ts';
import { content, GitFailed, git, type Repository, tryContent, tryGit, tryKept } from './git.ts';
import { textOrNull } from './repository.ts';

/**
 * Moves objects between the workspace's repository and the store. git hashes incoming objects again, so a damaged
 * object cannot pass for another.
 */

export interface Ref {
  /** bytes as characters */
  name: string;
  oid: string;
  /** the ref that this symbolic ref points to */
  symref?: string;
}

/** All refs of the workspace, without the checkpoint refs of the previous release. */
export function refsOf(repository: Repository): Ref[] {
  if (repository.kept === 'beside') return [];
  return git(repository, ['for-each-ref', '--format=%(objectname) %(refname) %(symref)'])
    .split('\n')
    .flatMap((line): Ref[] => {
      const [oid, name, symref] = line.split(' ');
      if (!oid || !name || name.startsWith('refs/fetch/')) return [];
      return [{ name, oid, ...(symref ? { symref } : {}) }];
    });
}

/** Which of these objects are missing. */
export function missingFrom(ask: typeof content, repository: Repository, oids: Iterable<string>): string[] {
  const all = [...new Set(oids)];
  if (all.length === 0) return [];
  return ask(repository, ['cat-file', '--batch-check'], { input: all.map((oid) => `${oid}\n`).join('') })
    .split('\n')
    .filter((line) => line.endsWith(' missing'))
    .map((line) => line.split(' ')[0]!);
}

/**
 * Copies into the store all that the refs, HEAD and the index reach. Returns why that failed; the repository then
 * `borrows`, and the checkpoint works only while the git folder does.
 */
export function copyHistory(
  repository: Repository,
  refs: readonly Ref[],
  head: string | null,
  indexed: Iterable<string>,
): string | null {
  const tips = [...refs.map((ref) => ref.oid), ...(head ? [head] : [])];
  const wanted = missingFrom(content, repository, [...tips, ...indexed]);
  const lost = new Set(wanted.length > 0 ? missingFrom(git, repository, wanted) : []);
  const due = wanted.filter((oid) => !lost.has(oid));
  let why = lost.size > 0 ? `${lost.size} objects are missing in it` : null;
  if (due.length > 0) {
    const known = (textOrNull(join(repository.store!, 'tips')) ?? '').split('\n').filter(Boolean);
    if (known.length === 0 && sizeOf(repository) > LIMITS.historyBytes)
      why = `it is larger than ${LIMITS.historyBytes / 1024 ** 3} GB`;
    else why = copied(repository, due, known) ?? why;
  }
  if (why) repository.borrows = true;
  else if (due.length > 0) writeFileSync(join(repository.store!, 'tips'), [...new Set(tips)].join('\n'));
  return why;
}

function copied(repository: Repository, due: string[], known: string[]): string | null {
  const gone = new Set(missingFrom(git, repository, known));
  const input = `${[...due, ...known.filter((oid) => !gone.has(oid)).map((oid) => `^${oid}`)].join('\n')}\n`;
  let why = '';
  // a shallow or partial clone lacks objects on purpose
  for (const more of [[], ['--missing=allow-any']]) {
    try {
      pass(repository, (file) => git(repository, packing(more), { input, stdoutTo: file }), content);
      return null;
    } catch (error) {
      if (!(error instanceof GitFailed)) throw error;
      why = error.message.split('\n')[0]!.slice(0, 300);
    }
  }
  return why;
}

/**
 * Makes sure that the workspace's repository has these objects and all that they reach. `whole`: copy even those that
 * seem to exist. `made`: they were made just now, so the repository has none of them.
 */
export function giveObjects(
  repository: Repository,
  oids: Iterable<string | null>,
  options: { except?: Array<string | null>; whole?: boolean; made?: boolean } = {},
): void {
  if (repository.kept === 'beside') return;
  const all = [...new Set(oids)].filter((oid) => oid !== null);
  const due = options.whole || options.made ? all : missingFrom(git, repository, all);
  const here = new Set(options.made ? [] : missingFrom(content, repository, due));
  const wanted = due.filter((oid) => !here.has(oid));
  if (wanted.length === 0) return;
  const except = (options.except ?? []).filter((oid) => oid !== null).map((oid) => `^${oid}`);
  const input = `${[...wanted, ...except].join('\n')}\n`;
  // the few objects of a task stay loose, like those of any commit
  const small = !options.whole && except.length > 0;
  throughFile(
    repository,
    (file) => content(repository, packing(['--missing=allow-any']), { input, stdoutTo: file }),
    (file) => git(repository, small ? ['unpack-objects', '-q'] : ['index-pack', '--stdin'], { stdinFrom: file }),
  );
}

// existing deltas are used again, and no new ones are searched
const packing = (more: string[]): string[] => [
  'pack-objects',
  '--revs',
  '--stdout',
  '-q',
  '--window=0',
  '--delta-base-offset',
  ...more,
];

function pass(repository: Repository, write: (file: number) => void, into: typeof content): void {
  throughFile(repository, write, (file) => into(repository, ['index-pack', '--stdin'], { stdinFrom: file }));
}

/** Size of the repository's objects in bytes. */
function sizeOf(repository: Repository): number {
  const told = git(repository, ['count-objects', '-v']).split('\n');
  const kilobytes = (name: string) =>
    Number(told.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2) ?? 0);
  return (kilobytes('size') + kilobytes('size-pack')) * 1024;
}

/** Copies commits that refs of the version before name. */
export function copyCommits(repository: Repository, oids: string[]): boolean {
  return copied(repository, missingFrom(content, repository, oids), []) === null;
}

/** Puts the many loose objects of the store into one pack, because each is a file. */
export function tidy(repository: Repository): void {
  const folder = join(repository.store!, 'objects');
  const loose = readdirSync(folder)
    .filter((name) => /^[0-9a-f]{2}$/.test(name))
    .flatMap((name) =>
      readdirSync(join(folder, name)).flatMap((rest) => (/^[0-9a-f]{38,62}$/.test(rest) ? [name + rest] : [])),
    );
  if (loose.length < LIMITS.looseObjects) return;
  const packed = tryContent(repository, ['pack-objects', '-q', '--window=0', join(folder, 'pack', 'pack')], {
    input: `${loose.join('\n')}\n`,
  });
  if (packed.code === 0) tryContent(repository, ['prune-packed', '-q']);
  tryKept(repository, ['pack-refs', '--all']);
}

/** Sets refs that match `from`; returns the names of those that do not. */
export function setRefs(
  repository: Repository,
  changes: Array<{ name: string; from: string | null; to: string | null }>,
): string[] {
  const now = new Map(refsOf(repository).map((ref) => [ref.name, ref.oid]));
  const left: string[] = [];
  for (const { name, from, to } of changes) {
    const current = now.get(name) ?? null;
    if (current === to) continue;
    const order = to === null ? `delete ${name}\0${from}\0` : `update ${name}\0${to}\0${from ?? ''}\0`;
    // an empty old value would be no condition; none is needed for a ref that does not exist
    if (
      current !== from ||
      tryGit(repository, ['update-ref', '--stdin', '-z', '--no-deref'], { input: order }).code !== 0
    )
      left.push(name);
  }
  return left;
}

/** Passes data through a temporary file of the store: a pack may be larger than the memory of a container. */
function throughFile<T>(repository: Repository, write: (file: number) => void, read: (file: number) => T): T {
  const folder = join(repository.store!, 'tmp');
  mkdirSync(folder, { recursive: true });
  // left by killed calls
  for (const name of readdirSync(folder)) {
    const stats = lstatSync(join(folder, name), { throwIfNoEntry: false });
    if (stats && Date.now() - stats.mtimeMs > 86_400_000) rmSync(join(folder, name), { recursive: true, force: true });
  }
  const path = join(folder, randomBytes(8).toString('hex'));
  try {
    const out = openSync(path, 'wx', 0o600);
    try {
      write(out);
    } finally {
      closeSync(out);
    }
    const from = openSync(path, 'r');
    try {
      return read(from);
    } finally {
      closeSync(from);
    }
  } finally {
    rmSync(path, { force: true });
  }
}
