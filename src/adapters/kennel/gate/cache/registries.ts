import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { egressWords } from '../../../../domain/tasks/egress.ts';
import { cachedHost, labelsOf, type Origin, originOf } from '../../../../domain/tasks/registries/registry-cache.ts';
import type { Target } from '../egress/allow-list.ts';
import type { TunnelDeps } from '../egress/tunnel.ts';
import { type Answer, isBlocked, type RegistryCache } from './registry-cache.ts';
import { headersOf, relay, textOf } from './relay.ts';
import { type Marks, type RegistryRequest, targetOf } from './request.ts';
import { type Links, rewriterFor } from './rewriters.ts';
import { type Upstream, upstream } from './upstream.ts';

/**
 * The addresses of an index of the registry `by`. `asked`: what the container asked for; `found`: where the index was,
 * after redirects.
 */
export function linksOf(marks: Marks, by: Origin, asked: URL, found: URL): Links {
  const hostOf = (url: URL): string | null => {
    const origin = url.username || url.password ? null : originOf(url);
    if (!origin) return null;
    return labelsOf(origin) === labelsOf(by)
      ? cachedHost(origin)
      : cachedHost(origin, { mark: marks.of(origin, by), by });
  };
  const moved = asked.href !== found.href;
  return {
    host: (address) => {
      const url = URL.parse(address);
      return url && hostOf(url);
    },
    rewritten(address) {
      // a relative one leads to the cache by itself, unless the container does not know where the index is
      if (!moved && !URL.canParse(address) && !address.startsWith('//')) return null;
      const url = URL.parse(address, found.href);
      const host = url && hostOf(url);
      return url && host ? `http://${host}${url.pathname}${url.search}${url.hash}` : null;
    },
  };
}

interface RegistriesDeps extends TunnelDeps {
  cache: RegistryCache;
  isPlain: (target: Target) => boolean;
  /** a server of the owner */
  isMirror: (target: Target) => boolean;
  /** a connection of this task to `at`, for the registry `by` */
  opened: (socket: Socket, at: Target, by: Target) => void;
}

/** Says what became of a request, when it is not answered by a registry. */
type Refuse = (status: string, words: string) => void;

const MOST_HOPS = 5;
const MOST_SENT = 4 * 1024 * 1024;
/** Headers of a request that is passed on: npm compresses what it asks an audit for. */
const SENT = ['accept', 'content-type', 'content-encoding'];

/** What one task reads of registries through the cache, once it may. */
export class Registries {
  private readonly deps: RegistriesDeps;
  private readonly upstreams = new Map<string, Upstream>();

  constructor(deps: RegistriesDeps) {
    this.deps = deps;
  }

  /** Never rejects. */
  async answer(
    wanted: RegistryRequest,
    request: IncomingMessage,
    response: ServerResponse,
    refuse: Refuse,
  ): Promise<void> {
    const left = new AbortController();
    response.once('close', () => left.abort());
    const { method = '' } = request;
    try {
      if (method === 'GET' || method === 'HEAD') await this.read(wanted, method, request, response, left.signal);
      else if (method === 'POST') await this.send(wanted, request, response, left.signal);
      else refuse('405 Method Not Allowed', 'The cache of registries passes on GET, HEAD and POST.');
    } catch (error) {
      if (response.headersSent || response.destroyed) response.destroy();
      else if (error instanceof Refused) refuse(error.status, error.message);
      else if (isBlocked(error)) refuse('403 Address not public', egressWords.notPublic({ host: wanted.url.hostname }));
      else
        refuse(
          '502 Bad Gateway',
          `${wanted.url.host} cannot be reached (${(error as NodeJS.ErrnoException).code ?? 'unknown'}).`,
        );
    }
  }

  close(): void {
    for (const each of this.upstreams.values()) each.close();
  }

