import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { egressWords, toolName } from '../../../../domain/tasks/egress.ts';
import { isCachedHost } from '../../../../domain/tasks/registries/registry-cache.ts';
import { HOUR } from '../../../../domain/time.ts';
import { Registries } from '../cache/registries.ts';
import type { RegistryCache } from '../cache/registry-cache.ts';
import { plainRequest, type RegistryRequest, registryRequest, targetOf } from '../cache/request.ts';
import type { Admission } from './admission.ts';
import { parseTarget, type Target } from './allow-list.ts';
import { isLocal, type LocalWay } from './local-apps.ts';
import { forwardPlain, isOpenRead, refusePlain } from './plain.ts';
import type { RefusedHosts, TrafficCount } from './traffic.ts';
import { deny, openTunnel, type TunnelDeps } from './tunnel.ts';

export interface EgressProxyDeps extends TunnelDeps {
  admission: Admission;
  refused: RefusedHosts;
  traffic: TrafficCount;
  /** mirrors of the owner */
  isMirror: (target: Target) => boolean;
  /** those that speak plain HTTP */
  isPlain: (target: Target) => boolean;
  /** null: files of registries are not kept */
  cache: RegistryCache | null;
  /** where `localhost` leads; without it, to no place */
  local?: LocalWay | null;
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
const HELD_MS = 2 * HOUR;

const NOT_PUBLIC = '403 Address not public';
const TOO_MANY = '503 Too many connections';
const tooMany = `There are ${MAX_TUNNELS} connections already.`;

/**
 * The HTTP proxy behind one task's egress socket: CONNECT, and what is read by plain HTTP, to hosts that the owner
 * lists or a person allows.
 */
export class EgressProxy {
  readonly server: Server;
  private readonly deps: EgressProxyDeps;
  private readonly registries: Registries | null;
  /** those that a person's rule opened have the target of that rule */
  private readonly tunnels = new Map<Socket, Target | null>();
  private readonly clients = new Set<Socket>();
  private readonly passed: Traffic = { sent: 0, received: 0 };
  private review: NodeJS.Timeout | undefined;

  constructor(deps: EgressProxyDeps) {
    this.deps = deps;
    const { cache } = deps;
    this.registries =
      cache && new Registries({ ...deps, cache, opened: (server, at, by) => this.counted(server, at, by) });
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
    this.registries?.close();
    this.deps.local?.close();
    const counted = [...this.tunnels.keys()].map((server) => new Promise((resolve) => server.once('close', resolve)));
    for (const socket of [...this.clients, ...this.tunnels.keys()]) socket.destroy();
    await Promise.all(counted);
  }

  private async plain(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const wanted = this.wanted(request);
    if (!wanted || this.deps.refused.tooMany())
      return refusePlain(response, '403 Only https', 'Only https is passed on.');
    const { target, registry } = wanted;
    if (this.deps.local && isLocal(target)) return this.deps.local.plain(target, request, response);
    if (!registry && !this.deps.isPlain(target) && !isOpenRead(request, target)) {
      this.note(target);
      return refusePlain(response, '403 Only https', egressWords.tlsOnly(target));
    }
    const block = () => {
      this.note(target);
      refusePlain(response, NOT_PUBLIC, egressWords.notPublic(target));
    };
    if (this.isPrivate(target)) return block();
    const admitted = await this.deps.admission.admit(
      target,
      toolName(request.headers['user-agent']),
      leaving(request.socket, response),
    );
    if (request.socket.destroyed) return;
    if (!admitted.open) {
      this.note(target);
      return refusePlain(response, admitted.status, admitted.words);
    }
    if (registry)
      return await this.registries!.answer(registry, request, response, (status, words) =>
        refusePlain(response, status, words),
      );
    if (this.tunnels.size >= MAX_TUNNELS) return refusePlain(response, TOO_MANY, tooMany);
    forwardPlain(this.deps, target, request, response, {
      opened: (server) => this.counted(server, target, admitted.ruled ? target : null),
      blocked: block,
    });
  }

  /**
   * What a plain request is for: the host that rules are asked for, and what the cache gives of it. Null: nothing that
   * is passed on.
   */
  private wanted(request: IncomingMessage): { target: Target; registry: RegistryRequest | null } | null {
    const url = URL.parse(request.url ?? '');
    if (url?.protocol !== 'http:') return null;
    const { cache } = this.deps;
    if (isCachedHost(url.hostname)) {
      const registry = cache && registryRequest(url, cache.marks);
      return registry && { target: targetOf(registry.by), registry };
    }
    const target = parseTarget(`${url.hostname}:${url.port || 80}`);
    const reads = request.method === 'GET' || request.method === 'HEAD';
    return (
      target && {
        target,
        registry: cache && reads && this.deps.isPlain(target) ? plainRequest(url, request.headers) : null,
      }
    );
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
    if (this.deps.local && isLocal(target)) {
      client.setTimeout(this.deps.idleMs);
      return await this.deps.local.tunnel(target, client, head);
    }
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
      admitted.ruled ? target : null,
    );
  }

  /** Counts what a connection carries, and watches it when the rule of a person opened it. */
  private counted(server: Socket, target: Target, rule: Target | null): void {
    this.tunnels.set(server, rule);
    if (rule) this.review ??= setInterval(() => void this.cutRevoked(), REVIEW_MS).unref();
    let connected = !server.connecting;
    server.once('connect', () => {
      connected = true;
    });
    server.once('close', () => {
      this.tunnels.delete(server);
      // what waits for a connection counts as written
      if (!connected) return;
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
    for (const [server, target] of this.tunnels)
      if (target && !mayStay(target)) server.destroy(new Error('a person took it back'));
  }

  /**
   * Nobody is asked about an address that no yes can open. A socket never looks up a literal address, so the guard
   * would not see it.
   */
  private isPrivate(target: Target): boolean {
    return isIP(target.host) > 0 && !this.deps.allows(target.host, target);
  }

  private block(target: Target, client: Socket): void {
    this.note(target);
    deny(client, NOT_PUBLIC, egressWords.notPublic(target));
  }

  private note({ host, port }: Target): void {
    if (this.deps.refused.count({ host, port }))
      this.deps.log.info({ host, port }, 'a container asked for a host that is not allowed');
  }
}

/** Aborted when the client is gone. `until`: of the many requests on one connection, each is told of its own end. */
function leaving(client: Socket, until: Socket | ServerResponse = client): AbortSignal {
  const left = new AbortController();
  if (client.destroyed) left.abort();
  until.once('close', () => left.abort());
  return left.signal;
}
