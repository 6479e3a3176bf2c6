/**
 * Requests and answers of the workspace program (`kennel/workspace`, in the image at
 * `/opt/fetch/kennel/workspace/main.ts`): one JSON object on stdin, one on stdout. It runs in its own container with
 * only the workspace mounted, so that symlinks, hooks and git configuration of a workspace reach nothing else.
 */

/**
 * `worktree`: key of a `worktree` that was added before. The operation then works there, not on the workspace's own
 * files.
 */
export type WorkspaceOp = { worktree?: string } /** entries of a folder, folders first; `depth` from 1 */ & (
  | { op: 'list'; path: string; depth: number; limit: number }
  /** lines of a text file as they are, counted from 1 */
  | { op: 'read'; path: string; from: number; lines: number }
  /** a hash of a file, or of a folder with everything in it; its data are `{ digest }`, null when that is too much */
  | { op: 'digest'; path: string }
  /** `symbol`: the pattern is a name in code; its definitions come first, then its uses */
  | { op: 'search'; pattern: string; regex: boolean; path: string; glob?: string; limit: number; symbol?: boolean }
  /** `preview: true` changes nothing and returns the change as a unified diff. With `edit`, `undo` knows the change. */
  | { op: 'write'; path: string; content: string; preview?: boolean; edit?: DirectEdit }
  | { op: 'edit'; path: string; find: string; replace: string; all: boolean; preview?: boolean; edit?: DirectEdit }
  | { op: 'delete'; path: string; kind: 'file' | 'folder'; preview?: boolean; edit?: DirectEdit }
  | { op: 'git-status' }
  | { op: 'git-diff'; path?: string; staged: boolean; against?: string }
  | { op: 'git-log'; limit: number }
  /** with `paths`: only those; without: what is staged, or everything that is not ignored when nothing is staged */
  | { op: 'git-commit'; message: string; paths?: string[]; author: Author }
  | { op: 'git-branch'; action: 'list' | 'create' | 'switch'; name?: string }
  | { op: 'profile' }
  /** the most important files of the repository with what they define; its data are a `RepositoryMap` */
  | { op: 'map' }
  /** what the repository says of the environment that it needs; its data are a `FoundEnvironment` (environment.ts) */
  | { op: 'environment' }
  /**
   * the files that the Dockerfile of its devcontainer copies; its data are `{ files: CopiedContent[] }`
   * (environment.ts)
   */
  | { op: 'environment-files' }
  /** fills an empty folder with a workspace from a template */
  | { op: 'create'; template: Template; name: string; description: string; git: boolean; author: Author }
  /**
   * saves files, HEAD, index, refs and the git folder outside the workspace; a second call with the same key changes
   * nothing. `turn`: of a direct edit
   */
  | { op: 'checkpoint'; key: string; author: Author; turn?: string }
  /**
   * saves the state after a command that a `checkpoint` with `turn` was made for. Commits nothing. When nothing was
   * changed, the checkpoint is removed
   */
  | { op: 'settle'; key: string; author: Author }
  /**
   * saves the state after a task, and commits the task's changes on the branch that is checked out; a second call with
   * the same key returns the answer of the first. `uncommitted`: why earlier calls failed; this one only saves the state
   */
  | { op: 'conclude'; key: string; message: string; author: Author; keepOnBranchOnly: boolean; uncommitted?: string }
  /**
   * after `conclude`: compares the tests with those before the task (`look`; its data are a `BaseLook`), or makes a copy
   * of the workspace as it was before the task, beside its checkpoints, for `KennelCommand.base`; its data are
   * `{ test: string[] | null }`, the test command of that state. `copy` makes the copy of the files as they are now.
   * `now`: between two runs of a task that has not ended, whose files are compared as they are now. `give` takes
   * installed packages from a copy into a workspace that has none. `line`: the command of a person that tests it
   */
  | { op: 'base'; action: 'look' | 'make' | 'copy' | 'give' | 'remove'; key: string; now?: true; line?: string }
  /**
   * the commit that is checked out, without anything else that lies in the folder; its data are a `HeadLook`. `copy`
   * also makes a copy of it for `KennelCommand.base`, which `base` removes. `since`: a commit to count from
   */
  | { op: 'head'; action: 'look' | 'copy'; key: string; since?: string }
  /**
   * `one`: back to the state before the newest task that is not undone, or before the direct edits of the newest turn.
   * `all`: back to before the first. `redo` takes back the last undo. A second call with the same `key` returns the
   * answer of the first; without a key each call counts. `task` names one task, which may have worked in a worktree:
   * then its branch is deleted.
   */
  | { op: 'undo'; what: 'one' | 'all' | 'redo'; author: Author; key?: string; task?: string }
  /**
   * a second set of files on branch `fetch/<key>` from HEAD, at `.git/fetch-worktrees/<key>` of the workspace; `remove`
   * keeps the branch when it has commits of its own. `from`: a branch or a whole commit to begin at in place of HEAD
   */
  | { op: 'worktree'; action: 'add' | 'remove'; key: string; author: Author; from?: string }
);

/** A change that a tool makes by itself, without a task. */
export interface DirectEdit {
  /** begins with `edit-` or `command-`; the same for each attempt of a call */
  key: string;
  /** what changes in one turn is taken back together */
  turn: string;
}

export interface Author {
  name: string;
  email: string;
}

export const TEMPLATES = ['empty', 'node', 'python', 'rust', 'go', 'react', 'next'] as const;
export type Template = (typeof TEMPLATES)[number];

