import { existsSync, lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { KEY } from '../../../src/contracts/workspace-ops.ts';
import { Refusal } from '../refusal.ts';
import { makeScratch, type Repository, tryGit } from './git.ts';
import { utf8 } from './process.ts';

/** Where this program works: the mounted workspace, and the folder of its checkpoints, which no agent sees. */
export interface Place {
  /** the workspace, or the files of one of its worktrees */
  root: string;
  /** the workspace itself */
  workspace: string;
  worktree: string | null;
  /** folder of the store; may be missing */
  side: string;
}

export const worktreeFolder = (workspace: string, key: string): string =>
  join(workspace, '.git', 'fetch-worktrees', key);

/** The place of an operation. Refuses a worktree that does not exist. */
export function placeOf(workspace: string, side: string, worktree: string | undefined): Place {
  if (worktree === undefined) return { root: workspace, workspace, worktree: null, side };
  if (!KEY.test(worktree)) throw new Refusal('The key of the worktree is not valid.');
  const root = worktreeFolder(workspace, worktree);
  if (!isFolder(root)) throw new Refusal(`There is no worktree ${worktree} in this workspace.`);
  return { root, workspace, worktree, side };
}

/**
 * The repository of the workspace; null when there is none. `.git` must be a folder, because a file or a link would
 * lead to a repository outside the mount.
 */
export function openRepository(place: Place): Repository | null {
  const commonDir = join(place.workspace, '.git');
  if (!isFolder(commonDir) || !existsSync(join(commonDir, 'HEAD')) || !isFolder(join(commonDir, 'objects')))
    return null;
  // the folder is found by the key, because an agent can write the `.git` file
  const gitDir = place.worktree === null ? commonDir : join(commonDir, 'worktrees', place.worktree);
  if (!isFolder(gitDir)) throw new Refusal(`The worktree ${place.worktree} has lost its git folder.`);
  return {
    root: place.root,
    gitDir,
    commonDir,
    kept: 'workspace',
    worktree: place.worktree,
    scratch: makeScratch(commonDir),
    store: null,
  };
}

/** The repository, for tools that need one. */
export function needRepository(place: Place): Repository {
  const repository = openRepository(place);
  if (repository) return repository;
  const file = existsSync(join(place.workspace, '.git'));
  throw new Refusal(
    file
      ? 'The git folder of this workspace is elsewhere and cannot be reached from here.'
      : 'This workspace is not a git repository.',
  );
}

export interface Head {
  commit: string | null;
  /** short name; null: detached */
  branch: string | null;
}

export function headOf(repository: Repository): Head {
  if (repository.kept === 'beside') return { commit: null, branch: null };
  const commit = tryGit(repository, ['rev-parse', '-q', '--verify', 'HEAD^{commit}']);
  return {
    commit: commit.code === 0 ? commit.stdout.trim() : null,
    branch: branchOf(repository)?.replace(/^refs\/heads\//, '') ?? null,
  };
}

/** What git itself writes into HEAD. A repository with a table of refs has an invalid name there, and git is asked. */
const SYMBOLIC = /^ref: (refs\/heads\/(?!\.invalid)\S+)\n$/;

/** The ref that HEAD points to; null when it is detached. */
function branchOf(repository: Repository): string | null {
  const text = textOrNull(join(repository.gitDir, 'HEAD')) ?? '';
  const plain = DETACHED.test(text) ? null : SYMBOLIC.exec(text)?.[1];
  if (plain !== undefined) return plain;
  const symbolic = tryGit(repository, ['symbolic-ref', '-q', 'HEAD']);
  return symbolic.code === 0 ? utf8(symbolic.stdout.trim()) : null;
}

const DETACHED = /^([0-9a-f]{40}|[0-9a-f]{64})\n$/;

/** Which operation git is in the middle of; null when none. */
export function inProgress(repository: Repository): string | null {
  const marks: Array<[string, string]> = [
    ['MERGE_HEAD', 'a merge'],
    ['rebase-merge', 'a rebase'],
    ['rebase-apply', 'a rebase'],
    ['CHERRY_PICK_HEAD', 'a cherry-pick'],
    ['REVERT_HEAD', 'a revert'],
    ['BISECT_LOG', 'a bisect'],
  ];
  return marks.find(([name]) => existsSync(join(repository.gitDir, name)))?.[1] ?? null;
}

export function isFolder(path: string): boolean {
  try {
    return lstatSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** A small file's text; null when the file does not exist. */
export function textOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
