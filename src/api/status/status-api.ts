import { randomUUID } from 'node:crypto';
import Koa, { type Context, type Next } from 'koa';
import { z } from 'zod';
import { ConfigError } from '../../config.ts';
import { appendAudit } from '../../store/home/audit-log.ts';
import { ApiError, EdgeError } from '../errors/errors.ts';
import { failureOf, refusalOf } from '../errors/runtime-errors.ts';
import { requireKnownHost } from '../http/access/host.ts';
import { type Port, withDocument } from '../http/openapi.ts';
import { sendJson } from '../http/reply.ts';
import { routerOf, routesAt } from '../http/router.ts';
import { adminProblem } from './admin.ts';
import { servesCodec } from './codec.ts';
import { servesDocs } from './docs/pages.ts';
import { endpoint, type StatusDeps } from './endpoint.ts';
import { clearSession, deleteSession, getSession, getSessions } from './sessions.ts';
import { getHealth, getStatus } from './status.ts';
import { getQr, getWhatsApp, postLogout, postRestart, postStart, postStop } from './whatsapp.ts';

const names = z.array(z.string());
const reloaded = z
  .object({
    success: z.literal(true),
    updatedKeys: names.describe('Settings that have another value from now on'),
    restartKeys: names.describe('Settings that were changed, and have another value from the next start on'),
    message: z.string(),
  })
  .meta({ id: 'Reloaded' });

const postReload = endpoint({
  method: 'POST',
  path: '/api/config/reload',
  summary: 'Apply what was changed in FETCH_HOME/.env, all of it or nothing',
  answer: { schema: reloaded, what: 'What was changed here. Other processes of the instance follow within a second.' },
  refusals: { 400: 'A setting is wrong, and nothing was changed; the message names each.' },
  handle: async (_, { reload, store }) => {
    try {
      const { updated, restart } = reload();
      if (updated.length + restart.length > 0)
        await appendAudit(store.db, 'settings changed', { role: 'client' }, { names: [...updated, ...restart] });
      const later =
        restart.length > 0 ? `; ${restart.join(', ')} ${restart.length === 1 ? 'needs' : 'need'} a restart` : '';
      return {
        success: true as const,
        updatedKeys: updated,
        restartKeys: restart,
        message: `${updated.length} key(s) updated${later}`,
      };
    } catch (error) {
      throw error instanceof ConfigError ? new ApiError(400, error.message) : error;
    }
  },
});

/** The description of the status API in its OpenAPI document. */
export const statusPort: Port = {
  title: 'Fetch status API',
  description: 'State and health need no token; sessions, settings and what acts on WhatsApp need the admin token.',
  security: {
    bearer: { type: 'http', scheme: 'bearer', description: 'The admin token' },
    query: { type: 'apiKey', in: 'query', name: 'token', description: 'For an <img>' },
  },
  refusal: z
    .object({ success: z.literal(false), message: z.string(), error: z.string() })
    .meta({ id: 'StatusRefusal' }),
  wrongToken: 403,
  // open like state and health, because it holds nothing private
  open: true,
};

export const statusEndpoints = withDocument<StatusDeps>(statusPort, [
  getStatus,
  getHealth,
  getWhatsApp,
  getQr,
  postStart,
  postRestart,
  postStop,
  postLogout,
  getSessions,
  getSession,
  deleteSession,
  clearSession,
  postReload,
]);
const OPEN: ReadonlySet<string> = new Set(statusEndpoints.filter(({ open }) => open).map(({ path }) => path));
const SESSION = '/api/sessions/';

/**
 * The status API. It has no CORS except for its codec server, so pages of other origins get nothing. The order of
 * refusals: 404, then 405, then 401 or 403, then the endpoint's own.
 */
export function createStatusApi(given: Omit<StatusDeps, 'adminToken'> & { adminToken?: string }): Koa {
  const deps = { ...given, adminToken: given.adminToken ?? randomUUID() };
  const app = new Koa();
  const router = routerOf(statusEndpoints, deps);
  app.silent = true;
  app.on('error', (error: Error) => deps.log?.error({ err: error }, 'response failed'));
  app.use(requireKnownHost(deps.config));
  app.use(async (ctx, next) => {
    if ((await servesDocs(ctx)) || (await servesCodec(ctx, deps))) return;
    const { known, served, methods } = routesAt(router, ctx.path, ctx.method);
    if (!known && !ctx.path.startsWith(SESSION)) return sendJson(ctx, 404, { error: 'Not found' });
    if (known && !served) {
      ctx.set('Allow', methods.sort().join(','));
      return sendJson(ctx, 405, { error: 'Method not allowed' });
    }
    if (!OPEN.has(ctx.path)) {
      const problem = adminProblem(ctx, deps.adminToken);
      if (problem === 401) ctx.set('WWW-Authenticate', 'Bearer');
      if (problem) return refuse(ctx, problem, problem === 401 ? 'Unauthorized' : 'Forbidden');
    }
    // a path below that of the sessions is taken for a wrong id
    if (!known) return refuse(ctx, 400, ctx.path === SESSION ? 'Missing session ID' : 'Invalid session ID');
    await answering(ctx, next, deps);
  });
  app.use(router.routes());
  return app;
}

async function answering(ctx: Context, next: Next, { log }: StatusDeps): Promise<void> {
  try {
    await next();
  } catch (error) {
    const refusal = error instanceof EdgeError ? error : refusalOf(error);
    if (refusal) return refuse(ctx, refusal.status, refusal.message);
    log?.error({ err: error, method: ctx.method, route: ctx._matchedRoute }, 'request failed');
    const failure = failureOf(error);
    if (failure.retryAfter) ctx.set('Retry-After', String(failure.retryAfter));
    refuse(ctx, failure.error.status, failure.error.message);
  }
}

const refuse = (ctx: Context, status: number, message: string): void =>
  sendJson(ctx, status, { success: false, message, error: message });
