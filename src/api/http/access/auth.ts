import type { IncomingMessage } from 'node:http';
import type { Config } from '../../../config.ts';
import { originList } from './cors.ts';
import { sameSecret } from './secrets.ts';
import { cookieTokens, hasSession } from './session-cookie.ts';

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
export function showsToken({ headers, url = '' }: IncomingMessage, token: string): boolean {
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
