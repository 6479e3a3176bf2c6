import type { Dirent, Stats } from 'node:fs';
import { lstatSync, readdirSync } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as yielded } from 'node:timers/promises';

/** A larger workspace is walked in its container, which keeps nobody else waiting. */
const MOST_ENTRIES = 20_000;
const GROUP_RWX = 0o070;

/**
 * Whether something in a workspace of root must still be given to the user of its containers. The host looks at owners
 * alone and follows no link. A path that is replaced during the walk can only make the answer wrong, as a file that
 * root writes right after it can. True for a workspace that is too large to look at.
 */
export async function needsGiving(workspace: string, { gid }: { gid: number }): Promise<boolean> {
  const root = await lstat(workspace);
  if (root.uid === 0 && !isShared(root, gid)) return true;
  const folders = [workspace];
  for (let seen = 0, folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of entriesOf(folder)) {
      const path = join(folder, entry.name);
      const stats = lstatSync(path, { throwIfNoEntry: false });
      if (!stats || stats.dev !== root.dev) continue;
      if (path === join(workspace, '.git') ? isUnsharedRepository(stats, root, gid) : isRoots(stats)) return true;
      if (stats.isDirectory()) folders.push(path);
      seen += 1;
      if (seen > MOST_ENTRIES) return true;
    }
    await yielded();
  }
  return false;
}

/** A file with a second name stays root's, because that name may be outside. */
const isRoots = (stats: Stats): boolean => stats.uid === 0 && (!stats.isFile() || stats.nlink === 1);

/** A folder that stays root's, and into which the containers' user writes through its group. */
const isShared = (stats: Stats, gid: number): boolean =>
  stats.uid === 0 && stats.gid === gid && (stats.mode & GROUP_RWX) === GROUP_RWX;

const isUnsharedRepository = (stats: Stats, root: Stats, gid: number): boolean =>
  root.uid === 0 && stats.isDirectory() && !isShared(stats, gid);

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    // it is gone again, or is no folder any more
    return [];
  }
}
