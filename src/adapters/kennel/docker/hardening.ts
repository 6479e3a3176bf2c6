import type { HostConfig, MountSettings } from 'dockerode';
import { INSIDE } from '../../../contracts/kennel.ts';
import type { MountedSkill } from '../skill-folders.ts';
import { seccompProfile } from './seccomp.ts';

/** What a container may use of its host. */
export interface Limits {
  memoryMb: number;
  cpus: number;
  pids: number;
  /** processors of the host; the engine refuses a container that asks for more */
  hostCpus: number;
}

interface Walls {
  limits: Limits;
  user: { uid: number; gid: number };
  mounts: MountSettings[];
  /** a HOME that is removed with the container; unset when HOME is in a mount */
  emptyHome?: string;
  /**
   * `none`: output is read as it comes and never stored by the engine; `short`: its last part is kept, to find out why
   * it died; `long`: to be read
   */
  output: 'none' | 'short' | 'long';
}

const KEPT = { short: '256k', long: '10m' };

const MB = 1024 * 1024;

/**
 * Host settings of every container, in one place: what is inside and what is not. Nothing is left to defaults, because
 * an administrator may have changed them. The user is set separately, in the container's configuration.
 */
export function hostConfig({ limits, user, mounts, emptyHome, output }: Walls): HostConfig {
  const memory = limits.memoryMb * MB;
  const scratch = Math.floor(limits.memoryMb / 2);
  return {
    NetworkMode: 'none',
    CapDrop: ['ALL'],
    SecurityOpt: ['no-new-privileges:true', `seccomp=${seccompProfile()}`],
    Privileged: false,
    ReadonlyRootfs: true,
    IpcMode: 'private',
    // reaps orphaned processes, and passes signals on
    Init: true,
    AutoRemove: false,
    RestartPolicy: { Name: 'no' },
    Memory: memory,
    // equal to the memory limit, so no swap
    MemorySwap: memory,
    NanoCpus: Math.round(Math.min(limits.cpus, limits.hostCpus) * 1e9),
    PidsLimit: limits.pids,
    // when the host runs out of memory, a container goes before a database
    OomScoreAdj: 500,
    Ulimits: [{ Name: 'core', Soft: 0, Hard: 0 }],
    // files there count as memory of the container; builds run programs from /tmp
    Tmpfs: {
      '/tmp': `rw,nosuid,nodev,exec,size=${scratch}m,mode=1777`,
      ...(emptyHome
        ? { [emptyHome]: `rw,nosuid,nodev,exec,size=${scratch}m,mode=0700,uid=${user.uid},gid=${user.gid}` }
        : {}),
    },
    Mounts: mounts,
    LogConfig:
      output === 'none'
        ? { Type: 'none', Config: {} }
        : { Type: 'json-file', Config: { 'max-size': KEPT[output], 'max-file': '1' } },
  };
}

/** A folder or file of the host. Fails when it does not exist, unlike `Binds`, which would create a folder of root. */
/** Skills of the owner, where containers find them. */
export const skillMounts = (skills: readonly MountedSkill[] = []): MountSettings[] =>
  skills.map(({ name, folder }) => mount(folder, `${INSIDE.skills}/${name}`, true));

export const mount = (source: string, target: string, readOnly = false): MountSettings => ({
  Type: 'bind',
  Source: source,
  Target: target,
  ReadOnly: readOnly,
  // a mount that the host makes below it later stays outside
  BindOptions: { Propagation: 'rprivate' },
});
