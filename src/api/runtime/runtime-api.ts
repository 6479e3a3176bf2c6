import Router from '@koa/router';
import Koa, { type Context, type Next } from 'koa';
import { IntakeError } from '../../intake/intake.ts';
import { NoThread } from '../../store/chats/events.ts';
import { KeyReused } from '../../store/chats/request-keys.ts';
import { isDiskFull } from '../../store/postgres/disk.ts';
import { isDatabaseAway } from '../../store/postgres/health.ts';
import type { ApiDeps } from '../deps.ts';
import { isAuthorised } from '../http/auth.ts';
import { originList, setCors } from '../http/cors.ts';
import { requireKnownHost } from '../http/host.ts';
import { decodeSegment } from '../http/path.ts';
import { ApiError, EdgeError, sendEmpty, sendError, sendJson, sendText } from '../http/reply.ts';
import { postApproval, postUserInput } from './answers.ts';
import { streamEvents } from './events.ts';
import { getConsole, getThreadDetail, getThreads, postThread } from './threads.ts';
import { postInterrupt, postMessage, postSteer, postTurn } from './turns.ts';
import { Wakeups } from './wakeups.ts';

const PUBLIC = new Set(['/health', '/v1/runtime/info']);
const STATUS = { not_found: 404, conflict: 409, invalid: 400, reused: 422 } as const;

/** The runtime API: `/health` and `/v1`. The order of refusals is part of the contract: 404, then 401, then 405, then the route's own. */
export function createRuntimeApi(deps: ApiDeps): Koa {
  const app = new Koa();
  const router = routes(deps);
  const allowedOrigin = originList(deps.config.DEEPSEEK_CORS_ORIGINS);
  app.silent = true;
  app.on('error', (error: NodeJS.ErrnoException) => {
    // a client that leaves in the middle of a stream is no error of ours
    if (!['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'].includes(error.code ?? '')) deps.log?.error({ err: error }, 'response failed');
  });
  app.use(requireKnownHost(deps.config));
  app.use(async (ctx, next) => {
    setCors(ctx, allowedOrigin);
    const matched = router.match(ctx.path, ctx.method);
    const known = matched.path.length > 0;
    if (known && !matched.route) ctx.set('Allow', [...new Set(matched.path.flatMap((layer) => layer.methods))].sort(byCustom).join(','));
    if (ctx.method === 'OPTIONS') return sendEmpty(ctx, 200);
    if (!known) return sendEmpty(ctx, 404);
    if (!PUBLIC.has(ctx.path) && !isAuthorised(ctx.req, deps.token, allowedOrigin)) return sendError(ctx, 401, 'runtime API bearer token required');
    if (!matched.route) return sendEmpty(ctx, 405);
    await answering(ctx, next, deps);
  });
  app.use(router.routes());
  return app;
}

function routes(deps: ApiDeps): Router {
  const router = new Router({ strict: true, sensitive: true });
  const wakeups = new Wakeups(deps.store);
  deps.stopping?.addEventListener('abort', () => void wakeups.stop());

  router.get('/health', (ctx) => sendJson(ctx, 200, { status: 'ok', service: 'deepseek-runtime-api', mode: 'local' }));
  router.get('/v1/runtime/info', (ctx) => sendJson(ctx, 200, runtimeInfo(ctx, deps)));
  router.get('/v1/threads', (ctx) => getThreads(ctx, deps));
  router.post('/v1/threads', (ctx) => postThread(ctx, deps));
  router.get('/v1/threads/:id', (ctx) => getThreadDetail(ctx, segment(ctx, 0), deps));
  router.post('/v1/threads/:id/turns', (ctx) => postTurn(ctx, segment(ctx, 0), deps));
  router.post('/v1/threads/:id/turns/:turn_id/steer', (ctx) => postSteer(ctx, segment(ctx, 0), segment(ctx, 1, 'turn_id'), deps));
  router.post('/v1/threads/:id/turns/:turn_id/interrupt', (ctx) => postInterrupt(ctx, segment(ctx, 0), segment(ctx, 1, 'turn_id'), deps));
  router.post('/v1/threads/:id/messages', (ctx) => postMessage(ctx, segment(ctx, 0), deps));
  router.get('/v1/threads/:id/events', (ctx) => streamEvents(ctx, segment(ctx, 0), deps, wakeups));
  router.post('/v1/approvals/:approval_id', (ctx) => postApproval(ctx, segment(ctx, 0, 'approval_id'), deps));
  router.post('/v1/user-input/:thread_id/:input_id', (ctx) => postUserInput(ctx, segment(ctx, 0, 'thread_id'), segment(ctx, 1, 'input_id'), deps));
  router.get('/v1/console', (ctx) => getConsole(ctx, deps));
  return router;
}

/** The router's own decoding cannot tell a broken escape from bytes that are not UTF-8: take what it matched, still encoded. */
const segment = (ctx: Context, index: number, name = 'id'): string => decodeSegment((ctx.captures as string[])[index] ?? '', name);

function runtimeInfo(ctx: Context, deps: ApiDeps): Record<string, unknown> {
  return {
    bind_host: deps.config.FETCH_HOST,
    port: ctx.req.socket.localPort ?? deps.config.FETCH_RUNTIME_PORT,
    auth_required: true,
    version: deps.version,
    runtime_api_version: '1.0',
    transports: ['http', 'sse'],
    capabilities: { threads: true, turns: true, turn_steer: true, turn_interrupt: true, event_replay: true },
  };
}

async function answering(ctx: Context, next: Next, deps: ApiDeps): Promise<void> {
  try {
    await next();
  } catch (error) {
    if (error instanceof EdgeError) return sendText(ctx, error.status, error.message);
    if (error instanceof ApiError) return sendError(ctx, error.status, error.message);
    if (error instanceof IntakeError) return sendError(ctx, STATUS[error.code], error.message);
    if (error instanceof NoThread) return sendError(ctx, 404, error.message);
    if (error instanceof KeyReused) return sendError(ctx, 422, error.message);
    deps.log?.error({ err: error, method: ctx.method, route: ctx._matchedRoute }, 'request failed');
    if (isDatabaseAway(error)) {
      ctx.set('Retry-After', '1');
      return sendError(ctx, 503, 'The database does not answer. Try again, with the same Idempotency-Key if there was one.');
    }
    if (isDiskFull(error)) {
      ctx.set('Retry-After', '10');
      return sendError(
        ctx,
        503,
        'The disk of the database is full, so this was not taken. Make room and try again, with the same Idempotency-Key if there was one.',
      );
    }
    sendError(ctx, 500, 'Something went wrong inside; the log says what.');
  }
}

const METHODS = ['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE'];
const byCustom = (a: string, b: string): number => METHODS.indexOf(a) - METHODS.indexOf(b);
