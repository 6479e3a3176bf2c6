import { createSocket } from 'node:dgram';
import { lookup, Resolver } from 'node:dns/promises';
import { readFileSync } from 'node:fs';
import { connect, type NetConnectOpts } from 'node:net';

/**
 * Runs inside a container and makes the attempts that are in the file that is named. Prints what each was answered, as
 * JSON. Knows nothing of the project, so that it runs wherever Node does.
 */
export interface Attempt {
  /** what it is, for a person who reads a failure */
  what: string;
  /** a socket of the gate, or past it */
  via: 'egress' | 'model' | 'tcp' | 'udp' | 'resolver' | 'nameserver';
  host?: string;
  port?: number;
  /** sent one after the other, each when something came back, or a moment later */
  send?: string[];
  /** of one that works: so many answers come, in their time */
  answers?: number;
}

export interface Outcome {
  what: string;
  /** status codes in what came back */
  statuses: number[];
  /** a connection or a name that was got without the gate */
  reached: boolean;
}

const AT_ONCE = 60;
/** Requests for hosts without a rule are held: a program that waits no longer is answered nothing. */
const PATIENCE_MS = 700;
const ANSWERS_MS = 30_000;
const MOMENT_MS = 100;

const SOCKETS = '/run/fetch/gate';

const statusesIn = (said: string): number[] =>
  [...said.matchAll(/^HTTP\/1\.[01] (\d{3})/gm)].map(([, code]) => Number(code));

function exchange(options: NetConnectOpts, send: readonly string[], answers = 0): Promise<Omit<Outcome, 'what'>> {
  return new Promise((resolve) => {
    const socket = connect(options);
    let said = '';
    let connected = false;
    const parts = [...send];
    const next = () => {
      clearTimeout(later);
      const part = parts.shift();
      if (part === undefined || socket.destroyed) return;
      socket.write(part);
      later = setTimeout(next, MOMENT_MS);
    };
    let later: NodeJS.Timeout | undefined;
    const end = setTimeout(() => socket.destroy(), answers > 0 ? ANSWERS_MS : PATIENCE_MS);
    socket.once('connect', () => {
      connected = true;
      next();
    });
    socket.on('data', (chunk) => {
      said += chunk;
      next();
      if (answers > 0 && statusesIn(said).length >= answers) socket.destroy();
    });
    socket.on('error', () => {});
    socket.once('close', () => {
      clearTimeout(end);
      clearTimeout(later);
      resolve({
        statuses: statusesIn(said),
        reached: connected && !('path' in options),
      });
    });
  });
}

function datagram(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
    socket.once('error', () => resolve(false));
    socket.send('escape', port, host, (error) => {
      socket.close();
      resolve(!error);
    });
  });
}

async function asked(host: string, port: number): Promise<boolean> {
  const resolver = new Resolver({ timeout: PATIENCE_MS, tries: 1 });
  resolver.setServers([`${host}:${port}`]);
  return await resolver.resolve4('secret.escape.example').then(
    () => true,
    () => false,
  );
}

async function tried({ via, host = '', port = 0, send = [], answers }: Attempt): Promise<Omit<Outcome, 'what'>> {
  if (via === 'egress' || via === 'model') return await exchange({ path: `${SOCKETS}/${via}.sock` }, send, answers);
  if (via === 'tcp') return await exchange({ host, port }, send);
  if (via === 'udp') return { statuses: [], reached: await datagram(host, port) };
  if (via === 'nameserver') return { statuses: [], reached: await asked(host, port) };
  const found = await lookup(host).catch(() => null);
  return { statuses: [], reached: found !== null };
}

const attempts = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as Attempt[];
const outcomes: Outcome[] = [];
const queue = [...attempts];
await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    for (let attempt = queue.shift(); attempt; attempt = queue.shift())
      outcomes.push({ what: attempt.what, ...(await tried(attempt)) });
  }),
);
process.stdout.write(JSON.stringify(outcomes), () => process.exit(0));
