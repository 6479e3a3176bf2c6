import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Compares in constant time. Digests are compared, so different lengths take the same time. */
export const sameSecret = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));

/**
 * The runtime token, in any form that existing clients send: `Authorization: Bearer`, two headers, `?token=` for an EventSource, which cannot set headers, and
 * a cookie. `trustedOrigin` guards only the cookie, because a browser sends it unasked.
 */
export function isAuthorised(request: IncomingMessage, token: string, trustedOrigin: (origin: string) => boolean): boolean {
  const { headers } = request;
  const bearer = headers.authorization?.startsWith('Bearer ') ? headers.authorization.slice('Bearer '.length) : undefined;
  const shown = [bearer, headers['x-deepseek-runtime-token'], headers['x-codewhale-runtime-token'], queryToken(request.url ?? '')];
  if (shown.some((secret) => typeof secret === 'string' && sameSecret(secret, token))) return true;
  const origin = headers.origin;
  if (origin !== undefined && !trustedOrigin(origin) && origin !== `http://${headers.host}` && origin !== `https://${headers.host}`) return false;
  const cookie = cookieToken(headers.cookie ?? '');
  return cookie !== undefined && sameSecret(cookie, token);
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

export function cookieToken(header: string): string | undefined {
  for (const pair of header.split(';')) {
    const [name, ...rest] = pair.trim().split('=');
    if (name === 'codewhale_runtime_token') return decode(rest.join('=')) ?? rest.join('=');
  }
  return undefined;
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
