import type { Context } from 'koa';

/** Where browser clients of this API are developed. Configured origins are added; none is a wildcard. */
const BUILT_IN = [
  'http://localhost:3000',
  'http://127.0.0.1:3000',
  'http://localhost:1420',
  'http://127.0.0.1:1420',
  'tauri://localhost',
];

/**
 * `configured` is a comma separated list. An entry that is no origin is skipped, because it must not stop the server.
 */
export function originList(configured: string): (origin: string) => boolean {
  const extra = configured
    .split(',')
    .map((origin) => origin.trim())
    .filter((origin) => /^[a-z][a-z0-9+.-]*:\/\/[^\s/*]+$/i.test(origin));
  const allowed = new Set([...BUILT_IN, ...extra]);
  return (origin) => allowed.has(origin);
}

/** Headers are listed one by one, because browsers do not let `*` cover `Authorization`. */
const PREFLIGHT = {
  'Access-Control-Allow-Methods': 'GET,POST,PATCH,DELETE,OPTIONS',
  'Access-Control-Allow-Headers':
    'authorization,content-type,accept,x-codewhale-runtime-token,x-deepseek-runtime-token,idempotency-key,last-event-id,mcp-session-id,mcp-protocol-version',
};

/** Set on every response, so that caches keep answers for different origins apart. */
export function setCors(ctx: Context, allowed: (origin: string) => boolean): void {
  ctx.set('Vary', 'origin, access-control-request-method, access-control-request-headers');
  const origin = ctx.get('origin');
  if (origin && allowed(origin))
    ctx.set({ 'Access-Control-Allow-Origin': origin, 'Access-Control-Expose-Headers': 'mcp-session-id' });
  if (ctx.method === 'OPTIONS') ctx.set(PREFLIGHT);
}

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
