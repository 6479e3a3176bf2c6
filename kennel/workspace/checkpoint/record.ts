import { lstatSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Author } from '../../../src/contracts/workspace-ops.ts';
import { content, kept, type Repository, tryGit, tryKept } from '../git/git.ts';
import { utf8 } from '../git/process.ts';
import { textOrNull } from '../git/repository.ts';
import type { Snapshot } from '../git/snapshot.ts';
import { asciiJson, blobs, commitTree, once, type Signature } from '../git/trees.ts';

/**
 * The saved states, in refs of the store. `refs/fetch/<key>/before` and `/after` are commits: the tree has the files,
 * the message has the facts of `State` as one line of JSON. `/commit` is the task's commit before the branch moves to
 * it, `/result` is a blob, and `refs/fetch/undo/<n>` is one undo or redo. Only this program writes them.
 */
export interface State {
  /** number of the task in this workspace, from 1 */
  n: number;
  key: string;
  worktree: string | null;
  head: string | null;
  branch: string | null;
  /** seconds since 1970; never less than in the state before it */
  at: number;
  dirty: number;
  /** tree with `staged/`, `unmerged/`, `others/`, `git/`, `logs/`, `index` and `facts.json` */
  extra: string;
  notes: string[];
  /** missing in states of the version before, where HEAD tells it */
  kept?: Repository['kept'];
  /** why the git folder was unusable although there should be one */
  damage?: string;
  /** of a direct edit: its turn. Newer direct edits of the same turn are taken back together with it */
  turn?: string;
  /** it has only the files that a direct edit named, and nothing of git. `kept` is `beside` then */
  partial?: true;
}

export interface Stored extends State {
  commit: string;
  /** the files */
  tree: string;
}

/**
 * Facts of a state that are no tree. Paths are bytes as characters. Fields may be missing in states of the version
 * before.
 */
export interface Facts {
  /** ignored files, and folders that are ignored whole (they end with `/`) */
  ignored: string[];
  /** files of which only the name is saved */
  named?: Named[];
  /** repositories inside the workspace; they end with `/` */
  nested?: string[];
  /** empty folders */
  folders?: string[];
  pipes?: string[];
  refs?: Array<{ name: string; oid: string; symref?: string }>;
  /** the text of HEAD */
  head?: string | null;
  /** object files of git, with size and time */
  objects?: Record<string, string>;
}

export interface Named {
  path: string;
  why: 'large' | 'unreadable' | 'special';
  /** only for a repository: changes when its content changes */
  print?: string;
}

type TaskRef = 'before' | 'after' | 'commit' | 'result';

export const refOf = (key: string, what: TaskRef): string => `refs/fetch/${key}/${what}`;

/** A ref of the store. */
export function readRef(repository: Repository, ref: string): string | null {
  const read = tryKept(repository, ['rev-parse', '-q', '--verify', ref]);
  return read.code === 0 ? read.stdout.trim() : null;
}

/** What the refs of a task name, of those that it has. */
export function refsOfTask(repository: Repository, key: string): Partial<Record<TaskRef, string>> {
  const listed = kept(repository, ['for-each-ref', '--format=%(refname:lstrip=3) %(objectname)', `refs/fetch/${key}/`]);
  return Object.fromEntries(
    listed
      .split('\n')
      .filter(Boolean)
      .map((line) => line.split(' ')),
  );
}

/** A ref of the workspace's own repository. */
export function readOwnRef(repository: Repository, ref: string): string | null {
  const read = tryGit(repository, ['rev-parse', '-q', '--verify', ref]);
  return read.code === 0 ? read.stdout.trim() : null;
}

/** Sets a ref of the store. `old` is its expected value; null: it must not exist. */
export function writeRef(repository: Repository, ref: string, value: string, old: string | null): void {
  const args = ['update-ref', '--no-deref', ref, value, old ?? '0'.repeat(value.length)];
  if (tryKept(repository, args).code === 0) return;
  // a killed call leaves a lock that nobody would ever remove
  const lock = join(repository.store!, `${ref}.lock`);
  const stats = lstatSync(lock, { throwIfNoEntry: false });
  if (stats && Date.now() - stats.mtimeMs > 30_000) rmSync(lock, { force: true });
  kept(repository, args);
}

/**
 * Stores a state under its ref, by a commit from which everything that it needs is reachable. `old`: the commit that
 * the ref names until then.
 */
