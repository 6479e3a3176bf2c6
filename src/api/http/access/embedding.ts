import type { Context } from 'koa';

/**
 * Keeps answers out of pages of other origins. A browser sends the session cookie for a frame, a picture or a script
 * that another port of this host asks for. Requests of the CORS list are not meant: they are made in another mode.
 */
export function forbidEmbedding(ctx: Context): void {
  ctx.set({
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    'Content-Security-Policy': "frame-ancestors 'none'",
    'Cross-Origin-Resource-Policy': 'same-origin',
  });
}
