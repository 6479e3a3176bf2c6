import { randomUUID } from 'node:crypto';
import Router from '@koa/router';
import Koa from 'koa';
import { messagesSince, ping } from '../../store/postgres/health.ts';
import type { ApiDeps } from '../deps.ts';
import { requireKnownHost } from '../http/host.ts';
import { EdgeError, sendJson } from '../http/reply.ts';
import { statusOf, whatsappRoutes } from './whatsapp-api.ts';

const AWAY = {
  state: 'error',
  qrCode: null,
  qrUrl: null,
  lastError: 'The database does not answer.',
  responseFormattingMetrics: { normalizedCount: 0, chunkedCount: 0, fallbackSplitCount: 0 },
};

/**
 * The status API: `/api/status` and `/api/health` need no token and tell nothing private, what acts on WhatsApp needs the admin
 * token. No CORS: pages elsewhere get nothing.
 */
export function createStatusApi(deps: Pick<ApiDeps, 'config' | 'store' | 'version' | 'startedAt' | 'log'> & { adminToken?: string }): Koa {
  const adminToken = deps.adminToken ?? randomUUID();
  const app = new Koa();
  const router = new Router({ strict: true, sensitive: true });
  app.silent = true;
  app.on('error', (error: Error) => deps.log?.error({ err: error }, 'response failed'));

  router.get('/api/status', async (ctx) => {
    const known = await Promise.all([messagesSince(deps.store.db, deps.startedAt), statusOf(ctx, deps.store.db, adminToken)]).catch(() => null);
    const [messageCount, whatsapp] = known ?? [0, AWAY];
    sendJson(ctx, 200, {
      state: whatsapp.state,
      qrCode: whatsapp.qrCode,
      qrUrl: whatsapp.qrUrl,
      uptime: Math.floor((Date.now() - deps.startedAt.getTime()) / 1000),
      messageCount,
      lastError: whatsapp.lastError,
      version: deps.version,
      notificationMetrics: {
        total: 0,
        templateEphemeral: 0,
        llmRewriteSuccess: 0,
        templateFallback: 0,
        rewriteAttempts: 0,
        rewriteDisabled: 0,
        rewriteTimeouts: 0,
        rewriteErrors: 0,
        sanitizeRejects: 0,
        duplicateSuppressions: 0,
      },
      responseFormattingMetrics: whatsapp.responseFormattingMetrics,
    });
  });
  router.get('/api/health', async (ctx) => {
    const healthy = await ping(deps.store.db);
    sendJson(ctx, healthy ? 200 : 503, { healthy });
  });
  whatsappRoutes(router, { db: deps.store.db, adminToken });

  app.use(requireKnownHost(deps.config));
  app.use(async (ctx, next) => {
    const matched = router.match(ctx.path, ctx.method);
    if (matched.path.length === 0) return sendJson(ctx, 404, { error: 'Not found' });
    if (!matched.route) {
      ctx.set('Allow', [...new Set(matched.path.flatMap(({ methods }) => methods))].sort().join(','));
      return sendJson(ctx, 405, { error: 'Method not allowed' });
    }
    try {
      await next();
    } catch (error) {
      const { status, message } = error instanceof EdgeError ? error : { status: 500, message: 'Something went wrong inside; the log says what.' };
      if (status === 500) deps.log?.error({ err: error }, 'request failed');
      sendJson(ctx, status, { success: false, message, error: message });
    }
  });
  app.use(router.routes());
  return app;
}
