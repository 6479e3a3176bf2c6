import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isFolder, openRepository, type Place, textOrNull, worktreeFolder } from '../git/repository.ts';
import { Refusal } from '../refusal.ts';
import { remakeFolder } from './git-folder.ts';
import { openHistory } from './history.ts';
import { hadRepository, readState, states } from './record.ts';
import { addWorktree } from './worktree.ts';

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
  if (isFolder(folder) && isFolder(join(commonDir, 'worktrees', key)) && !isFolder(left)) return null;
  const had = isFolder(left) || isFolder(folder);
  if (isFolder(folder) && !isFolder(left)) renameSync(folder, left);
  addWorktree(main, key);
  if (had) {
    const link = join(folder, '.git');
    const text = textOrNull(link) ?? '';
    rmSync(folder, { recursive: true, force: true });
    renameSync(left, folder);
    rmSync(link, { recursive: true, force: true });
    writeFileSync(link, text);
  }
  return had
    ? 'The task removed the record of its worktree in git, which was restored.'
    : 'The task removed its own worktree: what was not committed there is gone.';
}
