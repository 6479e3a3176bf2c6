import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A host's own network: a namespace with one cable to this machine. The addresses are used by nobody else here (RFC
 * 2544, for tests of networks).
 */
export interface Network {
  namespace: string;
  /** address of the host */
  own: string;
  /** address at which the host finds this machine */
  outside: string;
  /** packets for and from this port are lost, in both directions; without a port, all of them: the cable is pulled */
  cut(port?: number): void;
  heal(): void;
  remove(): void;
}

const ip = (...args: string[]): string => run('ip', args);
const run = (file: string, args: string[]): string =>
  execFileSync(file, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

/** What hosts are made with, and the packages of Debian that bring it. */
const PROGRAMS = { ip: 'iproute2', iptables: 'iptables', unshare: 'util-linux' };

/** Installs what is missing; on Debian as root, as other tests do with their programs. */
export function requirePrograms(): void {
  const missing = Object.entries(PROGRAMS).filter(
    ([program]) => !['/usr/sbin', '/usr/bin', '/sbin', '/bin'].some((folder) => existsSync(join(folder, program))),
  );
  install(missing.map(([, name]) => name));
}

export function install(packages: readonly string[]): void {
  if (packages.length === 0) return;
  run('apt-get', ['update', '-qq']);
  run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...packages]);
}

/** `number` from 0 on: which host of this process it is. */
export function layCable(number: number): Network {
  const namespace = `fetch-${process.pid}-${number}`;
  const subnet = `198.18.${process.pid % 250}.${number * 4}`;
  const [outside, own] = [1, 2].map((last) => subnet.replace(/\d+$/, String(number * 4 + last))) as [string, string];
  // at most 15 characters
  const [outer, inner] = [`fto${process.pid % 100_000}-${number}`, `fti${process.pid % 100_000}-${number}`];
  const inside = (...args: string[]): string => ip('netns', 'exec', namespace, ...args);
  ip('netns', 'add', namespace);
  ip('link', 'add', outer, 'type', 'veth', 'peer', 'name', inner);
  ip('link', 'set', inner, 'netns', namespace);
  ip('addr', 'add', `${outside}/30`, 'dev', outer);
  ip('link', 'set', outer, 'up');
  ip('-n', namespace, 'addr', 'add', `${own}/30`, 'dev', inner);
  ip('-n', namespace, 'link', 'set', inner, 'up');
  ip('-n', namespace, 'link', 'set', 'lo', 'up');
  return {
    namespace,
    own,
    outside,
    cut(port) {
      // the interface stays: without it, packets for the host would take another way out of this machine
      const [to, from] =
        port === undefined
          ? [[], []]
          : [
              ['-p', 'tcp', '--dport', String(port)],
              ['-p', 'tcp', '--sport', String(port)],
            ];
      inside('iptables', '-A', 'OUTPUT', '-o', inner, ...to, '-j', 'DROP');
      inside('iptables', '-A', 'INPUT', '-i', inner, ...from, '-j', 'DROP');
    },
    heal: () => void inside('iptables', '-F'),
    remove: () => ip('netns', 'del', namespace),
  };
}
