import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { limitedAt } from '../../../../store/turns/limits.ts';
import { createSlots } from '../slots.ts';
import { explainFailure, type Refusal, refuse, TooLarge } from './errors.ts';
import { ModelCall, type ModelCallDeps } from './model-call.ts';
import { type Protocol, protocolOf, routeOf, type Wire } from './routes.ts';
import type { UpstreamOrWhy } from './upstreams.ts';

interface ModelProxyDeps extends ModelCallDeps {
  upstreams: () => Record<Protocol, UpstreamOrWhy>;
}

/**
 * Most calls of one task at once; more wait. It also limits how far a budget can be overdrawn, because running calls
 * are not cut.
 */
const MAX_CALLS = 8;
/** Most connections of one task; sub-agents and their keep-alives need far fewer. */
const MAX_CONNECTIONS = 128;

const NOT_SERVED =
  'This is not a call that coding agents need, so it is not passed on. Served are /anthropic/v1/messages, /openai/v1/chat/completions, /openai/v1/responses, /gemini/v1beta/models/<model>:generateContent, and what lists models and counts tokens.';

const TIMEOUTS = {
  requestTimeout: 300_000,
  headersTimeout: 60_000,
  keepAliveTimeout: 60_000,
  maxHeaderSize: 64 * 1024,
};

/** Largest request in bytes; the providers' own limits are 20 to 32 MB. */
const MAX_REQUEST = 32 * 1024 * 1024;

type ReadBody = { bytes: Buffer | null; model: string | null } | { refusal: Refusal };

const said = (status: Refusal['status'], message: string): ReadBody => ({ refusal: { status, message } });

/**
 * Reads a whole request: it is small compared with its answer, and must be countable before it is sent. Throws
 * TooLarge.
 */
async function readBody(request: IncomingMessage, wire: Wire | null): Promise<ReadBody> {
  if (request.method === 'GET') return { bytes: null, model: null };
  if ((request.headers['content-encoding'] ?? 'identity') !== 'identity')
    return said(415, 'Compressed requests are not passed on. Send it uncompressed.');
  const chunks: Buffer[] = [];
  let size = 0;
  const tooLarge = new TooLarge(`The request is larger than ${MAX_REQUEST / 1024 / 1024} MB.`);
  if (Number(request.headers['content-length'] ?? 0) > MAX_REQUEST) throw tooLarge;
  for await (const chunk of request) {
    size += (chunk as Buffer).length;
    if (size > MAX_REQUEST) throw tooLarge;
    chunks.push(chunk as Buffer);
  }
  return countable(Buffer.concat(chunks), wire);
}

/** Makes sure that the answer will report its usage. */
function countable(bytes: Buffer, wire: Wire | null): ReadBody {
  if (!wire) return { bytes, model: null };
  let body: Record<string, unknown>;
  try {
    body = JSON.parse(bytes.toString());
  } catch {
    return said(400, 'The request is not JSON.');
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    return said(400, 'The request is not a JSON object.');
  const model = typeof body.model === 'string' ? body.model : null;
  // its answer comes later, through another call, and nobody would count it
  if (wire === 'responses' && body.background === true)
    return said(400, 'Background responses are not passed on. Leave `background` out.');
  if (wire === 'chat' && body.stream === true) {
    const options = typeof body.stream_options === 'object' && body.stream_options !== null ? body.stream_options : {};
    if ((options as Record<string, unknown>).include_usage !== true) {
      return {
        bytes: Buffer.from(JSON.stringify({ ...body, stream_options: { ...options, include_usage: true } })),
        model,
      };
    }
  }
  return { bytes, model };
}

/** The HTTP server behind one task's model socket. */
export class ModelProxy {
  readonly server: Server;
  private readonly deps: ModelProxyDeps;
  private readonly running = new Set<Promise<void>>();
  private readonly slots = createSlots(MAX_CALLS);
  private closing = false;

  constructor(deps: ModelProxyDeps) {
    this.deps = deps;
    this.server = createServer(TIMEOUTS, (request, response) => {
      const call = this.answer(request, response);
      this.running.add(call);
      void call.finally(() => this.running.delete(call));
    });
    this.server.maxConnections = MAX_CONNECTIONS;
  }

  /** Resolves when no call is running and all calls are counted. */
  async idle(): Promise<void> {
    while (this.running.size) await Promise.allSettled(this.running);
  }

  /** Accepts no more calls; the agent repeats them, and the next process answers. */
  close(): void {
    this.closing = true;
    this.server.close();
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { deps } = this;
    const protocol = protocolOf(request.url ?? '');
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    response.on('error', () => {});
    let release: (() => void) | undefined;
    try {
      // a kept-alive connection outlives the socket that it came through
      if (this.closing)
        return refuse(response, protocol, { status: 503, message: 'This host is being restarted. Ask again.' });
      const route = routeOf(request.method, request.url ?? '');
      if (!route) return refuse(response, protocol, { status: 404, message: NOT_SERVED });
      const to = deps.upstreams()[route.protocol];
      if ('why' in to) return refuse(response, protocol, { status: 503, message: to.why });
      release = await this.slots.take(gone.signal);
      const refusal = await deps.ledger.check(gone.signal);
      if (refusal) return refuse(response, protocol, refusal);
      const body = await readBody(request, route.wire);
      if ('refusal' in body) return refuse(response, protocol, body.refusal);
      const limited = limitedAt(to.upstream.account, route.model ?? body.model ?? '');
      const atLimit = route.wire && (await deps.limits.check(limited, gone.signal));
      if (atLimit) return refuse(response, protocol, atLimit);
      await new ModelCall(deps, { route, upstream: to.upstream, body, limited, signal: gone.signal }).run(
        request,
        response,
      );
    } catch (error) {
      if (gone.signal.aborted) return;
      refuse(response, protocol, explainFailure(error, deps));
    } finally {
      release?.();
    }
  }
}
