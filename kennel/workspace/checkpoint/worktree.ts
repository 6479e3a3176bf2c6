import { existsSync, lstatSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Author, WorkspaceAnswer, Worktree } from '../../../src/contracts/workspace-ops.ts';
import { git, type Repository, tryGit } from '../git/git.ts';
import {
  headOf,
  isFolder,
  needRepository,
  openRepository,
  type Place,
  textOrNull,
  worktreeFolder,
} from '../git/repository.ts';
import { takeSnapshot } from '../git/snapshot.ts';
import { commitTree, treeOf } from '../git/trees.ts';
import { Refusal } from '../refusal.ts';
import { checkKey } from './checkpoint.ts';
import { isAncestor } from './conclude.ts';
import { remakeFolder } from './git-folder.ts';
import { openHistory } from './history.ts';
import { hadRepository, now, readOwnRef, readState, states } from './record.ts';

/**
 * A second working tree inside the workspace's git folder. So it exists wherever the workspace is mounted, and no tool
 * of the workspace sees it. Its `.git` file has a relative path. The lock stops `git worktree prune` on the host from
 * removing it, because the container's paths do not exist there.
 */
export function addWorktree(place: Place, key: string, from?: string): WorkspaceAnswer {
  checkKey(key);
  const repository = needRepository(place);
  const folder = worktreeFolder(place.workspace, key);
  const admin = join(repository.commonDir, 'worktrees', key);
  const data: Worktree = { path: relative(place.workspace, folder), branch: `fetch/${key}` };
  const branch = readOwnRef(repository, `refs/heads/${data.branch}`);
  if (isFolder(folder) && isFolder(admin)) {
    linkAgain(folder, admin);
    return {
      ok: true,
      output: `The worktree is at ${data.path}.`,
      data: { ...data, ...(branch && { commit: branch }) },
    };
  }
  const commit = branch ?? (from === undefined ? headOf(repository).commit : startOf(repository, from));
  if (!commit) throw new Refusal('A worktree needs a first commit, and this repository has none yet.');
  // left by a killed call
  rmSync(folder, { recursive: true, force: true });
  rmSync(admin, { recursive: true, force: true });
  mkdirSync(join(folder, '..'), { recursive: true });
  git(repository, [
    'worktree',
    'add',
    '-q',
    '--lock',
    '--reason',
    'a task of Fetch',
    ...(branch ? [folder, data.branch] : ['--no-track', '-b', data.branch, folder, commit]),
  ]);
  if (!isFolder(admin)) throw new Error('git made the worktree under another name');
  linkAgain(folder, admin);
  return {
    ok: true,
    output: `Made a worktree at ${data.path} on branch ${data.branch}.`,
    data: { ...data, ...(!branch && { commit }) },
  };
}

/** Writes the `.git` file of a worktree, whatever is in its place. False: it was as it should be. */
function linkAgain(folder: string, admin: string): boolean {
  const link = join(folder, '.git');
  const text = `gitdir: ${relative(folder, admin)}\n`;
  if (lstatSync(link, { throwIfNoEntry: false })?.isFile() && textOrNull(link) === text) return false;
  rmSync(link, { recursive: true, force: true });
  writeFileSync(link, text);
  return true;
}

function startOf(repository: Repository, from: string): string {
  const isCommit = /^[0-9a-f]{40,64}$/.test(from);
  const commit = readOwnRef(repository, isCommit ? `${from}^{commit}` : `refs/heads/${from}`);
  if (!commit)
    throw new Refusal(isCommit ? 'The commit to begin at is gone.' : `There is no branch ${from} to begin at.`);
  return commit;
}

/**
 * Removes the files. What exists nowhere else is saved under `refs/fetch/<key>/left`. The branch is deleted when it has
 * no commits of its own.
 */
