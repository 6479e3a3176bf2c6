import type { Author } from '../../../src/contracts/workspace-ops.ts';
import { named } from '../checkpoint/report.ts';
import type { Repository } from '../git/git.ts';
import { mergeTrees } from '../git/merge.ts';
import type { Head } from '../git/repository.ts';
import type { Snapshot } from '../git/snapshot.ts';
import type { Signature } from '../git/trees.ts';
import { OwnRefusal, Refusal } from '../refusal.ts';
import type { UndoRecord } from './undo-log.ts';

export interface Undoing {
  what: 'one' | 'all' | 'redo';
  author: Author;
  key?: string;
  task?: string;
}

/** What every plan starts from: the undo log so far, and what is asked, by whom. */
export interface Planning {
  repository: Repository;
  log: UndoRecord[];
  op: Undoing;
  by: Signature;
}

/** What a record of each kind has. */
export function recordOf(
  { repository, log, op, by }: Planning,
  from: Head,
  to: Head,
  commits: UndoRecord['commits'],
  notes: string[],
) {
  return {
    n: (log.at(-1)?.n ?? 0) + 1,
    request: op.key ?? null,
    worktree: repository.worktree,
    headFrom: from.commit,
    headTo: to.commit,
    branchFrom: from.branch,
    branchTo: to.branch,
    commits,
    notes: [...new Set(notes)],
    done: false,
    at: by.seconds,
  };
}

export function stagedOf(repository: Repository, snapshot: Snapshot): string | null {
  if (repository.kept === 'beside') return null;
  if (snapshot.staged === null)
    throw new OwnRefusal('The index has unresolved conflicts; resolve them first. Nothing was changed.');
  return snapshot.staged;
}

/** `ours` with the change from `after` to `before` made on it; refused when it does not fit. */
export function without(repository: Repository, after: string, ours: string, before: string, what: string): string {
  const merged = mergeTrees(repository, after, ours, before);
  if (merged.conflicts.length === 0) return merged.tree;
  throw new Refusal(
    `${what} ${named(merged.conflicts)} were changed since, in the same places. Nothing was changed; put those changes away first.`,
  );
}
