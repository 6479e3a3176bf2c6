import { createServer, type IncomingMessage, type Server } from 'node:http';
import { connect, isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import { type AddressRule, BlockedAddressError, guardedLookup, type Resolver } from '../../web/address-guard.ts';
import { type AllowList, parseTarget, type Target } from './allow-list.ts';
import type { RefusedHosts } from './refused-hosts.ts';
import type { Slots } from './slots.ts';

export interface EgressProxyDeps {
  allowed: () => AllowList;
  allows: AddressRule;
  resolve: Resolver;
  /** look-ups occupy the few threads that this process has for them: they are shared among all tasks */
  lookups: Slots;
  refused: RefusedHosts;
  /** a tunnel through which nothing passes is cut after this long, ms */
  idleMs: number;
  log: Logger;
}

/** Bytes that went through all tunnels of a task. */
export interface Traffic {
  sent: number;
  received: number;
}

export interface EgressProxy {
  server: Server;
  traffic(): Traffic;
  /** cuts every tunnel, and the requests that wait for one */
  cut(): void;
}

const MAX_TUNNELS = 64;
const MAX_CONNECTIONS = 256;
const CONNECT_MS = 15_000;

/** The HTTP proxy behind one task's egress socket: CONNECT to allowed hosts, and nothing else. */
export function createEgressProxy(deps: EgressProxyDeps): EgressProxy {
  const tunnels = new Set<Socket>();
  const clients = new Set<Socket>();
  const traffic: Traffic = { sent: 0, received: 0 };
  const server = createServer({ headersTimeout: 10_000, requestTimeout: 10_000, keepAliveTimeout: 5000, maxHeaderSize: 8 * 1024 });
  server.maxConnections = MAX_CONNECTIONS;

  server.on('request', (request, response) => {
    const url = URL.parse(request.url ?? '');
    const target = url?.protocol === 'http:' ? parseTarget(`${url.hostname}:${url.port || 80}`) : null;
    const listed = target !== null && deps.allowed()(target);
    if (target && !listed) noted(target);
    const text = listed
      ? `Plain HTTP is not passed on: use https://${target.host} instead.\n`
      : `Only https is passed on, and only to hosts that are allowed. ${target ? howTo(target.host) : ''}\n`;
    response.writeHead(403, { 'content-type': 'text/plain; charset=utf-8', 'content-length': Buffer.byteLength(text), connection: 'close' });
    response.end(text);
  });

  server.on('connect', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    // what an HTTP server hands over on CONNECT is its socket
    const client = stream as Socket;
    clients.add(client);
    client.once('close', () => clients.delete(client));
    client.on('error', () => client.destroy());
    client.setTimeout(deps.idleMs, () => client.destroy());
    if (deps.refused.tooMany()) return client.destroy();
    const target = parseTarget(request.url ?? '');
    if (!target) return deny(client, '400 Bad Request', 'A CONNECT needs a host and a port, such as example.com:443.');
    if (!deps.allowed()(target)) {
      noted(target);
      return deny(client, '403 Host not allowed by FETCH_KENNEL_EGRESS', `${target.host}:${target.port} is not allowed. ${howTo(target.host)}`);
    }
    if (tunnels.size >= MAX_TUNNELS) return deny(client, '503 Too many connections', `There are ${MAX_TUNNELS} connections already.`);
    open(target, client, head);
  });

  return {
    server,
    traffic: () => ({ ...traffic }),
    cut() {
      for (const socket of [...clients, ...tunnels]) socket.destroy();
    },
  };

  function noted(target: Target): void {
    if (deps.refused.count(target)) deps.log.info({ host: target.host, port: target.port }, 'a container asked for a host that is not allowed');
  }

  function open(target: Target, client: Socket, head: Buffer): void {
    // a socket does not look a literal address up, so the guard would not see it
    if (isIP(target.host) && !deps.allows(target.host)) {
      blocked(target, client);
      return;
    }
    const resolve: Resolver = async (host) => {
      const done = await deps.lookups.take();
      try {
        return await deps.resolve(host);
      } finally {
        done();
      }
    };
    // connects to the very address that was checked: a name that answers differently the next time gains nothing
    const server = connect({ ...target, lookup: guardedLookup(resolve, deps.allows), autoSelectFamily: true, allowHalfOpen: true });
    tunnels.add(server);
    let connected = false;
    const tooLong = setTimeout(() => server.destroy(Object.assign(new Error('time-out'), { code: 'ETIMEDOUT' })), CONNECT_MS);
    client.once('close', () => server.destroy());
    server.once('close', (failed) => {
      clearTimeout(tooLong);
      tunnels.delete(server);
      traffic.sent += server.bytesWritten;
      traffic.received += server.bytesRead;
      // what was received goes out before the end; a client that does not read is ended by its own time-out
      if (failed && connected) client.destroy();
      else client.destroySoon();
      if (connected) {
        deps.log.debug({ host: target.host, port: target.port, sent: server.bytesWritten, received: server.bytesRead }, 'tunnel closed');
      }
    });
    server.on('error', (error: NodeJS.ErrnoException) => {
      if (connected) return;
      if (error instanceof BlockedAddressError) return blocked(target, client);
      deny(client, '502 Bad Gateway', `${target.host}:${target.port} cannot be reached (${error.code ?? 'unknown'}).`);
    });
    server.once('connect', () => {
      clearTimeout(tooLong);
      connected = true;
      server.setTimeout(deps.idleMs, () => server.destroy());
      server.setNoDelay(true);
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      if (head.length) server.write(head);
      // `pipe` keeps backpressure, and ends one direction without the other
      client.pipe(server).pipe(client);
    });
  }

  function blocked(target: Target, client: Socket): void {
    noted(target);
    deny(client, '403 Address not public', `${target.host} is not on the public internet, and only public addresses may be reached.`);
  }
}

const howTo = (host: string): string =>
  `To allow it, whoever runs this instance adds ${host} to FETCH_KENNEL_EGRESS and restarts. It is on record that it was asked for.`;

function deny(client: Socket, status: string, text: string): void {
  const body = `${text}\n`;
  // without `destroySoon` a client that never ends its side would hold the connection
  client.write(
    `HTTP/1.1 ${status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
  client.destroySoon();
}
