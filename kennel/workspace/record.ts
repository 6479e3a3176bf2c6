import { content, git, type Repository, tryGit } from './git.ts';
import { utf8 } from './process.ts';
import type { Snapshot } from './snapshot.ts';
import { blob, commitTree, type Signature } from './trees.ts';

/**
 * What is remembered, in refs: `refs/fetch/<key>/before` and `/after` (a commit whose tree is the files, with the facts of `State`
 * as one line of JSON in its message), `/commit` (the task's commit before the branch is moved to it), `/result` (a blob), and
 * `refs/fetch/undo/<n>` for each undo and redo. Nobody but this program writes them.
 */
export interface State {
  /** number of the task in this repository, from 1 */
  n: number;
  key: string;
  worktree: string | null;
  head: string | null;
  branch: string | null;
  /** seconds since 1970 */
  at: number;
  dirty: number;
  /** tree with `staged/`, `unmerged/` and `facts.json` */
  extra: string;
  notes: string[];
}

export interface Stored extends State {
  commit: string;
  /** the files */
  tree: string;
}

export const refOf = (key: string, what: 'before' | 'after' | 'commit' | 'result'): string => `refs/fetch/${key}/${what}`;

export function readRef(repository: Repository, ref: string): string | null {
  const read = tryGit(repository, ['rev-parse', '-q', '--verify', ref]);
  return read.code === 0 ? read.stdout.trim() : null;
}

/** Sets a ref; `old` is what it has to be before, null: nothing. */
export function writeRef(repository: Repository, ref: string, value: string, old: string | null): void {
  git(repository, ['update-ref', '--no-deref', ref, value, old ?? '0'.repeat(value.length)]);
}

/** Makes the commit that holds a state, with everything it needs reachable from it. */
export function storeState(repository: Repository, snapshot: Snapshot, state: Omit<State, 'extra'>, title: string, by: Signature): string {
  const extra = extraTree(repository, { staged: snapshot.staged, unmerged: snapshot.unmerged }, { ignored: snapshot.ignored });
  const keeper = commitTree(repository, extra, [], 'What goes with a state of the files\n', by);
  const message = `${title}\n\n${JSON.stringify({ ...state, extra })}\n`;
  return commitTree(repository, snapshot.tree, [...(state.head ? [state.head] : []), keeper], message, by);
}

/** A tree with some trees in it, and facts as JSON. */
export function extraTree(repository: Repository, trees: Record<string, string | null>, facts: unknown): string {
  const lines = Object.entries(trees).flatMap(([name, tree]) => (tree ? [`040000 tree ${tree}\t${name}\0`] : []));
  lines.push(`100644 blob ${blob(repository, JSON.stringify(facts))}\tfacts.json\0`);
  return content(repository, ['mktree', '-z', '--missing'], { input: lines.join('') }).trim();
}

export function ignoredOf(repository: Repository, state: Stored): string[] {
  const facts = JSON.parse(content(repository, ['cat-file', 'blob', `${state.extra}:facts.json`])) as { ignored?: string[] };
  return facts.ignored ?? [];
}

/** A tree of `extra`; null when there is none (an index with conflicts). The empty tree is kept as one without a name. */
export function extraOf(repository: Repository, extra: string, name: string): string | null {
  for (const line of content(repository, ['ls-tree', '-z', extra]).split('\0')) {
    const [head, entry] = line.split('\t');
    if (entry === name) return head!.split(' ')[2]!;
  }
  return null;
}

export function readState(repository: Repository, key: string, what: 'before' | 'after'): Stored | null {
  return records<State>(repository, `refs/fetch/${key}/${what}`)[0] ?? null;
}

/** Every state of a kind that is remembered, the oldest first. */
export function states(repository: Repository, what: 'before' | 'after'): Stored[] {
  return records<State>(repository, `refs/fetch/*/${what}`)
    .filter((state) => typeof state.n === 'number')
    .sort((a, b) => a.n - b.n);
}

export function records<T extends object>(repository: Repository, pattern: string): Array<T & { commit: string; tree: string; ref: string }> {
  const listed = git(repository, ['for-each-ref', '--format=%(refname)%00%(objectname)%00%(tree)%00%(contents:body)%00', pattern]);
  const fields = listed.split('\0');
  const found: Array<T & { commit: string; tree: string; ref: string }> = [];
  for (let index = 0; index + 4 < fields.length; index += 4) {
    const [ref, commit, tree, body] = fields.slice(index, index + 4) as [string, string, string, string];
    try {
      found.push({ ...(JSON.parse(utf8(body)) as T), commit, tree, ref: ref.trim() });
    } catch {
      // a ref that somebody else made there is none of ours
    }
  }
  return found;
}