export function storeState(
  repository: Repository,
  what: 'before' | 'after',
  { snapshot, facts }: { snapshot: Snapshot; facts: Facts },
  state: Omit<State, 'extra'>,
  author: Author,
  old: string | null = null,
): Stored {
  const by: Signature = { ...author, seconds: state.at };
  const { staged, unmerged } = snapshot;
  const extra = extraTree(
    repository,
    { staged, unmerged, ...snapshot.trees },
    { ...facts, ignored: snapshot.ignored },
    snapshot.index ?? null,
  );
  const keeper = commitTree(repository, extra, [], 'What goes with a state of the files\n', by);
  const title = `${what === 'before' ? 'Before' : 'After'} ${state.turn === undefined ? 'task ' : ''}${state.key}`;
  const message = `${title}\n\n${JSON.stringify({ ...state, extra })}\n`;
  const parents = state.head && !repository.borrows ? [state.head] : [];
  const commit = commitTree(repository, snapshot.tree, [...parents, keeper], message, by);
  writeRef(repository, refOf(state.key, what), commit, old);
  return { ...state, extra, commit, tree: snapshot.tree };
}

/** A tree of some trees, the facts as JSON, and the index file. */
export function extraTree(
  repository: Repository,
  trees: Record<string, string | null>,
  facts: unknown,
  index: Buffer | null = null,
): string {
  const lines = Object.entries(trees).flatMap(([name, tree]) => (tree ? [`040000 tree ${tree}\t${name}\0`] : []));
  const files = { 'facts.json': asciiJson(facts), ...(index && { index }) };
  for (const [name, oid] of Object.entries(blobs(repository, files))) lines.push(`100644 blob ${oid}\t${name}\0`);
  return content(repository, ['mktree', '-z', '--missing'], { input: lines.join('') }).trim();
}

export function factsOf(repository: Repository, state: Stored): Facts {
  return once(repository, `facts ${state.extra}`, () => {
    const facts = JSON.parse(content(repository, ['cat-file', 'blob', `${state.extra}:facts.json`])) as Partial<Facts>;
    return { ...facts, ignored: facts.ignored ?? [] };
  });
}

/**
 * A tree or blob of `extra`; null when it is missing (an index with conflicts). The empty tree is stored as a missing
 * one.
 */
export function extraOf(repository: Repository, extra: string, name: string): string | null {
  const listed = once(repository, `extra ${extra}`, () => content(repository, ['ls-tree', '-z', extra]).split('\0'));
  for (const line of listed) {
    const [head, entry] = line.split('\t');
    if (entry === name) return head!.split(' ')[2]!;
  }
  return null;
}

/** Whether a task worked in a repository of the person. Only a plain folder has neither HEAD nor branch. */
export const hadRepository = (state: State): boolean =>
  (state.kept ?? (state.head === null && state.branch === null ? 'beside' : 'workspace')) === 'workspace';

export function readState(repository: Repository, key: string, what: 'before' | 'after'): Stored | null {
  return records<State>(repository, `refs/fetch/${key}/${what}`)[0] ?? null;
}

/** Every saved state of one kind, oldest first. */
export function states(repository: Repository, what: 'before' | 'after'): Stored[] {
  return (
    records<State>(repository, `refs/fetch/*/${what}`)
      .filter((state) => typeof state.n === 'number')
      // in the version before, numbers began again when a folder became a repository
      .sort((a, b) => a.at - b.at || a.n - b.n)
  );
}

/**
 * Number and time of the next state. The newest ones are in a file, because reading every state gets slower with each
 * checkpoint. A file that is missing or older than the states costs nothing: numbers only decide within a second.
 */
export function nextPlace(repository: Repository): { n: number; at: number } {
  const file = join(repository.store!, 'newest');
  const last = newestIn(textOrNull(file)) ?? states(repository, 'before').at(-1);
  const next = { n: (last?.n ?? 0) + 1, at: Math.max(now(), last?.at ?? 0) };
  const fresh = `${file}.${process.pid}`;
  writeFileSync(fresh, JSON.stringify(next));
  renameSync(fresh, file);
  return next;
}

function newestIn(text: string | null): { n: number; at: number } | null {
  try {
    const { n, at } = JSON.parse(text ?? '') as { n: unknown; at: unknown };
    return Number.isInteger(n) && Number.isInteger(at) ? { n: n as number, at: at as number } : null;
  } catch {
    return null;
  }
}

export const now = (): number => Math.floor(Date.now() / 1000);

export function records<T extends object>(
  repository: Repository,
  pattern: string,
): Array<T & { commit: string; tree: string; ref: string }> {
  const listed = kept(repository, [
    'for-each-ref',
    '--format=%(refname)%00%(objectname)%00%(tree)%00%(contents:body)%00',
    pattern,
  ]);
  const fields = listed.split('\0');
  const found: Array<T & { commit: string; tree: string; ref: string }> = [];
  for (let index = 0; index + 4 < fields.length; index += 4) {
    const [ref, commit, tree, body] = fields.slice(index, index + 4) as [string, string, string, string];
    try {
      found.push({ ...(JSON.parse(utf8(body)) as T), commit, tree, ref: ref.trim() });
    } catch {
      // somebody else made this ref
    }
  }
  return found;
}
