import { describe, expect, it } from 'vitest';
import { hostConfig, mount, seccompProfile } from '../../../src/adapters/kennel/docker/hardening.ts';

const limits = { memoryMb: 1024, cpus: 2, pids: 100, hostCpus: 8 };
const user = { uid: 1000, gid: 1000 };
const walls = hostConfig({ limits, user, mounts: [mount('/srv/w', '/workspace')], output: 'none' });

describe('the walls of a container', () => {
  it('leave no network, no capability and no way to gain one', () => {
    expect(walls).toMatchObject({
      NetworkMode: 'none',
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges:true', `seccomp=${seccompProfile()}`],
      Privileged: false,
      ReadonlyRootfs: true,
      IpcMode: 'private',
      Init: true,
    });
    for (const open of [
      'CapAdd',
      'Devices',
      'Binds',
      'PidMode',
      'UTSMode',
      'UsernsMode',
      'VolumesFrom',
      'PortBindings',
      'ExtraHosts',
    ])
      expect(walls).not.toHaveProperty(open);
  });

  it('mount what was given and nothing else', () => {
    expect(walls.Mounts).toEqual([
      {
        Type: 'bind',
        Source: '/srv/w',
        Target: '/workspace',
        ReadOnly: false,
        BindOptions: { Propagation: 'rprivate' },
      },
    ]);
  });

  it('bound memory without swap, processors and processes', () => {
    expect(walls).toMatchObject({
      Memory: 1024 * 1024 * 1024,
      MemorySwap: 1024 * 1024 * 1024,
      NanoCpus: 2e9,
      PidsLimit: 100,
    });
  });

  it('ask for no more processors than the host has, which the engine would refuse', () => {
    expect(hostConfig({ limits: { ...limits, hostCpus: 1 }, user, mounts: [], output: 'none' }).NanoCpus).toBe(1e9);
  });

  it('store no output of a command on the disk of the host, and little of a run', () => {
    expect(walls.LogConfig?.Type).toBe('none');
    const run = hostConfig({ limits, user, mounts: [], output: 'short' });
    expect(run.LogConfig?.Config).toEqual({ 'max-size': '256k', 'max-file': '1' });
  });

  it('give an empty HOME to its user alone', () => {
    const { Tmpfs } = hostConfig({ limits, user, mounts: [], output: 'none', emptyHome: '/home/kennel' });
    expect(Tmpfs?.['/home/kennel']).toContain('mode=0700,uid=1000,gid=1000');
    expect(Object.keys(Tmpfs ?? {})).toEqual(['/tmp', '/home/kennel']);
  });
});
