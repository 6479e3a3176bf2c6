import Router from '@koa/router';
import Koa from 'koa';
import { messagesSince, ping } from '../store/health.ts';
import type { ApiDeps } from './deps.ts';
import { sendJson } from './reply.ts';

const NOT_PAIRED = 'WhatsApp is not paired yet; the terminal and HTTP channels work without it.';
const DATABASE_AWAY = 'The database does not answer.';

/** The status API: `/api/status` and `/api/health`, both without a token and without anything private. No CORS: pages elsewhere get nothing. */
export function createStatusApi(deps: Pick<ApiDeps, 'store' | 'version' | 'startedAt' | 'log'>): Koa {
  const app = new Koa();
  const router = new Router({ strict: true, sensitive: true });
  app.silent = true;
  app.on('error', (error: Error) => deps.log?.error({ err: error }, 'response failed'));

  router.get('/api/status', async (ctx) => {
    const messageCount = await messagesSince(deps.store.db, deps.startedAt).catch(() => null);
    sendJson(ctx, 200, {
      state: messageCount === null ? 'error' : 'disconnected',
      qrCode: null,
      qrUrl: null,
      uptime: Math.floor((Date.now() - deps.startedAt.getTime()) / 1000),
      messageCount: messageCount ?? 0,
      lastError: messageCount === null ? DATABASE_AWAY : NOT_PAIRED,
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
      responseFormattingMetrics: { normalizedCount: 0, chunkedCount: 0, fallbackSplitCount: 0 },
    });
  });
  router.get('/api/health', async (ctx) => {
    const healthy = await ping(deps.store.db);
    sendJson(ctx, healthy ? 200 : 503, { healthy });
  });

  app.use(async (ctx, next) => {
    const matched = router.match(ctx.path, ctx.method);
    if (matched.path.length === 0) return sendJson(ctx, 404, { error: 'Not found' });
    if (!matched.route) {
      ctx.set('Allow', 'GET,HEAD');
      return sendJson(ctx, 405, { error: 'Method not allowed' });
    }
    await next();
  });
  app.use(router.routes());
  return app;
}
