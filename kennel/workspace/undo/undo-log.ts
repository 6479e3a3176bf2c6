import { extraTree, records, writeRef } from '../checkpoint/record.ts';
import { content, type Repository } from '../git/git.ts';
import { commitTree, type Signature } from '../git/trees.ts';

/**
 * One undo or redo, `refs/fetch/undo/<n>`: from one state of files, HEAD and index to another. It is stored before
 * anything is changed.
 */
export interface UndoRecord {
  n: number;
  kind: 'undo' | 'redo';
  /** the undo that a redo takes back */
  of: number | null;
  /** key of the call that asked for it */
  request: string | null;
  /** tasks, the newest first */
  keys: string[];
  worktree: string | null;
  headFrom: string | null;
  headTo: string | null;
  branchFrom: string | null;
  branchTo: string | null;
  commits: 'moved' | 'reverted' | 'none';
  /** trees of files and index; staged ones are null without a repository of the person */
  filesFrom: string;
  filesTo: string;
  stagedFrom: string | null;
  stagedTo: string | null;
  notes: string[];
  /**
   * further changes; missing in records of the version before. Trees of `others` and of the git folder hold what
   * changes alone
   */
  refs?: Array<{ name: string; from: string | null; to: string | null }>;
  othersFrom?: string;
  othersTo?: string;
  folderFrom?: string;
  folderTo?: string;
  /** lists of stashes, which are a log of git */
  stashes?: { from: string | null; to: string | null };
  /** the whole index file, where entries do not tell all of it: a blob; and as it was when this was begun */
  index?: string | null;
  indexFrom?: string | null;
  /** tree of the files that a sparse checkout leaves out again */
  absent?: string | null;
  /** folders of repositories that tasks made inside the workspace: what is left of them goes */
  nested?: string[];
  /** empty folders and pipes that were there before */
  folders?: string[];
  pipes?: string[];
  /** false: it was begun, and may be half done */
  done: boolean;
  at: number;
}

export const undoRef = (n: number): string => `refs/fetch/undo/${n}`;

/** Every record of one place, the oldest first. */
export function readUndoLog(repository: Repository): UndoRecord[] {
  return records<UndoRecord>(repository, 'refs/fetch/undo/*')
    .filter((record) => typeof record.n === 'number')
    .sort((a, b) => a.n - b.n);
}

/** What is undone now, and the undo that `redo` would take back. */
export function standing(log: UndoRecord[], worktree: string | null): { undone: Set<string>; last: UndoRecord | null } {
  const stack: UndoRecord[] = [];
  for (const record of log) {
    if (record.worktree !== worktree) continue;
    if (record.kind === 'undo') stack.push(record);
    else {
      const at = stack.findIndex((undo) => undo.n === record.of);
      if (at >= 0) stack.splice(at, 1);
    }
  }
  return { undone: new Set(stack.flatMap((record) => record.keys)), last: stack.at(-1) ?? null };
}

/** Writes a record; all that it names is reachable from its ref then. */
export function writeUndoRecord(repository: Repository, record: UndoRecord, by: Signature, old: string | null): string {
  const trees = {
    files: record.filesTo,
    'staged-from': record.stagedFrom,
    'staged-to': record.stagedTo,
    'others-from': record.othersFrom ?? null,
    'others-to': record.othersTo ?? null,
    'folder-from': record.folderFrom ?? null,
    'folder-to': record.folderTo ?? null,
  };
  const index = record.indexFrom
    ? Buffer.from(content(repository, ['cat-file', 'blob', record.indexFrom]), 'latin1')
    : null;
  const keeper = commitTree(repository, extraTree(repository, trees, {}, index), [], 'What goes with an undo\n', by);
  const heads = repository.borrows ? [] : [record.headFrom, record.headTo];
  const parents = [...heads, keeper].filter((commit) => commit !== null);
  const title = `${record.done ? '' : 'Begin to '}${record.kind} ${record.keys.join(', ')}`;
  const commit = commitTree(repository, record.filesFrom, parents, `${title}\n\n${JSON.stringify(record)}\n`, by);
  writeRef(repository, undoRef(record.n), commit, old);
  return commit;
}
