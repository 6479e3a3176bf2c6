import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import type { Logger } from 'pino';
import { type Dispatcher, errors, request as send } from 'undici';
import { type Refusal, refuse } from './errors.ts';
import { answeredHeaders, sentHeaders } from './headers.ts';
import type { Ledger } from './ledger.ts';
import { createMeter, type Meter } from './meter.ts';
import { createRedact } from './redact.ts';
import { readBody, TooLarge } from './request-body.ts';
import { type Protocol, protocolOf, type Route, routeOf } from './routes.ts';
import { createSlots } from './slots.ts';
import type { Upstream, UpstreamOrWhy } from './upstreams.ts';

export interface ModelProxyDeps {
  upstreams: Record<Protocol, UpstreamOrWhy>;
  ledger: Ledger;
  dispatcher: Dispatcher;
  /** until the first byte of an answer, and between two pieces of it, ms */
  headersMs: number;
  idleMs: number;
  log: Logger;
}

/** Calls of one task that run at once; more wait. It also bounds by how much a budget can be overdrawn: calls that run are not cut. */
const MAX_CALLS = 8;
/** Connections of one task; sub-agents and their keep-alives stay far below. */
const MAX_CONNECTIONS = 128;

const NOT_SERVED =
  'This is not a call that coding agents need, so it is not passed on. Served are /anthropic/v1/messages, /openai/v1/chat/completions, /openai/v1/responses, /gemini/v1beta/models/<model>:generateContent, and what lists models and counts tokens.';

export interface ModelProxy {
  server: Server;
  /** resolves when no call runs any more and all of them are counted */
  idle(): Promise<void>;
  /** takes no more calls; an agent asks again, and the next process answers */
  close(): void;
}