  private async read(
    wanted: RegistryRequest,
    method: 'GET' | 'HEAD',
    request: IncomingMessage,
    response: ServerResponse,
    signal: AbortSignal,
  ): Promise<void> {
    const { cache } = this.deps;
    const accept = request.headers.accept?.slice(0, 500);
    const { answer, at } = await this.followed(wanted, method, accept, signal);
    const type = (answer.header('content-type') ?? '').split(';')[0]!.trim().toLowerCase();
    const rewriter =
      method === 'GET' && answer.status === 200
        ? rewriterFor({ url: wanted.url, accept: accept ?? '', type })
        : undefined;
    if (!rewriter) return await relay(cache, answer, response);
    const text = rewriter.rewrite(
      await textOf(cache, answer, rewriter.largest),
      linksOf(cache.marks, wanted.by, wanted.url, at),
    );
    response.writeHead(answer.status, headersOf(answer, Buffer.byteLength(text))).end(text);
  }

  /** Redirects are followed here, because each of them is looked at. */
  private async followed(
    { by, url }: RegistryRequest,
    method: 'GET' | 'HEAD',
    accept: string | undefined,
    signal: AbortSignal,
  ) {
    const connections = this.upstreamOf(by);
    for (let at = url, hops = 0; ; hops += 1) {
      this.check(by, at, connections);
      const answer: Answer = await this.deps.cache.get({ url: at, method, accept, upstream: connections, signal });
      const location = [301, 302, 303, 307, 308].includes(answer.status) ? answer.header('location') : null;
      if (location === null) return { answer, at };
      answer.body?.resume();
      const next = URL.parse(location, at.href);
      if (!next || hops >= MOST_HOPS)
        throw new Refused('502 Bad Gateway', `${url.host} redirects in a way that is not followed.`);
      at = next;
    }
  }

  private async send(
    { by, url }: RegistryRequest,
    request: IncomingMessage,
    response: ServerResponse,
    signal: AbortSignal,
  ): Promise<void> {
    const connections = this.upstreamOf(by);
    this.check(by, url, connections);
    const body = await bodyOf(request);
    const headers = Object.fromEntries(
      SENT.flatMap((name) => (typeof request.headers[name] === 'string' ? [[name, request.headers[name]]] : [])),
    );
    const answer = await this.deps.cache.send(
      { url, method: 'GET', accept: undefined, upstream: connections, signal },
      { method: 'POST', headers, body },
    );
    await relay(this.deps.cache, answer, response);
  }

  /** What a registry names leads to public hosts by TLS alone, or from one server of the owner to another. */
  private check(by: Origin, at: URL, connections: Upstream): void {
    const origin = originOf(at);
    if (!origin) throw new Refused('403 Only https', `${at.host} is no address of a registry.`);
    const target = targetOf(origin);
    const isOwn = labelsOf(origin) === labelsOf(by);
    if (!connections.mayReach(at) || (this.deps.isMirror(target) && !isOwn && !this.deps.isMirror(targetOf(by))))
      throw new Refused('403 Address not public', egressWords.notPublic({ host: at.hostname }));
    if (origin.scheme === 'http' && !this.deps.isPlain(target))
      throw new Refused('403 Only https', `${at.host} is named without https, which is not passed on.`);
  }

  private upstreamOf(by: Origin): Upstream {
    const key = labelsOf(by);
    const { cache, opened, ...deps } = this.deps;
    const known =
      this.upstreams.get(key) ??
      upstream({
        ...deps,
        opened: (socket, at) => opened(socket, at, targetOf(by)),
        failed: (at) => cache.noteAway(at),
      });
    this.upstreams.set(key, known);
    return known;
  }
}

class Refused extends Error {
  readonly status: string;

  constructor(status: string, words: string) {
    super(words);
    this.status = status;
  }
}

const tooLarge = (): Refused => new Refused('413 Content Too Large', 'A request to a registry may have 4 MB.');

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  if (Number(request.headers['content-length'] ?? 0) > MOST_SENT) throw tooLarge();
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > MOST_SENT) throw tooLarge();
    parts.push(part);
  }
  return Buffer.concat(parts);
}
