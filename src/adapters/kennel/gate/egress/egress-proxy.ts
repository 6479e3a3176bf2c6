import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { type AllowList, parseTarget, type Target } from './allow-list.ts';
import { deny } from './deny.ts';
import type { RefusedHosts } from './refused-hosts.ts';
import { openTunnel, type TunnelDeps } from './tunnel.ts';

export interface EgressProxyDeps extends TunnelDeps {
  allowed: () => AllowList;
  refused: RefusedHosts;
}

/** Bytes that went through all tunnels of a task. */
export interface Traffic {
  sent: number;
  received: number;
}

const MAX_TUNNELS = 64;
const MAX_CONNECTIONS = 256;
const TIMEOUTS = { headersTimeout: 10_000, requestTimeout: 10_000, keepAliveTimeout: 5000, maxHeaderSize: 8 * 1024 };

/** The HTTP proxy behind one task's egress socket: only CONNECT, and only to allowed hosts. */
export class EgressProxy {
  readonly server: Server;
  private readonly deps: EgressProxyDeps;
  private readonly tunnels = new Set<Socket>();
  private readonly clients = new Set<Socket>();
  private readonly passed: Traffic = { sent: 0, received: 0 };

  constructor(deps: EgressProxyDeps) {
    this.deps = deps;
    this.server = createServer(TIMEOUTS);
    this.server.maxConnections = MAX_CONNECTIONS;
    this.server.on('request', (request, response) => this.refusePlain(request, response));
    // for CONNECT, an HTTP server passes on its socket
    this.server.on('connect', (request, stream, head) => this.connect(request, stream as Socket, head));
  }

  traffic(): Traffic {
    return { ...this.passed };
  }

  /** Cuts every tunnel, and the requests that wait for one. */
  cut(): void {
    for (const socket of [...this.clients, ...this.tunnels]) socket.destroy();
  }

  private refusePlain(request: IncomingMessage, response: ServerResponse): void {
    const url = URL.parse(request.url ?? '');
    const target = url?.protocol === 'http:' ? parseTarget(`${url.hostname}:${url.port || 80}`) : null;
    const listed = target !== null && this.deps.allowed()(target);
    if (target && !listed) this.note(target);
    const text = listed
      ? `Plain HTTP is not passed on: use https://${target.host} instead.\n`
      : `Only https is passed on, and only to hosts that are allowed. ${target ? howTo(target.host) : ''}\n`;
    response.writeHead(403, { 'content-type': 'text/plain; charset=utf-8', 'content-length': Buffer.byteLength(text), connection: 'close' });
    response.end(text);
  }

  private connect(request: IncomingMessage, client: Socket, head: Buffer): void {
    this.clients.add(client);
    client.once('close', () => this.clients.delete(client));
    client.on('error', () => client.destroy());
    client.setTimeout(this.deps.idleMs, () => client.destroy());
    if (this.deps.refused.tooMany()) {
      client.destroy();
      return;
    }
    const target = parseTarget(request.url ?? '');
    if (!target) deny(client, '400 Bad Request', 'A CONNECT needs a host and a port, such as example.com:443.');
    else if (!this.deps.allowed()(target)) {
      this.note(target);
      deny(client, '403 Host not allowed by FETCH_KENNEL_EGRESS', `${target.host}:${target.port} is not allowed. ${howTo(target.host)}`);
    } else if (this.tunnels.size >= MAX_TUNNELS) deny(client, '503 Too many connections', `There are ${MAX_TUNNELS} connections already.`);
    // a socket never looks up a literal address, so the guard would not see it
    else if (isIP(target.host) && !this.deps.allows(target.host)) this.block(target, client);
    else this.tunnel(target, client, head);
  }

  private tunnel(target: Target, client: Socket, head: Buffer): void {
    const server = openTunnel(this.deps, target, client, head, () => this.block(target, client));
    this.tunnels.add(server);
    server.once('close', () => {
      this.tunnels.delete(server);
      this.passed.sent += server.bytesWritten;
      this.passed.received += server.bytesRead;
    });
  }

  private block(target: Target, client: Socket): void {
    this.note(target);
    deny(client, '403 Address not public', `${target.host} is not on the public internet, and only public addresses may be reached.`);
  }

  private note({ host, port }: Target): void {
    if (this.deps.refused.count({ host, port })) this.deps.log.info({ host, port }, 'a container asked for a host that is not allowed');
  }
}

const howTo = (host: string): string =>
  `To allow it, the person who runs this instance adds ${host} to FETCH_KENNEL_EGRESS and restarts. It is on record that it was asked for.`;