export function removeWorktree(place: Place, key: string, author: Author): WorkspaceAnswer {
  checkKey(key);
  const main = needRepository(place);
  const folder = worktreeFolder(place.workspace, key);
  const admin = join(main.commonDir, 'worktrees', key);
  let kept = false;
  if (isFolder(folder) && isFolder(admin)) {
    const repository = openRepository({ ...place, root: folder, worktree: key })!;
    const head = headOf(repository);
    const snapshot = takeSnapshot(repository);
    if (snapshot.tree !== treeOf(repository, head.commit)) {
      const commit = commitTree(
        repository,
        snapshot.tree,
        head.commit ? [head.commit] : [],
        `Left in the worktree of ${key}\n`,
        { ...author, seconds: now() },
      );
      git(main, ['update-ref', `refs/fetch/${key}/left`, commit]);
      kept = true;
    }
  }
  rmSync(folder, { recursive: true, force: true });
  rmSync(admin, { recursive: true, force: true });
  const ref = `refs/heads/fetch/${key}`;
  const branch = readOwnRef(main, ref);
  const head = headOf(main);
  const idle =
    branch !== null && head.commit !== null && head.branch !== `fetch/${key}` && isAncestor(main, branch, head.commit);
  if (idle) tryGit(main, ['update-ref', '-d', ref, branch]);
  const says = kept ? ` What was uncommitted there is kept as refs/fetch/${key}/left.` : '';
  const where = branch !== null && !idle ? ` Branch fetch/${key} stays.` : '';
  return {
    ok: true,
    output: `Removed the worktree.${where}${says}`,
    data: { branch: branch !== null && !idle ? `fetch/${key}` : null },
  };
}

/**
 * Restores what a task in a worktree destroyed in git, before the task is concluded. The worktree's folder lies inside
 * the workspace's git folder, and the workspace's history and branches do not belong to the task. Can be repeated after
 * it was killed. Returns what to tell; null when nothing was missing.
 */
export function worktreeAgain(main: Place, key: string): string | null {
  const history = openHistory(main, false);
  // `conclude` refuses it
  if (!history || !readState(history, key, 'before')) return null;
  const mark = join(history.store!, 'remaking');
  if (history.kept === 'beside' || existsSync(mark)) {
    const source = [...states(history, 'before'), ...states(history, 'after')]
      .filter(hadRepository)
      .sort((a, b) => a.at - b.at || a.n - b.n)
      .at(-1);
    if (!source) return null;
    writeFileSync(mark, source.commit);
    const why = remakeFolder(main, history, source, true);
    rmSync(mark, { force: true });
    if (why)
      throw new Refusal(
        `The task removed or damaged the git folder of the workspace, which could not be restored (${why}).`,
      );
    filesOf(main, key);
    return 'The task removed or damaged the git folder of the workspace: it was restored as it was last saved.';
  }
  return filesOf(main, key);
}

/** Restores the worktree itself: files that exist stay, missing ones are as on its branch. */
function filesOf(main: Place, key: string): string | null {
  const folder = worktreeFolder(main.workspace, key);
  const { commonDir } = openRepository(main)!;
  const left = `${folder}.left`;
  const admin = join(commonDir, 'worktrees', key);
  if (isFolder(folder) && isFolder(admin) && !isFolder(left)) {
    const isOwn = isFolder(join(folder, '.git'));
    if (!linkAgain(folder, admin)) return null;
    return isOwn
      ? 'The task made a repository of its own in its worktree. Its files are kept, and the commits in it are not.'
      : 'The task removed or changed the .git file of its worktree, which was restored.';
  }
  const had = isFolder(left) || isFolder(folder);
  if (isFolder(folder) && !isFolder(left)) renameSync(folder, left);
  addWorktree(main, key);
  if (had) {
    rmSync(folder, { recursive: true, force: true });
    renameSync(left, folder);
    linkAgain(folder, admin);
  }
  return had
    ? 'The task removed the record of its worktree in git, which was restored.'
    : 'The task removed its own worktree: what was not committed there is gone.';
}
