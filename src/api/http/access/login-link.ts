import type { Context } from 'koa';
import { queryToken } from './auth.ts';
import { sameSecret } from './secrets.ts';
import { setSessionCookie } from './session-cookie.ts';

/**
 * Takes the token out of the link to a page: `GET /?token=…` sets the cookie and leads to `/`. False where the request
 * has no right token in its query; nothing is written then.
 *
 * The answer is a page that leads on, not a redirect. A redirect belongs to the page on which the link was clicked, and
 * if that is a page of others, browsers leave a strict cookie out of the request that follows.
 */
export function takesLoginLink(ctx: Context, token: string): boolean {
  const shown = ctx.method === 'GET' ? queryToken(ctx.req.url ?? '') : undefined;
  if (shown === undefined || !sameSecret(shown, token)) return false;
  setSessionCookie(ctx, token);
  ctx.status = 200;
  // the path is one that was routed to the caller, so it holds nothing foreign
  ctx.set({ Refresh: `0; url=${ctx.path}`, 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' });
  ctx.type = 'html';
  ctx.body = '<!doctype html><meta charset="utf-8"><title>Fetch</title><p>Logging in …</p>\n';
  return true;
}
