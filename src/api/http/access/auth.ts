import type { IncomingMessage } from 'node:http';
import type { Context, Middleware, Next } from 'koa';
import type { Config } from '../../../config.ts';
import { MOBILE_IS_OFF, TOKEN_REQUIRED } from '../../errors/errors.ts';
import { sendEmpty, sendError, sendText } from '../reply.ts';
import { originList } from './cors.ts';
import { cookieTokens, hasSession, sameSecret, setSessionCookie } from './session-cookie.ts';

/** A token that is configured is asked for in any case. */
export const asksForToken = ({
  FETCH_RUNTIME_INSECURE,
  runtimeToken,
}: Pick<Config, 'FETCH_RUNTIME_INSECURE' | 'runtimeToken'>): boolean =>
  !FETCH_RUNTIME_INSECURE || runtimeToken !== undefined;

/** Whether a request may use what is behind the token. */
export function authoriser({
  config,
  token,
}: {
  config: Config;
  token: string;
}): (request: IncomingMessage) => boolean {
  if (asksForToken(config)) return (request) => isAuthorised(request, token);
  const trustedOrigin = originList(config.DEEPSEEK_CORS_ORIGINS);
  return (request) => isAuthorised(request, token) || isFromThisMachine(request, trustedOrigin);
}

/**
 * The runtime token, in any form that existing clients send: `Authorization: Bearer`, two headers, `?token=` for an
 * EventSource, which cannot set headers, and a cookie, with the token or with a session of it. A browser sends the
 * cookie unasked, so the cookie counts only for requests of our own pages.
 */
export function isAuthorised(request: IncomingMessage, token: string): boolean {
  return (
    showsToken(request, token) ||
    (isFromOwnPage(request) &&
      (hasSession(request, token) || cookieTokens(request).some((value) => isToken(value, token))))
  );
}

/**
 * Whether a request may do without a token where none is asked for. A page of another origin may not, unless that
 * origin is in the list: the person only looks at it. Programs send neither header, and browsers send `Sec-Fetch-Site`
 * to every loopback address.
 */
function isFromThisMachine(request: IncomingMessage, trustedOrigin: (origin: string) => boolean): boolean {
  const { origin } = request.headers;
  return (origin !== undefined && trustedOrigin(origin)) || isFromOwnPage({ method: 'GET', headers: request.headers });
}

/** Whether the request shows the token where no browser puts it unasked. */
function showsToken({ headers, url = '' }: IncomingMessage, token: string): boolean {
  const bearer = headers.authorization?.startsWith('Bearer ')
    ? headers.authorization.slice('Bearer '.length)
    : undefined;
  const shown = [bearer, headers['x-deepseek-runtime-token'], headers['x-codewhale-runtime-token'], queryToken(url)];
  return shown.some((secret) => typeof secret === 'string' && sameSecret(secret, token));
}

/**
 * Whether a page of this origin sends the request. `SameSite` is not enough: for it, all ports of a host are one site,
 * and apps that a model made run there. Without `Sec-Fetch-Site`, which browsers leave out on plain HTTP beyond this
 * machine, only reading is possible without an `Origin`.
 */
function isFromOwnPage({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): boolean {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`) return false;
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false;
  return origin !== undefined || site === 'same-origin' || method === 'GET' || method === 'HEAD';
}

/** The first `token=` that can be decoded. */
export function queryToken(url: string): string | undefined {
  const start = url.indexOf('?');
  if (start < 0) return undefined;
  for (const pair of url.slice(start + 1).split('&')) {
    if (!pair.startsWith('token=')) continue;
    const decoded = decode(pair.slice('token='.length).replaceAll('+', ' '));
    if (decoded !== undefined) return decoded;
  }
  return undefined;
}

const isToken = (value: string, token: string): boolean => sameSecret(decode(value) ?? value, token);

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

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

interface Gate {
  /** the page is served at all; read for each request */
  isOn: () => boolean;
  /** null: no token is asked for */
  token: string | null;
}

/**
 * Lets requests for the page at `/mobile` pass, or answers them. Without the token nobody on the network learns that
 * there is a page. A session counts whatever page has the link: nobody else can read the page, and it sits in no frame.
 */
export function mobileGate({ isOn, token }: Gate): Middleware {
  const isShown = ({ req }: Context): boolean => token === null || showsToken(req, token) || hasSession(req, token);
  return (ctx: Context, next: Next) => {
    if ((ctx.path !== '/mobile' && ctx.path !== '/mobile/') || ctx.method === 'OPTIONS') return next();
    const reads = ctx.method === 'GET' || ctx.method === 'HEAD';
    if (!reads) ctx.set('Allow', 'GET,HEAD');
    if (reads && !isOn()) return sendText(ctx, 404, MOBILE_IS_OFF);
    if (!isShown(ctx)) return sendError(ctx, 401, TOKEN_REQUIRED);
    return reads ? next() : sendEmpty(ctx, 405);
  };
}
