import { randomUUID } from 'node:crypto';
import { type Dirent, lstatSync, readdirSync, type Stats } from 'node:fs';
import { lstat, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as yielded } from 'node:timers/promises';
import type { MountSettings } from 'dockerode';
import { INSIDE } from '../../../contracts/kennel.ts';
import { destroy, LABEL } from './containers.ts';
import { containerUser, type Engine } from './engine.ts';
import { hostConfig, type Limits, mount } from './hardening.ts';

/**
 * Containers work in a workspace as its owner, so that new files belong to the person. Nothing in a container is root,
 * so when both worker and owner are root, the files are given to the containers' user. That user may write into the
 * folder through its group. The folder and its `.git` stay root's, because git asks who owns these two.
 */
export interface WorkspaceUser {
  uid: number;
  gid: number;
  /** the folder has another owner, so git inside must be told that this is intended */
  foreign: boolean;
}

const isRoot = (): boolean => process.getuid?.() === 0;

export async function userOf(workspace: string | null): Promise<WorkspaceUser> {
  const usual = { ...containerUser(), foreign: false };
  if (workspace === null || !isRoot()) return usual;
  const { uid, gid } = await lstat(workspace);
  return uid === 0 ? { ...usual, foreign: true } : { uid, gid, foreign: false };
}

/**
 * System files that depend on the user: programs look up the name of their user, and the image knows only one; git asks
 * who owns a folder.
 */
export async function systemFiles(home: string, { uid, gid, foreign }: WorkspaceUser): Promise<MountSettings[]> {
  const folder = join(home, 'kennel', 'users');
  const written = async (name: string, text: string, target: string): Promise<MountSettings> => {
    await mkdir(folder, { recursive: true });
    const file = join(folder, name);
    // running containers have it mounted, so it is never written again
    await writeFile(file, text, { mode: 0o644, flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    return mount(file, target, true);
  };
  const passwd = `root:x:0:0:root:/root:/bin/bash\nkennel:x:${uid}:${gid}::${INSIDE.home}:/bin/bash\n`;
  return [
    ...(uid === containerUser().uid ? [] : [await written(`passwd-${uid}-${gid}`, passwd, '/etc/passwd')]),
    ...(foreign ? [await written('gitconfig', '[safe]\n\tdirectory = *\n', '/etc/gitconfig')] : []),
  ];
}

/**
 * Containers cannot change what root put into a workspace, so it is given to their user. Files with a second name stay
 * unchanged, because that name may be outside (a package store). `$1` user, `$2` group, `$3` whether the folder is
 * root's.
 */
const GIVE = `
  find . -xdev -mindepth 1 -user 0 ! -path ./.git \\( ! -type f -o -links 1 \\) -exec chown -h "$1:$2" {} +
  [ "$3" = root ] || exit 0
  chown "0:$2" . && chmod g+rwx .
  [ -L .git ] || [ ! -d .git ] || { chown "0:$2" .git && chmod g+rwx .git; }`;

/** How long the result of a check of a workspace counts. */
const REMEMBERED_MS = 3_000;
const TIMEOUT_S = 300;

export interface Ownership {
  /**
   * Makes sure that containers can change the files of a workspace. `fresh`: check even if it was checked just now.
   * Does nothing when the worker is not root.
   */
  settle(workspace: string, options?: { fresh?: boolean }): Promise<void>;
}

/** A larger workspace is walked in its container, which keeps nobody else waiting. */
const MOST_ENTRIES = 20_000;
const GROUP_RWX = 0o070;

/**
 * Whether something in a workspace of root must still be given to the user of its containers. The host looks at owners
 * alone and follows no link. A path that is replaced during the walk can only make the answer wrong, as a file that
 * root writes right after it can. True for a workspace that is too large to look at.
 */
async function needsGiving(workspace: string, { gid }: { gid: number }): Promise<boolean> {
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

export function createOwnership(
  engine: Engine,
  image: () => Promise<string>,
  contextOf: () => Promise<{ home: string; limits: Limits }>,
): Ownership {
  const settled = new Map<string, { at: number; done: Promise<void> }>();
  return {
    settle: async (workspace, { fresh = false } = {}) => {
      if (!isRoot()) return;
      const known = settled.get(workspace);
      if (known && !fresh && Date.now() - known.at < REMEMBERED_MS) return await known.done;
      const done = (known?.done ?? Promise.resolve()).catch(() => {}).then(() => give(workspace));
      settled.set(workspace, { at: Date.now(), done });
      await done.catch((error) => {
        settled.delete(workspace);
        throw error;
      });
    },
  };

  /**
   * Runs in a container that has only the workspace: on the host, somebody could replace a path by a link during the
   * walk. The container may change owners and read folders. It runs no program of the workspace.
   */
  async function give(workspace: string): Promise<void> {
    const { uid, gid } = await userOf(workspace);
    // a container takes longer than all else at the start of a task, and mostly there is nothing to give
    if (!(await needsGiving(workspace, { gid }))) return;
    const owner = (await lstat(workspace)).uid === 0 ? 'root' : 'person';
    const { home, limits } = await contextOf();
    const { docker, patient } = engine;
    const { id } = await docker.createContainer({
      name: `fetch-${home}-owner-${randomUUID()}`,
      Image: await image(),
      Cmd: ['timeout', '--signal=KILL', String(TIMEOUT_S), 'sh', '-c', GIVE, 'give', String(uid), String(gid), owner],
      WorkingDir: INSIDE.workspace,
      User: '0:0',
      Labels: {
        [LABEL.home]: home,
        [LABEL.step]: 'owners',
        [LABEL.until]: String(Date.now() + (TIMEOUT_S + 60) * 1000),
      },
      HostConfig: {
        ...hostConfig({
          limits,
          user: { uid: 0, gid: 0 },
          output: 'short',
          mounts: [mount(workspace, INSIDE.workspace)],
        }),
        CapAdd: ['CHOWN', 'FOWNER', 'DAC_READ_SEARCH'],
      },
    });
    try {
      const container = patient.getContainer(id);
      const exit = container.wait({ condition: 'next-exit' }) as Promise<{ StatusCode: number }>;
      exit.catch(() => {});
      await docker.getContainer(id).start();
      const { StatusCode } = await exit;
      if (StatusCode !== 0)
        throw new Error(
          `The files of the workspace ${workspace} could not be given to the user of its containers (code ${StatusCode}).`,
        );
    } finally {
      await destroy(docker, id).catch(() => {});
    }
  }
}
