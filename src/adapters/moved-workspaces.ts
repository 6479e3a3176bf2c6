import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { lstat, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { IDENTITIES, keyOfFolder, SIDE } from './workspaces.ts';

/**
 * Workspaces that move to another machine. What lies beside them is filed under the inode of their folder, which is
 * another one after a copy: their id, by which unfinished tasks know them, and their checkpoints, which `undo` needs.
 */

export interface MovedWorkspace {
  name: string;
  path: string;
  identity: string | null;
  /** the folder of its checkpoints */
  side: string | null;
}

export async function describeMoved(path: string): Promise<MovedWorkspace> {
  const key = await keyOfFolder(path);
  const identity = await readFile(join(dirname(path), IDENTITIES, key), 'utf8').catch(() => null);
  const side = join(dirname(path), SIDE, key);
  return { name: basename(path), path, identity, side: existsSync(side) ? side : null };
}

/** Whether this workspace is there, another one of its name is in the way, or its place is free. */
export async function placeOf(root: string, { name, identity }: MovedWorkspace): Promise<'free' | 'same' | 'taken'> {
  const path = join(root, name);
  if (!(await lstat(path).catch(() => null))) return 'free';
  return identity !== null && (await describeMoved(path)).identity === identity ? 'same' : 'taken';
}

/**
 * Holds copies that are not complete. It is on the disk of the workspaces, so that moving one into its place is one
 * step.
 */
const COPIES = '.importing';

/**
 * Copies a workspace to its place with what belongs to it. A call after one that was killed begins again, and does
 * nothing where the workspace is there.
 */
export async function placeMoved(root: string, workspace: MovedWorkspace): Promise<void> {
  const { name, path, identity, side } = workspace;
  if ((await placeOf(root, workspace)) === 'same') return;
  const copy = join(root, COPIES, name);
  await rm(copy, { recursive: true, force: true });
  await mkdir(dirname(copy), { recursive: true, mode: 0o700 });
  await copyTree(path, copy);
  // before it is in its place: the inode stays when a folder is moved
  const key = await keyOfFolder(copy);
  if (side) {
    const place = join(root, SIDE, key);
    await mkdir(dirname(place), { recursive: true, mode: 0o700 });
    await rm(place, { recursive: true, force: true });
    await copyTree(side, place);
  }
  if (identity !== null) {
    await mkdir(join(root, IDENTITIES), { recursive: true, mode: 0o700 });
    await writeFile(join(root, IDENTITIES, key), identity);
  }
  await rename(copy, join(root, name));
}

/** With modes, times, links and, for root, owners: what Node's own copy leaves out. */
export async function copyTree(from: string, to: string): Promise<void> {
  await promisify(execFile)('cp', ['-a', from, to]);
}
