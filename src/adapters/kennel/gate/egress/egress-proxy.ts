import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { egressWords, toolName } from '../../../../domain/tasks/egress.ts';
import type { Admission } from './admission.ts';
import { parseTarget, type Target } from './allow-list.ts';
import { deny } from './deny.ts';
import { forwardPlain, isOpenRead, refusePlain } from './plain.ts';
import type { RefusedHosts } from './refused-hosts.ts';
import type { TrafficCount } from './traffic.ts';
import { openTunnel, type TunnelDeps } from './tunnel.ts';

export interface EgressProxyDeps extends TunnelDeps {
  admission: Admission;
  refused: RefusedHosts;
  traffic: TrafficCount;
  /** mirrors of the owner that speak plain HTTP */
  isPlain: (target: Target) => boolean;
}

/** Bytes that went through all tunnels of a task. */
export interface Traffic {
  sent: number;
  received: number;
}

const MAX_TUNNELS = 64;
const MAX_CONNECTIONS = 256;
const TIMEOUTS = { headersTimeout: 10_000, requestTimeout: 10_000, keepAliveTimeout: 5000, maxHeaderSize: 8 * 1024 };
/** A rule that is taken back cuts its tunnels within this time. */
const REVIEW_MS = 1_000;
/** A client whose container is frozen says nothing while a person is asked. */
const HELD_MS = 2 * 3_600_000;

const NOT_PUBLIC = '403 Address not public';
const notPublic = ({ host }: Target): string => `${host} is not on the public internet, and only public addresses may be reached.`;
const TOO_MANY = '503 Too many connections';
const tooMany = `There are ${MAX_TUNNELS} connections already.`;

/** The HTTP proxy behind one task's egress socket: CONNECT, and what is read by plain HTTP, to hosts that the owner lists or a person allows. */
export class EgressProxy {
  readonly server: Server;
  private readonly deps: EgressProxyDeps;
  /** those that a person's rule opened have their target */
  private readonly tunnels = new Map<Socket, Target | null>();
  private readonly clients = new Set<Socket>();
  private readonly passed: Traffic = { sent: 0, received: 0 };
  private review: NodeJS.Timeout | undefined;

  constructor(deps: EgressProxyDeps) {
    this.deps = deps;
    this.server = createServer(TIMEOUTS);
    this.server.maxConnections = MAX_CONNECTIONS;
    this.server.on('request', (request, response) => void this.plain(request, response));
    // for CONNECT, an HTTP server passes on its socket
    this.server.on('connect', (request, stream, head) => void this.connect(request, stream as Socket, head));
  }

  traffic(): Traffic {
    return { ...this.passed };
  }

  /** Cuts every tunnel, and the requests that wait for one. Resolves when the tunnels are counted. */
  async cut(): Promise<void> {
    clearInterval(this.review);
    const counted = [...this.tunnels.keys()].map((server) => new Promise((resolve) => server.once('close', resolve)));
    for (const socket of [...this.clients, ...this.tunnels.keys()]) socket.destroy();
    await Promise.all(counted);
  }

  private async plain(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = URL.parse(request.url ?? '');
    const target = url?.protocol === 'http:' ? parseTarget(`${url.hostname}:${url.port || 80}`) : null;
    if (!target || this.deps.refused.tooMany()) return refusePlain(response, '403 Only https', 'Only https is passed on.');
    if (!this.deps.isPlain(target) && !isOpenRead(request, target)) {
      this.note(target);
      return refusePlain(response, '403 Only https', egressWords.tlsOnly(target));
    }
    const block = () => {
      this.note(target);
      refusePlain(response, NOT_PUBLIC, notPublic(target));
    };
    if (this.isPrivate(target)) return block();
    const admitted = await this.deps.admission.admit(target, toolName(request.headers['user-agent']), leaving(request.socket));
    if (request.socket.destroyed) return;
    if (!admitted.open) {
      this.note(target);
      return refusePlain(response, admitted.status, admitted.words);
    }
    if (this.tunnels.size >= MAX_TUNNELS) return refusePlain(response, TOO_MANY, tooMany);
    forwardPlain(this.deps, target, request, response, { opened: (server) => this.counted(server, target, admitted.ruled), blocked: block });
  }

  private async connect(request: IncomingMessage, client: Socket, head: Buffer): Promise<void> {
    this.clients.add(client);
    client.once('close', () => this.clients.delete(client));
    client.on('error', () => client.destroy());
    client.setTimeout(HELD_MS, () => client.destroy());
    if (this.deps.refused.tooMany()) {
      client.destroy();
      return;
    }
    const target = parseTarget(request.url ?? '');
    if (!target) return deny(client, '400 Bad Request', 'A CONNECT needs a host and a port, such as example.com:443.');
    if (this.isPrivate(target)) return this.block(target, client);
    const admitted = await this.deps.admission.admit(target, toolName(request.headers['user-agent']), leaving(client));
    if (client.destroyed) return;
    if (!admitted.open) {
      this.note(target);
      return deny(client, admitted.status, admitted.words);
    }
    if (this.tunnels.size >= MAX_TUNNELS) return deny(client, TOO_MANY, tooMany);
    client.setTimeout(this.deps.idleMs);
    this.counted(
      openTunnel(this.deps, target, client, head, () => this.block(target, client)),
      target,
      admitted.ruled,
    );
  }

  /** Counts what a connection carries, and watches it when a person's rule opened it. */
  private counted(server: Socket, target: Target, ruled: boolean): void {
    this.tunnels.set(server, ruled ? target : null);
    if (ruled) this.review ??= setInterval(() => void this.cutRevoked(), REVIEW_MS).unref();
    server.once('close', () => {
      this.tunnels.delete(server);
      const { bytesWritten: sent, bytesRead: received } = server;
      this.passed.sent += sent;
      this.passed.received += received;
      if (sent + received > 0) this.deps.traffic.add(target, { sent, received });
    });
  }

  private async cutRevoked(): Promise<void> {
    if (![...this.tunnels.values()].some((target) => target !== null)) {
      clearInterval(this.review);
      this.review = undefined;
      return;
    }
    const mayStay = await this.deps.admission.reviewed();
    for (const [server, target] of this.tunnels) if (target && !mayStay(target)) server.destroy(new Error('a person took it back'));
  }

  /** Nobody is asked about an address that no yes can open. A socket never looks up a literal address, so the guard would not see it. */
  private isPrivate(target: Target): boolean {
    return isIP(target.host) > 0 && !this.deps.allows(target.host, target);
  }

  private block(target: Target, client: Socket): void {
    this.note(target);
    deny(client, NOT_PUBLIC, notPublic(target));
  }

  private note({ host, port }: Target): void {
    if (this.deps.refused.count({ host, port })) this.deps.log.info({ host, port }, 'a container asked for a host that is not allowed');
  }
}

/** Aborted when the client is gone. */
function leaving(client: Socket): AbortSignal {
  const left = new AbortController();
  if (client.destroyed) left.abort();
  client.once('close', () => left.abort());
  return left.signal;
}