/** The HTTP server behind one task's model socket. */
export function createModelProxy(deps: ModelProxyDeps): ModelProxy {
  const running = new Set<Promise<void>>();
  const slots = createSlots(MAX_CALLS);
  let closing = false;
  const server = createServer({ requestTimeout: 300_000, headersTimeout: 60_000, keepAliveTimeout: 60_000, maxHeaderSize: 64 * 1024 }, (request, response) => {
    const call = answer(request, response);
    running.add(call);
    void call.finally(() => running.delete(call));
  });
  server.maxConnections = MAX_CONNECTIONS;
  return {
    server,
    async idle() {
      while (running.size) await Promise.allSettled(running);
    },
    close() {
      closing = true;
      server.close();
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const protocol = protocolOf(request.url ?? '');
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    response.on('error', () => {});
    let release: (() => void) | undefined;
    try {
      // a connection that is kept alive outlives the socket that it came through
      if (closing) return refuse(response, protocol, { status: 503, message: 'This host is being restarted. Ask again.' });
      const route = routeOf(request.method, request.url ?? '');
      if (!route) return refuse(response, protocol, { status: 404, message: NOT_SERVED });
      const to = deps.upstreams[route.protocol];
      if ('why' in to) return refuse(response, protocol, { status: 503, message: to.why });
      release = await slots.take(gone.signal);
      const refusal = await deps.ledger.check(gone.signal);
      if (refusal) return refuse(response, protocol, refusal);
      const body = await readBody(request, route.wire);
      if ('refusal' in body) return refuse(response, protocol, body.refusal);
      await call(request, response, route, to.upstream, body, gone.signal);
    } catch (error) {
      if (gone.signal.aborted) return;
      refuse(response, protocol, explained(error, deps));
    } finally {
      release?.();
    }
  }

  async function call(
    request: IncomingMessage,
    response: ServerResponse,
    route: Route,
    upstream: Upstream,
    body: { bytes: Buffer | null; model: string | null },
    signal: AbortSignal,
  ): Promise<void> {
    const model = route.model ?? body.model ?? 'unknown';
    const requestBytes = body.bytes?.byteLength ?? 0;
    const startedAt = Date.now();
    let meter: Meter | null = null;
    const meterOf = (contentType: string | null): Meter | null =>
      route.wire && createMeter({ wire: route.wire, contentType, model, requestBytes, prices: upstream.prices });
    try {
      const answer = await send(`${upstream.origin}${upstream.base}${route.path}`, {
        method: request.method as 'GET' | 'POST',
        headers: sentHeaders(request.headers, upstream.credential),
        body: body.bytes,
        signal,
        dispatcher: deps.dispatcher,
        headersTimeout: deps.headersMs,
        bodyTimeout: deps.idleMs,
      }).catch((error: unknown) => {
        // the model may have been at work all the while: what was asked is counted, or hanging up early would be free
        if (!neverArrived(error)) meter = meterOf(null);
        throw error;
      });
      const status = answer.statusCode;
      if (status >= 300 && status < 400) {
        await answer.body.dump();
        return refuse(response, route.protocol, {
          status: 502,
          message: 'The model endpoint redirects elsewhere, which is not followed. Correct its base URL in the settings.',
        });
      }
      // an error is not charged
      if (status < 300) meter = meterOf(String(answer.headers['content-type'] ?? ''));
      const redact = createRedact(upstream.secrets);
      const headers = answeredHeaders(answer.headers, redact);
      const decoder = decoderOf(headers);
      response.writeHead(status, headers);
      response.flushHeaders();
      const counted = meter;
      const pass = async function* (source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
        for await (const chunk of source) {
          counted?.feed(chunk);
          const certain = redact.chunk(chunk);
          if (certain.length) yield certain;
        }
        const rest = redact.end();
        if (rest.length) yield rest;
      };
      if (decoder) await pipeline(answer.body, decoder, pass, response);
      else await pipeline(answer.body, pass, response);
    } finally {
      // the closure above assigns it, which the compiler does not see
      const usage = (meter as Meter | null)?.finish();
      if (usage) {
        deps.ledger.add(usage);
        deps.log.debug({ protocol: route.protocol, ms: Date.now() - startedAt, ...usage }, 'model call');
      }
    }
  }
}

/** Asked for none, but some servers in between compress all the same; the usage could not be read. Changes the headers to what is passed on. */
function decoderOf(headers: Record<string, string | string[]>): Transform | null {
  const encoding = String(headers['content-encoding'] ?? 'identity')
    .trim()
    .toLowerCase();
  if (encoding === 'identity') return null;
  const make = { gzip: createGunzip, 'x-gzip': createGunzip, deflate: createInflate, br: createBrotliDecompress, zstd: createZstdDecompress }[encoding];
  if (!make) throw new Error('The answer of the model endpoint is compressed in a way that is not known.');
  delete headers['content-encoding'];
  delete headers['content-length'];
  return make();
}

const codeOf = (error: unknown): string => String((error as NodeJS.ErrnoException | undefined)?.code ?? '');
const NO_CONNECTION = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT', 'CERT_HAS_EXPIRED']);
const neverArrived = (error: unknown): boolean => NO_CONNECTION.has(codeOf(error)) || codeOf(error).startsWith('ERR_TLS');

/** Texts of our own only: an error's may hold an address or worse. */
function explained(error: unknown, deps: Pick<ModelProxyDeps, 'headersMs' | 'log'>): Refusal {
  if (error instanceof TooLarge) return { status: 413, message: error.message };
  if (error instanceof errors.HeadersTimeoutError) {
    return { status: 504, message: `The model endpoint did not answer within ${Math.round(deps.headersMs / 1000)} seconds.` };
  }
  deps.log.warn({ code: codeOf(error), name: (error as Error).name }, 'a model call failed');
  if (neverArrived(error)) return { status: 502, message: `The model endpoint cannot be reached (${codeOf(error)}).` };
  return { status: 502, message: `The connection to the model endpoint broke${codeOf(error) ? ` (${codeOf(error)})` : ''}.` };
}
