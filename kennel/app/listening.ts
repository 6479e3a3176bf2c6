import { readFileSync } from 'node:fs';

/** A TCP port that a program in this container listens on, and the loopback address by which it is reached. */
export interface Listening {
  port: number;
  host: '127.0.0.1' | '::1';
}

const LISTEN = '0A';

/** The ports, in the order of the kernel's table; those of IPv4 first. */
export const listening = (): Listening[] => [
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
