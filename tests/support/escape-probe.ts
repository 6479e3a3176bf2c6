import { createSocket } from 'node:dgram';
import { lookup, Resolver } from 'node:dns/promises';
import { type Dirent, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { networkInterfaces } from 'node:os';

/**
 * Runs inside a container and tries to get out: what it is to try comes as JSON in the file that is named, what it
 * found goes to standard output as JSON. Knows nothing of the project, so that it runs wherever Node does.
 */
export interface Attempts {
  tcp: Array<{ host: string; port: number }>;
  udp: Array<{ host: string; port: number }>;
  names: string[];
  /** names of abstract unix sockets of the host */
  abstract: string[];
  /** paths of the host */
  paths: string[];
  /** paths to write to */
  writes: string[];
  /** process ids of the host */
  pids: number[];
}

export interface Found {
  /** `host:port` of what could be connected to */
  tcp: string[];
  udp: string[];
  resolved: string[];
  abstract: string[];
  paths: string[];
  written: string[];
  /** command lines of the processes that can be seen */
  processes: string[];
  signalled: number[];
  interfaces: string[];
  /** of /proc/self/status: Uid, CapEff, CapBnd, NoNewPrivs, Seccomp */
  status: Record<string, string>;
  sockets: string[];
  devices: string[];
  environment: string[];
}

const within = (work: Promise<string | null>): Promise<string | null> =>
  Promise.race([work.catch(() => null), new Promise<null>((resolve) => setTimeout(resolve, 4000, null))]);

const tcp = (options: { host: string; port: number } | { path: string }, name: string): Promise<string | null> =>
  within(
    new Promise((resolve) => {
      const socket = connect(options);
      socket.once('connect', () => resolve(name));
      socket.once('error', () => resolve(null));
    }),
  );

/** Sent without an error is as much as one side can know; the other side says whether it came. */
const udp = ({ host, port }: { host: string; port: number }): Promise<string | null> =>
  within(
    new Promise((resolve) => {
      const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
      socket.once('error', () => resolve(null));
      socket.send('escape', port, host, (error) => resolve(error ? null : `${host}:${port}`));
    }),
  );

const name = (host: string): Promise<string | null> => within(lookup(host).then(() => host));
const direct = async (host: string): Promise<string | null> => {
  const resolver = new Resolver({ timeout: 1000, tries: 1 });
  resolver.setServers(['8.8.8.8', '1.1.1.1']);
  return await within(resolver.resolve4(host).then(() => host));
};

function tried<T>(items: readonly T[], attempt: (item: T) => boolean): T[] {
  return items.filter((item) => {
    try {
      return attempt(item);
    } catch {
      return false;
    }
  });
}

async function probe(attempts: Attempts): Promise<Found> {
  const all = async (work: Array<Promise<string | null>>): Promise<string[]> =>
    (await Promise.all(work)).filter((one) => one !== null);
  const pids = readdirSync('/proc').filter((entry) => /^\d+$/.test(entry));
  const status = Object.fromEntries(
    readFileSync('/proc/self/status', 'utf8')
      .split('\n')
      .map((line) => line.split(/:\s+/, 2) as [string, string]),
  );
  return {
    tcp: await all(attempts.tcp.map((target) => tcp(target, `${target.host}:${target.port}`))),
    udp: await all(attempts.udp.map(udp)),
    resolved: await all(attempts.names.flatMap((host) => [name(host), direct(host)])),
    abstract: await all(attempts.abstract.map((path) => tcp({ path: `\0${path}` }, path))),
    paths: attempts.paths.filter((path) => existsSync(path)),
    written: tried(attempts.writes, (path) => {
      writeFileSync(path, 'x', { flag: 'a' });
      return true;
    }),
    processes: tried(pids, (pid) => existsSync(`/proc/${pid}`)).map((pid) => read(`/proc/${pid}/cmdline`)),
    signalled: tried(attempts.pids, (pid) => process.kill(pid, 0)),
    interfaces: Object.keys(networkInterfaces()),
    status,
    sockets: socketsBelow('/', 0),
    devices: readdirSync('/dev', { recursive: true }).map(String).sort(),
    environment: pids.map((pid) => read(`/proc/${pid}/environ`)),
  };
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    return '';
  }
}

const PSEUDO = new Set(['/proc', '/sys', '/opt', '/usr']);

function socketsBelow(folder: string, depth: number): string[] {
  if (depth > 6) return [];
  let entries: Dirent[];
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
  return entries.flatMap((entry) => {
    const path = `${folder === '/' ? '' : folder}/${entry.name}`;
    if (entry.isSocket()) return [path];
    return entry.isDirectory() && !PSEUDO.has(path) ? socketsBelow(path, depth + 1) : [];
  });
}

const found = await probe(JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as Attempts);
// what still tries to connect holds nothing up
process.stdout.write(JSON.stringify(found), () => process.exit(0));
