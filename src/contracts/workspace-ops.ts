/**
 * What the workspace program (`kennel/workspace`, in the image at `/opt/fetch/kennel/workspace/main.ts`) is asked, and answers: one JSON object on
 * stdin, one on stdout. It runs in a container of its own with nothing but the workspace mounted, so that symlinks, hooks and
 * git configurations of a workspace can reach nothing else.
 */

/** `worktree`: the key of a `worktree` that was added before; the operation works there instead of in the workspace's own files. */
export type WorkspaceOp = { worktree?: string } /** entries of a folder, folders first; `depth` from 1 */ & (
  | { op: 'list'; path: string; depth: number; limit: number }
  /** lines of a text file, from 1, as they are */
  | { op: 'read'; path: string; from: number; lines: number }
  | { op: 'search'; pattern: string; regex: boolean; path: string; glob?: string; limit: number }
  /** `preview: true` changes nothing and answers what would change as a unified diff */
  | { op: 'write'; path: string; content: string; preview?: boolean }
  | { op: 'edit'; path: string; find: string; replace: string; all: boolean; preview?: boolean }
  | { op: 'delete'; path: string; kind: 'file' | 'folder'; preview?: boolean }
  | { op: 'git-status' }
  | { op: 'git-diff'; path?: string; staged: boolean; against?: string }
  | { op: 'git-log'; limit: number }
  /** with `paths`: those only; without: what is staged, or everything that is not ignored when nothing is staged */
  | { op: 'git-commit'; message: string; paths?: string[]; author: Author }
  | { op: 'git-branch'; action: 'list' | 'create' | 'switch'; name?: string }
  | { op: 'profile' }
  /** makes a workspace from a template in an empty folder */
  | { op: 'create'; template: Template; name: string; description: string; git: boolean; author: Author }
  /** remembers files, HEAD, index, refs and the git folder as they are, outside of the workspace; a second call with one key changes nothing */
  | { op: 'checkpoint'; key: string; author: Author }
  /**
   * remembers the state after a task, and commits what the task changed on the branch that is checked out; a second call with one
   * key answers what the first did
   */
  | { op: 'conclude'; key: string; message: string; author: Author; keepOnBranchOnly: boolean }
  /**
   * back to the state before the newest task that is not undone (`one`), or before the first (`all`); `redo` takes the last undo
   * back. A second call with one `key` answers what the first did; without a key each call counts. `task` names the one task that is
   * meant, also one that worked in a worktree: then its branch goes.
   */
  | { op: 'undo'; what: 'one' | 'all' | 'redo'; author: Author; key?: string; task?: string }
  /** a second set of files on branch `fetch/<key>` from HEAD, at `.git/fetch-worktrees/<key>` of the workspace; `remove` keeps the branch when it has commits of its own */
  | { op: 'worktree'; action: 'add' | 'remove'; key: string; author: Author }
);

export interface Author {
  name: string;
  email: string;
}

export const TEMPLATES = ['empty', 'node', 'python', 'rust', 'go', 'react', 'next'] as const;
export type Template = (typeof TEMPLATES)[number];

/** Keys of tasks: names of refs and folders are made of them. `undo` is taken. */
export const KEY = /^(?!undo$)[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/;

/** `ok: false` is an expected refusal whose `output` says what was wrong and what to do; anything else ends with a code other than 0. */
export interface WorkspaceAnswer {
  ok: boolean;
  /** prose, for the model and the person */
  output: string;
  /** shape by operation, below */
  data?: Record<string, unknown>;
}

/** `data` of `write`, `edit` and `delete`; with `preview`, `output` is the unified diff. */
export interface FileChanged {
  path: string;
  /** lines; of a folder: those of its text files are not counted */
  added: number;
  removed: number;
  /** the unified diff, bounded */
  diff: string;
}

export interface Profile {
  language: string | null;
  framework: string | null;
  packageManager: string | null;
  /** argv of the test command, as far as it is known */
  test: string[] | null;
  git: {
    /** null: detached */
    branch: string | null;
    /** null: no commit yet */
    head: string | null;
    modified: number;
    untracked: number;
    ahead: number;
    behind: number;
    /** URL of the branch's remote or of `origin`, without user and password */
    remote: string | null;
  } | null;
}

/** `data` of `checkpoint`. */
export interface Checkpointed {
  /** null: no commit yet, or no git repository (`kept` is `beside` then) */
  head: string | null;
  /** null: detached, or no git repository */
  branch: string | null;
  kept: 'workspace' | 'beside';
  /** files that differ from HEAD */
  dirty: number;
  /** what is not kept whole: unreadable and large files */
  notes: string[];
}

/** `data` of `conclude`. */
export interface ConcludedChanges {
  /** the newest commit on the checked-out branch that holds the task's changes; null: none was made there */
  commit: string | null;
  /** the branch that was checked out at the end */
  branch: string | null;
  /** `fetch/<key>` when the changes are on a branch of their own */
  keptOn?: string | null;
  /** at most 500; `added` and `removed` count all */
  files: Array<{ path: string; status: 'added' | 'modified' | 'deleted' | 'renamed'; added: number; removed: number; from?: string }>;
  /** how many files there are, when `files` does not list all of them */
  filesChanged?: number;
  added: number;
  removed: number;
  /** argv of the workspace's test command as the task left it, as far as it is known; null also when nothing was changed */
  test: string[] | null;
  /** what else the person should hear: changes that could not be committed, and where they are; what became of the git folder and of ignored files */
  note?: string;
}

/** `data` of `undo`. */
export interface Undone {
  /** tasks that are undone by this call, or done again, the newest first */
  keys: string[];
  files: string[];
  /** what became of the commits: the branch went back (or forward again), a further commit takes them back, or there was none */
  commits: 'moved' | 'reverted' | 'none';
  head: string | null;
}

/** `data` of `worktree` with `add`. */
export interface Worktree {
  /** relative to the workspace */
  path: string;
  branch: string;
}
