/**
 * What the workspace program (`kennel/workspace`, in the image at `/opt/fetch/kennel/workspace/main.ts`) is asked, and answers: one JSON object on
 * stdin, one on stdout. It runs in a container of its own with nothing but the workspace mounted, so that symlinks, hooks and
 * git configurations of a workspace can reach nothing else.
 */

export type WorkspaceOp =
  /** entries of a folder, folders first; `depth` from 1 */
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
  | { op: 'git-commit'; message: string; paths?: string[]; author: Author }
  | { op: 'git-branch'; action: 'list' | 'create' | 'switch'; name?: string }
  | { op: 'profile' }
  /** makes a workspace from a template in an empty folder */
  | { op: 'create'; template: Template; name: string; description: string; git: boolean; author: Author }
  /** remembers files, HEAD and index as they are under `refs/fetch/<key>/before`; a second call with one key changes nothing */
  | { op: 'checkpoint'; key: string; author: Author }
  /** remembers the state after a task, and commits what the task changed on the branch that is checked out */
  | { op: 'conclude'; key: string; message: string; author: Author; keepOnBranchOnly: boolean }
  /** back to the state before the newest task that is not undone (`one`), or before the first (`all`); `redo` takes the last undo back */
  | { op: 'undo'; what: 'one' | 'all' | 'redo'; author: Author }
  | { op: 'worktree'; action: 'add' | 'remove'; key: string };

export interface Author {
  name: string;
  email: string;
}

export const TEMPLATES = ['empty', 'node', 'python', 'rust', 'go', 'react', 'next'] as const;
export type Template = (typeof TEMPLATES)[number];

/** `ok: false` is an expected refusal whose `output` says what was wrong and what to do; anything else ends with a code other than 0. */
export interface WorkspaceAnswer {
  ok: boolean;
  /** prose, for the model and the person */
  output: string;
  /** shape by operation, below */
  data?: Record<string, unknown>;
}

export interface Profile {
  language: string | null;
  framework: string | null;
  packageManager: string | null;
  /** argv of the test command, as far as it is known */
  test: string[] | null;
  git: { branch: string | null; head: string | null; modified: number; untracked: number; ahead: number; behind: number; remote: string | null } | null;
}

/** `data` of `checkpoint`. */
export interface Checkpointed {
  /** null: the workspace is no git repository, and one of ours outside of it (`.git` is not made) keeps the state */
  head: string | null;
  branch: string | null;
  dirty: number;
}

/** `data` of `conclude`. */
export interface ConcludedChanges {
  commit: string | null;
  branch: string | null;
  files: Array<{ path: string; status: 'added' | 'modified' | 'deleted' | 'renamed'; added: number; removed: number }>;
  added: number;
  removed: number;
  /** set when the changes could not be committed beside the person's own unfinished work, and where they are */
  note?: string;
}
