import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';

/** A TCP port that a program in this container listens on, and the loopback address by which it is reached. */
interface Listening {
  port: number;
  host: '127.0.0.1' | '::1';
}

const LISTEN = '0A';

/** The ports, in the order of the kernel's table; those of IPv4 first. */
const listening = (): Listening[] => [
  ...inTable('/proc/net/tcp', () => '127.0.0.1'),
  ...inTable('/proc/net/tcp6', loopbackOf),
];

/**
 * What listens on every address, as Node does where none is named, takes IPv4 too; and a container may have no `::1`.
 */
const loopbackOf = (address: string): Listening['host'] => (/^0+$/.test(address) ? '127.0.0.1' : '::1');

function inTable(file: string, hostOf: (address: string) => Listening['host']): Listening[] {
  let table: string;
  try {
    table = readFileSync(file, 'utf8');
  } catch {
    return [];
  }
  return table.split('\n').flatMap((line): Listening[] => {
    const [, local, , state] = line.trim().split(/\s+/);
    const [address = '', hex = ''] = local?.split(':') ?? [];
    const port = Number.parseInt(hex, 16);
    return state === LISTEN && port > 0 ? [{ port, host: hostOf(address) }] : [];
  });
}

/** Connections that wait at the host for somebody who visits the app. */
const IDLE = 6;
const LOOK_MS = 250;

/**
 * The container has no network, so nobody can connect to the app from outside. Instead, this program connects to a
 * socket of the host, says the app's port, and waits. The first byte that comes from the host begins a connection to
 * the app. Nothing inside can begin one to the outside in this way.
 */
export function offerPort(socket: string, wanted: number): void {
  let idle = 0;
  const look = () => {
    const at = portOf(wanted);
    while (at && idle < IDLE) {
      idle += 1;
      tunnel(socket, at, () => {
        idle -= 1;
      });
    }
  };
  // it never keeps the container alive: the app does
  setInterval(look, LOOK_MS).unref();
}

function portOf(wanted: number): Listening | undefined {
  const open = listening();
  return wanted === 0 ? open[0] : open.find(({ port }) => port === wanted);
}

/** `used`: called once, when the tunnel no longer waits. */
function tunnel(socket: string, at: Listening, used: () => void): void {
  const host = connect({ path: socket, allowHalfOpen: true });
  let waits = true;
  const end = () => {
    if (waits) used();
    waits = false;
  };
  host.on('error', () => {}).on('close', end);
  // the process of the host has ended; half of a connection would wait for ever
  host.on('end', () => {
    if (waits) host.destroy();
  });
  host.write(`${at.port}\n`);
  host.once('data', (first: Buffer) => {
    end();
    const app = connect({ port: at.port, host: at.host, allowHalfOpen: true });
    app.write(first);
    join(host, app);
  });
}

function join(a: Socket, b: Socket): void {
  a.pipe(b);
  b.pipe(a);
  for (const [one, other] of [
    [a, b],
    [b, a],
  ] as const)
    one.on('error', () => other.destroy()).on('close', () => other.destroySoon());
}
