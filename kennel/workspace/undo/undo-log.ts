import { extraTree, records, writeRef } from '../checkpoint/record.ts';
import type { Repository } from '../git/git.ts';
import { commitTree, type Signature } from '../git/trees.ts';

/** One undo or redo, `refs/fetch/undo/<n>`: from one state of files, HEAD and index to another. It is stored before anything is changed. */
export interface UndoStep {
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
  /** further changes; missing in steps of the version before. Trees of `others` and of the git folder hold what changes alone */
  refs?: Array<{ name: string; from: string | null; to: string | null }>;
  othersFrom?: string;
  othersTo?: string;
  folderFrom?: string;
  folderTo?: string;
  /** lists of stashes, which are a log of git */
  stashes?: { from: string | null; to: string | null };
  /** empty folders and pipes that were there before */
  folders?: string[];
  pipes?: string[];
  /** false: it was begun, and may be half done */
  done: boolean;
  at: number;
}

export const stepRef = (n: number): string => `refs/fetch/undo/${n}`;

/** Every step of one place, the oldest first. */
export function steps(repository: Repository): UndoStep[] {
  return records<UndoStep>(repository, 'refs/fetch/undo/*')
    .filter((step) => typeof step.n === 'number')
    .sort((a, b) => a.n - b.n);
}

/** What is undone now, and the undo that `redo` would take back. */
export function standing(all: UndoStep[], worktree: string | null): { undone: Set<string>; last: UndoStep | null } {
  const stack: UndoStep[] = [];
  for (const step of all) {
    if (step.worktree !== worktree) continue;
    if (step.kind === 'undo') stack.push(step);
    else {
      const at = stack.findIndex((undo) => undo.n === step.of);
      if (at >= 0) stack.splice(at, 1);
    }
  }
  return { undone: new Set(stack.flatMap((step) => step.keys)), last: stack.at(-1) ?? null };
}

/** Writes a step; all that it names is reachable from its ref then. */
export function writeStep(repository: Repository, step: UndoStep, by: Signature, old: string | null): string {
  const trees = {
    files: step.filesTo,
    'staged-from': step.stagedFrom,
    'staged-to': step.stagedTo,
    'others-from': step.othersFrom ?? null,
    'others-to': step.othersTo ?? null,
    'folder-from': step.folderFrom ?? null,
    'folder-to': step.folderTo ?? null,
  };
  const keeper = commitTree(repository, extraTree(repository, trees, {}), [], 'What goes with an undo\n', by);
  const heads = repository.borrows ? [] : [step.headFrom, step.headTo];
  const parents = [...heads, keeper].filter((commit) => commit !== null);
  const title = `${step.done ? '' : 'Begin to '}${step.kind} ${step.keys.join(', ')}`;
  const commit = commitTree(repository, step.filesFrom, parents, `${title}\n\n${JSON.stringify(step)}\n`, by);
  writeRef(repository, stepRef(step.n), commit, old);
  return commit;
}
