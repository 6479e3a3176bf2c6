import { connect, type Socket } from 'node:net';
import type { Logger } from 'pino';
import { BlockedAddressError, guardedLookup, type Resolver } from '../../../web/address-guard.ts';
import type { Slots } from '../slots.ts';
import type { Target } from './allow-list.ts';

export interface TunnelDeps {
  /** which addresses a target may have: public ones, unless it is a mirror of the owner */
  allows: (address: string, target: Target) => boolean;
  resolve: Resolver;
  /** look-ups share the few threads that this process has for them, among all tasks */
  lookups: Slots;
  /** a tunnel without traffic is cut after this long, in ms */
  idleMs: number;
  log: Logger;
}

const CONNECT_MS = 15_000;

/**
 * Connects a client to a server, and tells the client when that fails. `onBlocked`: the name resolves to an address
 * that is not allowed.
 */
export function openTunnel(
  deps: TunnelDeps,
  target: Target,
  client: Socket,
  head: Buffer,
  onBlocked: () => void,
): Socket {
  // connects to exactly the address that was checked, so a name that resolves differently the next time gains nothing
  const server = connect({
    ...target,
    lookup: guardedLookup(inTurn(deps), (address) => deps.allows(address, target)),
    autoSelectFamily: true,
    allowHalfOpen: true,
  });
  let connected = false;
  const tooLong = setTimeout(
    () => server.destroy(Object.assign(new Error('time-out'), { code: 'ETIMEDOUT' })),
    CONNECT_MS,
  );
  client.once('close', () => server.destroy());
  server.once('close', (failed) => {
    clearTimeout(tooLong);
    // received data is sent before the end; a client that does not read is ended by its own time-out
    if (failed && connected) client.destroy();
    else client.destroySoon();
    if (connected)
      deps.log.debug(
        { host: target.host, port: target.port, sent: server.bytesWritten, received: server.bytesRead },
        'tunnel closed',
      );
  });
  server.on('error', (error: NodeJS.ErrnoException) => {
    if (connected) return;
    if (error instanceof BlockedAddressError) return onBlocked();
    deny(client, '502 Bad Gateway', `${target.host}:${target.port} cannot be reached (${error.code ?? 'unknown'}).`);
  });
  server.once('connect', () => {
    clearTimeout(tooLong);
    connected = true;
    server.setTimeout(deps.idleMs, () => server.destroy());
    server.setNoDelay(true);
    client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    if (head.length) server.write(head);
    // `pipe` keeps backpressure, and can end one direction without the other
    client.pipe(server).pipe(client);
  });
  return server;
}

/** Look-ups one after the other, with those of other tasks. */
export const inTurn =
  ({ lookups, resolve }: Pick<TunnelDeps, 'lookups' | 'resolve'>): Resolver =>
  async (host) => {
    const done = await lookups.take();
    try {
      return await resolve(host);
    } finally {
      done();
    }
  };

/** Answers a CONNECT with a refusal. The text is for people who read the agent's output. */
export function deny(client: Socket, status: string, text: string): void {
  const body = `${text}\n`;
  // without `destroySoon` a client that never closes its side would keep the connection
  client.write(
    `HTTP/1.1 ${status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
  client.destroySoon();
}
