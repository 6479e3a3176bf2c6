import { createHash, randomUUID } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, realpath, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { nameProblem, sameName } from '../domain/tasks/workspace-names.ts';
import { DAY } from '../domain/time.ts';

/**
 * The folder of this host's workspaces. Here only names and types of its entries are read. What is inside a workspace
 * is read and changed in containers, because agents may have put links and hooks there.
 */

/** Holds deleted workspaces and new ones that are being made. It is on the same disk, so that moving is one step. */
const TRASH = '.trash';
const MAKING = '.making';
/** Holds checkpoints, beside the workspaces, in a folder that no agent's container mounts. */
export const SIDE = '.side';
export const TRASH_DAYS = 30;

export interface FoundWorkspace {
  name: string;
  /** absolute, without links */
  path: string;
}

/**
 * Holds the identity of each folder, whatever its name and whichever host sees it. It is beside the workspaces, because
 * agents can change what is inside one.
 */
export const IDENTITIES = '.identities';

interface Found {
  workspaces: FoundWorkspace[];
  /** entries that are no workspaces, each with the reason */
  leftOut: Array<{ name: string; why: string }>;
}

/** Every workspace in the folder, by name, also folders that a person put there. Hidden names are skipped. */
export async function findWorkspaces(folder: string): Promise<Found> {
  await mkdir(folder, { recursive: true });
  const root = await realpath(folder);
  const found: Found = { workspaces: [], leftOut: [] };
  const entries = await readdir(root, { withFileTypes: true });
  for (const entry of entries.sort((a, b) => a.name.localeCompare(b.name))) {
    const { name } = entry;
    if (name.startsWith('.')) continue;
    const twin = found.workspaces.find((other) => sameName(other.name, name));
    if (entry.isSymbolicLink()) found.leftOut.push({ name, why: 'it is a link; move the folder itself here' });
    else if (!entry.isDirectory()) continue;
    else if (nameProblem(name))
      found.leftOut.push({ name, why: 'rename it: letters a to z, digits, - and _ are allowed' });
    else if (twin) found.leftOut.push({ name, why: `its name differs from ${twin.name} in case only` });
    else found.workspaces.push({ name, path: join(root, name) });
  }
  return found;
}

/**
 * The id of a workspace's folder, created when first seen. It depends on the folder's inode number and birth time. So a
 * copy or a clone gets its own id, even if somebody copies this file too, and hosts that share a disk read the same id.
 * If a file system shows the hosts different numbers, their ids differ; then tasks cannot move, and nothing else is
 * harmed.
 */
