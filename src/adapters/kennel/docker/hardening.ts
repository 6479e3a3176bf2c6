import type { HostConfig, MountSettings } from 'dockerode';
import { seccompProfile } from './seccomp.ts';

/** What a container may take of its host. */
export interface Limits {
  memoryMb: number;
  cpus: number;
  pids: number;
  /** processors of the host: the engine refuses a container that asks for more */
  hostCpus: number;
}

export interface Walls {
  limits: Limits;
  user: { uid: number; gid: number };
  mounts: MountSettings[];
  /** a HOME that ends with the container; unset where HOME is in a mount */
  emptyHome?: string;
  /** `none`: output is read while it comes and never stored by the engine; `short`: its last part stays for a look at why it died */
  output: 'none' | 'short';
}

const MB = 1024 * 1024;

/**
 * The walls of every container: the one place that says what is inside and what is not. Nothing is left to the defaults of
 * an engine that its administrator may have changed. The user is not here but beside it in the configuration of a container.
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
    // reaps what agents leave behind, and hands signals on
    Init: true,
    AutoRemove: false,
    RestartPolicy: { Name: 'no' },
    Memory: memory,
    // the same: no swap
    MemorySwap: memory,
    NanoCpus: Math.round(Math.min(limits.cpus, limits.hostCpus) * 1e9),
    PidsLimit: limits.pids,
    // where memory of the host itself ends, a container goes before a database
    OomScoreAdj: 500,
    Ulimits: [{ Name: 'core', Soft: 0, Hard: 0 }],
    // what is written there counts as memory of the container; builds run programs from /tmp
    Tmpfs: {
      '/tmp': `rw,nosuid,nodev,exec,size=${scratch}m,mode=1777`,
      ...(emptyHome ? { [emptyHome]: `rw,nosuid,nodev,exec,size=${scratch}m,mode=0700,uid=${user.uid},gid=${user.gid}` } : {}),
    },
    Mounts: mounts,
    LogConfig: output === 'none' ? { Type: 'none', Config: {} } : { Type: 'json-file', Config: { 'max-size': '256k', 'max-file': '1' } },
  };
}

/** A folder or file of the host. Fails where it does not exist, unlike `Binds`, which would make a folder owned by root. */
export const mount = (source: string, target: string, readOnly = false): MountSettings => ({
  Type: 'bind',
  Source: source,
  Target: target,
  ReadOnly: readOnly,
  // a mount that the host makes later below it stays outside
  BindOptions: { Propagation: 'rprivate' },
});