/** Keys of tasks become names of refs and folders. `undo` is reserved. */
export const KEY = /^(?!undo$)[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/;

/**
 * `ok: false` is an expected refusal; `output` says what was wrong and what to do. Any other failure exits with a code
 * other than 0.
 */
export interface WorkspaceAnswer {
  ok: boolean;
  /** sentences for the model and the person */
  output: string;
  /** no word of the workspace is in `output`, not even the name of a file or a branch */
  ours?: true;
  /** its shape depends on the operation, see below */
  data?: Record<string, unknown>;
  /** the program ends now */
  last?: true;
}

/** `data` of `write`, `edit` and `delete`; with `preview`, `output` is the unified diff. */
export interface FileChanged {
  path: string;
  /** lines; for a folder, lines of its text files are not counted */
  added: number;
  removed: number;
  /** unified diff, cut to a limit */
  diff: string;
  /** what undo cannot bring back, in a sentence */
  unkept?: string;
}

export interface Profile {
  language: string | null;
  framework: string | null;
  packageManager: string | null;
  /** argv of the test command, as far as known */
  test: string[] | null;
  /** argv of the command that starts it, as far as known; missing in profiles of the version before */
  run?: string[] | null;
  /**
   * argv of the commands that install its packages, build it, check its types and lint it; missing in profiles of the
   * version before
   */
  install?: string[] | null;
  build?: string[] | null;
  types?: string[] | null;
  lint?: string[] | null;
  git: {
    /** null: detached */
    branch: string | null;
    /** null: no commit yet */
    head: string | null;
    /** files with a change, staged or not */
    modified: number;
    untracked: number;
    /** files with a staged change; missing in profiles of the version before, like the next two */
    staged?: number;
    /** files with a change that is not staged; a file may be in both */
    unstaged?: number;
    /** the branch follows another one; without it, `ahead` and `behind` are 0 */
    upstream?: boolean;
    ahead: number;
    behind: number;
    /** URL of the branch's remote or of `origin`, without user and password */
    remote: string | null;
  } | null;
}

/** `data` of `map`. Its names are untrusted. */
export interface RepositoryMap {
  /** null: no commit yet */
  commit: string | null;
  /** how many source files there are */
  files: number;
  /** `src/main.ts: start, stop`, in the order of paths */
  lines: string[];
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
  /** what is not saved whole: unreadable and large files */
  notes: string[];
}

/** `data` of `conclude`. */
export interface ConcludedChanges {
  /** newest commit on the checked-out branch with the task's changes; null: none was made there */
  commit: string | null;
  /** branch that was checked out at the end */
  branch: string | null;
  /** `fetch/<key>` when the changes are on their own branch */
  keptOn?: string | null;
  /** at most 500; `added` and `removed` count all */
  files: Array<{
    path: string;
    status: 'added' | 'modified' | 'deleted' | 'renamed';
    added: number;
    removed: number;
    from?: string;
  }>;
  /** number of files, when `files` does not list all */
  filesChanged?: number;
  added: number;
  removed: number;
  /** argv of the workspace's test command as the task left it, as far as known; null also when nothing changed */
  test: string[] | null;
  /**
   * what else the person should know: changes that could not be committed and where they are, and what happened to the
   * git folder and to ignored files
   */
  note?: string;
}

/** `data` of `base` with `look`. `before`, `after`: ids of the trees, which are the same for the same files. */
export interface BaseLook {
  before: string;
  after: string;
  edits: TestEdits;
  /** argv of the test command, with `now` */
  test?: string[] | null;
}

/** `data` of `head`. */
export interface HeadLook {
  commit: string;
  /** id of its tree */
  tree: string;
  /** digest of the files that say what has to be installed */
  dependencies: string;
  /** its commits that `since` does not have; null when that is not known */
  ahead: number | null;
  /** of the files of the commit where they are copied, and of the folder otherwise */
  project: Omit<Profile, 'git'>;
}

/** What a task did to the tests of a project, by its diff. */
export interface TestEdits {
  /**
   * files with fewer tests, fewer comparisons or more skipped tests than before, each with the numbers before and
   * after; a file that is gone has none
   */
  weakened: Array<{ path: string; tests: [number, number]; checks: [number, number]; skips: [number, number] }>;
  /** changed files that say which tests are run, for example settings of a test runner */
  settings: string[];
  /** commands that check the project, by the file that names them, which are not as before; null: gone */
  scripts?: Array<{ path: string; part: CheckedBy; was: string; is: string | null }>;
  /** files of expected results that lost some of what they said */
  expected?: string[];
  /** changed files that can decide how a test ends, whatever it does */
  hooks?: string[];
  /** installed packages and programs that were changed by hand */
  packages?: string[];
}

/** The parts of a project that checks of a task run. */
export type CheckedBy = 'test' | 'build' | 'types' | 'lint';

/** `data` of `undo`. */
export interface Undone {
  /** tasks and direct edits that this call undid or redid, newest first */
  keys: string[];
  files: string[];
  /**
   * what happened to the commits: the branch moved back or forward, a further commit reverts them, or there were none
   */
  commits: 'moved' | 'reverted' | 'none';
  head: string | null;
}

/** `data` of `worktree` with `add`. */
export interface Worktree {
  /** relative to the workspace */
  path: string;
  branch: string;
  /** the commit that its branch is at */
  commit?: string;
}