export async function workspaceIdentity(path: string): Promise<string> {
  const folder = join(dirname(path), IDENTITIES);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, await keyOfFolder(path));
  await writeFile(file, randomUUID(), { flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  return await readFile(file, 'utf8');
}

export const identified = (
  workspaces: readonly FoundWorkspace[],
): Promise<Array<FoundWorkspace & { identity: string }>> =>
  Promise.all(workspaces.map(async (each) => ({ ...each, identity: await workspaceIdentity(each.path) })));

/** Creates the staging folder; a repeated call clears away what a dead attempt left there. */
export async function stageWorkspace(folder: string, callId: string): Promise<string> {
  const root = await realpath(folder);
  const staged = join(root, MAKING, keyOf(callId));
  await rm(staged, { recursive: true, force: true });
  await mkdir(staged, { recursive: true });
  return staged;
}

export const unstage = (staged: string): Promise<void> => rm(staged, { recursive: true, force: true });

/** A number that a folder keeps when it is moved, by which an attempt knows its own. */
export async function folderId(path: string): Promise<string | null> {
  const stat = await lstat(path).catch(() => null);
  return stat?.isDirectory() ? `${stat.dev}:${stat.ino}` : null;
}

/** Moves a staged workspace to its place. Throws ENOTEMPTY or EEXIST when something is there. */
export async function placeWorkspace(folder: string, staged: string, name: string): Promise<string> {
  const path = join(await realpath(folder), name);
  await rename(staged, path);
  return path;
}

/**
 * Moves a workspace to the trash; returns its path there. A second call with the same call id finds the one of the
 * first.
 */
export async function trashWorkspace(folder: string, name: string, callId: string): Promise<string | null> {
  const root = await realpath(folder);
  const trash = join(root, TRASH);
  await mkdir(trash, { recursive: true, mode: 0o700 });
  const mine = `~${keyOf(callId)}`;
  const before = (await readdir(trash)).find((entry) => entry.endsWith(mine));
  if (before) return join(trash, before);
  if (!(await lstat(join(root, name)).catch(() => null))?.isDirectory()) return null;
  const kept = join(trash, `${name}~${Date.now()}${mine}`);
  await rename(join(root, name), kept);
  return kept;
}

/** Removes what was in the trash for longer than `TRASH_DAYS`, and what dead attempts were making. Returns how many. */
export async function emptyTrash(folder: string, now: number): Promise<number> {
  const root = await realpath(folder);
  let cleared = 0;
  for (const name of await readdir(join(root, TRASH)).catch(() => [])) {
    const at = Number(/~(\d+)~[0-9a-f]+$/.exec(name)?.[1] ?? Number.NaN);
    if (!(now - at > TRASH_DAYS * DAY)) continue;
    await rm(join(root, TRASH, name), { recursive: true, force: true });
    cleared += 1;
  }
  for (const name of await readdir(join(root, MAKING)).catch(() => [])) {
    const stat = await lstat(join(root, MAKING, name)).catch(() => null);
    if (!stat || now - stat.mtimeMs < DAY) continue;
    await rm(join(root, MAKING, name), { recursive: true, force: true });
    cleared += 1;
  }
  return cleared + (await emptySides(root, now));
}

/**
 * The folder of a workspace's checkpoints, created and marked as in use. It belongs to the folder and not to the name:
 * a new workspace of the same name has its own history, and a moved one keeps its history.
 */
export async function sideFolder(workspace: string): Promise<string> {
  const parent = dirname(workspace);
  // a workspace that is being made is one folder deeper
  const side = join(basename(parent).startsWith('.') ? dirname(parent) : parent, SIDE, await keyOfFolder(workspace));
  await mkdir(side, { recursive: true, mode: 0o700 });
  const now = new Date();
  await utimes(side, now, now);
  return side;
}

/** What stands for a folder whatever its name is; a copy has another. */
export async function keyOfFolder(path: string): Promise<string> {
  const { ino, birthtimeMs } = await lstat(path);
  return `${ino}-${Math.floor(birthtimeMs)}`;
}

/**
 * Removes checkpoints of workspaces that are gone, for example because somebody removed the folder, once they were
 * unused for `TRASH_DAYS`.
 */
async function emptySides(root: string, now: number): Promise<number> {
  const sides = await readdir(join(root, SIDE)).catch(() => []);
  if (sides.length === 0) return 0;
  const live = new Set<string>();
  for (const folder of [root, join(root, TRASH), join(root, MAKING)]) {
    for (const name of await readdir(folder).catch(() => []))
      live.add(await keyOfFolder(join(folder, name)).catch(() => ''));
  }
  let cleared = 0;
  for (const name of sides) {
    const stat = await lstat(join(root, SIDE, name)).catch(() => null);
    if (live.has(name) || !stat || now - stat.mtimeMs < TRASH_DAYS * DAY) continue;
    await rm(join(root, SIDE, name), { recursive: true, force: true });
    cleared += 1;
  }
  return cleared;
}

/** When something that the profile of a workspace depends on last changed, as far as that shows from outside; ms. */
export async function changedAt(path: string): Promise<number> {
  const stats = await Promise.all(
    ['', '.git/HEAD', '.git/index', '.git/logs/HEAD'].map((name) => lstat(join(path, name)).catch(() => null)),
  );
  return Math.max(...stats.map((stat) => stat?.mtimeMs ?? 0));
}

const keyOf = (callId: string): string => createHash('sha256').update(callId).digest('hex').slice(0, 16);
