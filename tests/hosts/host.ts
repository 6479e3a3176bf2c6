import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '../support/until.ts';
import { install, layCable, type Network } from './network.ts';

const ENTRY = fileURLToPath(new URL('../../bin/fetch.js', import.meta.url));
const INIT = fileURLToPath(new URL('./init.ts', import.meta.url));

export const ROLES = ['worker', 'gateway', 'api', 'kennel-worker'] as const;
export type HostRole = (typeof ROLES)[number];

/** What the cache of workflows and some tasks need. It is small, because a test fills it. */
const HOME_MB = 200;

/**
 * A machine as far as a process can tell: its own network, processes, name, disk and clock. It shares the Docker engine
 * with this machine.
 */
export interface Host {
  name: string;
  /** FETCH_HOME, on a file system of its own */
  home: string;
  network: Network;
  /** roles whose present process has said that it serves */
  serving(): ReadonlySet<HostRole>;
  ready(): Promise<unknown>;
  start(): void;
  /** SIGKILL to its first process; the kernel ends all others with it */
  kill(): Promise<void>;
  /** shifts its clock, also under processes that run */
  shiftClock(seconds: number): void;
  fillDisk(): void;
  freeDisk(): void;
  log(): string;
  remove(): Promise<void>;
}

export interface HostOptions {
  number: number;
  name: string;
  /** its clock can be shifted */
  clock: boolean;
  /** the environment of its processes, once its network is there */
  environment(network: Network, home: string): Promise<Record<string, string>>;
}

export async function makeHost({ number, name, clock: shifts, environment }: HostOptions): Promise<Host> {
  const network = layCable(number);
  const home = mkdtempSync(join(tmpdir(), `fetch-host-${name}-`));
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${HOME_MB}m,mode=0700`, 'tmpfs', home]);
  const around = mkdtempSync(join(tmpdir(), `fetch-host-${name}-log-`));
  const [log, clock, filler] = [join(around, 'log'), join(around, 'clock'), join(home, 'filler')];
  for (const file of [log, clock]) writeFileSync(file, '');
  writeFileSync(clock, '+0');
  const env = {
    ...(await environment(network, home)),
    FETCH_HOME: home,
    FETCH_KENNEL_HOST: name,
    ...(shifts && clockOf(clock)),
  };
  let child: ChildProcess | null = null;
  let serves: ReadonlySet<HostRole> = new Set();

  const start = (): void => {
    const own = [
      'unshare',
      '--uts',
      '--pid',
      '--fork',
      '--mount-proc',
      '--kill-child',
      process.execPath,
      INIT,
      ENTRY,
      log,
      ...ROLES,
    ];
    child = spawn('ip', ['netns', 'exec', network.namespace, ...own], {
      env,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    child.on('message', (message: { serving: HostRole[] }) => {
      serves = new Set(message.serving);
    });
  };
  const ended = async (signal: NodeJS.Signals): Promise<void> => {
    const one = child;
    if (!one) return;
    one.kill(signal);
    await until(`${name} has ended`, () => one.exitCode !== null || one.signalCode !== null, 30_000);
    child = null;
    serves = new Set();
  };
  return {
    name,
    home,
    network,
    serving: () => serves,
    ready: () => until(`all roles of ${name} serve`, () => serves.size === ROLES.length, 120_000),
    start,
    kill: () => ended('SIGKILL'),
    shiftClock: (seconds) => writeFileSync(clock, `${seconds < 0 ? '' : '+'}${seconds}`),
    fillDisk() {
      const { bavail, bsize } = statfsSync(home);
      writeFileSync(filler, Buffer.alloc(bavail * bsize));
    },
    freeDisk: () => rmSync(filler, { force: true }),
    log: () => readFileSync(log, 'utf8'),
    async remove() {
      await ended('SIGKILL');
      network.remove();
      execFileSync('umount', ['-l', home]);
      for (const folder of [home, around]) rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * Debian's libfaketime shifts what the C library says the time is, so Node and the native code of Temporal's worker see
 * the same clock; a shifted `Date` in JavaScript would leave the latter out. Timers are left alone: they run by the
 * monotonic clock.
 */
const LIBRARIES = ['x86_64', 'aarch64'].map((machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketimeMT.so.1`);

function clockOf(file: string): Record<string, string> {
  if (!LIBRARIES.some(existsSync)) install(['libfaketime']);
  return {
    LD_PRELOAD: LIBRARIES.find(existsSync)!,
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_CACHE_DURATION: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    FAKETIME_DONT_RESET: '1',
  };
}
