import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { limitedAt } from '../../../../store/turns/limits.ts';
import { createSlots } from '../slots.ts';
import { explainFailure, refuse } from './errors.ts';
import { ModelCall, type ModelCallDeps } from './model-call.ts';
import { readBody } from './request-body.ts';
import { type Protocol, protocolOf, routeOf } from './routes.ts';
import type { UpstreamOrWhy } from './upstreams.ts';

interface ModelProxyDeps extends ModelCallDeps {
  upstreams: Record<Protocol, UpstreamOrWhy>;
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
      const to = deps.upstreams[route.protocol];
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
