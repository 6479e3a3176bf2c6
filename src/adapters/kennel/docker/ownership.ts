import { randomUUID } from 'node:crypto';
import { lstat, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { MountSettings } from 'dockerode';
import { INSIDE } from '../../../contracts/kennel.ts';
import { destroy, LABEL } from './containers.ts';
import { containerUser, type Engine } from './engine.ts';
import { hostConfig, type Limits, mount } from './hardening.ts';

/**
 * As whom containers work in a workspace: as its owner, so that what they make is the person's. Only where the worker and the owner are root there is
 * no such user, because nothing in a container is root. Then the files belong to the containers' user, who may write into the folder
 * through its group, while the folder itself and its `.git` stay root's: git asks who owns these two, and no others.
 */
export interface WorkspaceUser {
  uid: number;
  gid: number;
  /** the folder has another owner: git inside has to be told that this is meant */
  foreign: boolean;
}

const isRoot = (): boolean => process.getuid?.() === 0;

export async function userOf(workspace: string | null): Promise<WorkspaceUser> {
  const usual = { ...containerUser(), foreign: false };
  if (workspace === null || !isRoot()) return usual;
  const { uid, gid } = await lstat(workspace);
  return uid === 0 ? { ...usual, foreign: true } : { uid, gid, foreign: false };
}

/** Files of the system that differ for a user: programs ask for the name of theirs, and the image knows one only; git asks who owns a folder. */
export async function systemFiles(home: string, { uid, gid, foreign }: WorkspaceUser): Promise<MountSettings[]> {
  const folder = join(home, 'kennel', 'users');
  const place = async (name: string, text: string, target: string): Promise<MountSettings> => {
    await mkdir(folder, { recursive: true });
    const file = join(folder, name);
    // containers that run have it mounted: it is never written again
    await writeFile(file, text, { mode: 0o644, flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    return mount(file, target, true);
  };
  const passwd = `root:x:0:0:root:/root:/bin/bash\nkennel:x:${uid}:${gid}::${INSIDE.home}:/bin/bash\n`;
  return [
    ...(uid === containerUser().uid ? [] : [await place(`passwd-${uid}-${gid}`, passwd, '/etc/passwd')]),
    ...(foreign ? [await place('gitconfig', '[safe]\n\tdirectory = *\n', '/etc/gitconfig')] : []),
  ];
}

/**
 * What a person who is root put into a workspace, its containers cannot change: it is given to their user. Files with a further name stay as they are,
 * because that name may be outside (a package store). `$1` user, `$2` group, `$3` whether the folder is root's.
 */
const GIVE = `
  find . -xdev -mindepth 1 -user 0 ! -path ./.git \\( ! -type f -o -links 1 \\) -exec chown -h "$1:$2" {} +
  [ "$3" = root ] || exit 0
  chown "0:$2" . && chmod g+rwx .
  [ -L .git ] || [ ! -d .git ] || { chown "0:$2" .git && chmod g+rwx .git; }`;

/** A workspace that was looked at so recently is not looked at again. */
const REMEMBERED_MS = 3_000;
const TIMEOUT_S = 300;

export interface Ownership {
  /** Sees that containers can change what is in a workspace. `fresh`: also what was put there in this moment. Nothing happens where the worker is not root. */
  settle(workspace: string, options?: { fresh?: boolean }): Promise<void>;
}

export function createOwnership(engine: Engine, image: () => Promise<string>, place: () => Promise<{ home: string; limits: Limits }>): Ownership {
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
   * In a container that has only the workspace: on the host, a path can be replaced by a link while it is walked. The container may change owners and
   * look into folders. No program of the workspace runs in it.
   */
  async function give(workspace: string): Promise<void> {
    const { uid, gid } = await userOf(workspace);
    const owner = (await lstat(workspace)).uid === 0 ? 'root' : 'person';
    const { home, limits } = await place();
    const { docker, patient } = engine;
    const { id } = await docker.createContainer({
      name: `fetch-${home}-owner-${randomUUID()}`,
      Image: await image(),
      Cmd: ['timeout', '--signal=KILL', String(TIMEOUT_S), 'sh', '-c', GIVE, 'give', String(uid), String(gid), owner],
      WorkingDir: INSIDE.workspace,
      User: '0:0',
      Labels: { [LABEL.home]: home, [LABEL.step]: 'owners', [LABEL.until]: String(Date.now() + (TIMEOUT_S + 60) * 1000) },
      HostConfig: {
        ...hostConfig({ limits, user: { uid: 0, gid: 0 }, output: 'short', mounts: [mount(workspace, INSIDE.workspace)] }),
        CapAdd: ['CHOWN', 'FOWNER', 'DAC_READ_SEARCH'],
      },
    });
    try {
      const container = patient.getContainer(id);
      const exit = container.wait({ condition: 'next-exit' }) as Promise<{ StatusCode: number }>;
      exit.catch(() => {});
      await docker.getContainer(id).start();
      const { StatusCode } = await exit;
      if (StatusCode !== 0) throw new Error(`The files of the workspace ${workspace} could not be given to the user of its containers (code ${StatusCode}).`);
    } finally {
      await destroy(docker, id).catch(() => {});
    }
  }
}
