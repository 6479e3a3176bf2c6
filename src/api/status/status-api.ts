import { randomUUID } from 'node:crypto';
import Koa, { type Context } from 'koa';
import { EdgeError } from '../errors/errors.ts';
import { INTERNAL } from '../errors/texts.ts';
import { requireKnownHost } from '../http/host.ts';
import { withDocument } from '../http/openapi.ts';
import { sendJson } from '../http/reply.ts';
import { routerOf } from '../http/router.ts';
import { isAdmin } from './admin.ts';
import type { StatusDeps } from './endpoint.ts';
import { statusPort } from './port.ts';
import { getHealth, getStatus } from './status.ts';
import { getQr, getWhatsApp, postLogout, postRestart, postStart, postStop } from './whatsapp.ts';

export const statusEndpoints = withDocument<StatusDeps>(statusPort, [getStatus, getHealth, getWhatsApp, getQr, postStart, postRestart, postStop, postLogout]);
const OPEN: ReadonlySet<string> = new Set(statusEndpoints.filter(({ open }) => open).map(({ path }) => path));

/** The status API. It has no CORS, so pages of other origins get nothing. The order of refusals: 404, then 405, then 401, then the endpoint's own. */
export function createStatusApi(given: Omit<StatusDeps, 'adminToken'> & { adminToken?: string }): Koa {
  const deps = { ...given, adminToken: given.adminToken ?? randomUUID() };
  const app = new Koa();
  const router = routerOf(statusEndpoints, deps);
  app.silent = true;
  app.on('error', (error: Error) => deps.log?.error({ err: error }, 'response failed'));
  app.use(requireKnownHost(deps.config));
  app.use(async (ctx, next) => {
    const matched = router.match(ctx.path, ctx.method);
    if (matched.path.length === 0) return sendJson(ctx, 404, { error: 'Not found' });
    if (!matched.route) {
      ctx.set('Allow', [...new Set(matched.path.flatMap(({ methods }) => methods))].sort().join(','));
      return sendJson(ctx, 405, { error: 'Method not allowed' });
    }
    if (!OPEN.has(ctx.path) && !isAdmin(ctx, deps.adminToken)) {
      ctx.set('WWW-Authenticate', 'Bearer');
      return refuse(ctx, 401, 'Unauthorized');
    }
    try {
      await next();
    } catch (error) {
      if (error instanceof EdgeError) return refuse(ctx, error.status, error.message);
      deps.log?.error({ err: error }, 'request failed');
      refuse(ctx, 500, INTERNAL);
    }
  });
  app.use(router.routes());
  return app;
}

const refuse = (ctx: Context, status: number, message: string): void => sendJson(ctx, status, { success: false, message, error: message });
