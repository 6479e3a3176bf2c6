import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Context } from 'koa';

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Compares in constant time. Digests are compared, so different lengths take the same time. */
export const sameSecret = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));

const NAME = 'codewhale_runtime_token';
const LASTS_SECONDS = 180 * 24 * 60 * 60;

/**
 * Logs the browser in. The cookie does not hold the token: browsers send the cookies of a host to each of its ports, so
 * a program on another port of this machine would read it. A session ends after 180 days, or when the token is changed.
 */
export function setSessionCookie(ctx: Context, token: string): void {
  setCookie(ctx, sessionValue(token, Math.floor(Date.now() / 1000) + LASTS_SECONDS), LASTS_SECONDS);
}

/** Logs the browser out. */
export const clearSessionCookie = (ctx: Context): void => setCookie(ctx, '', 0);

/**
 * Whether the request has a session of this token. It does not say which page has sent the request: `isAuthorised`
 * does.
 */
export const hasSession = (request: IncomingMessage, token: string): boolean =>
  cookieTokens(request).some((value) => isSession(value, token, Date.now()));

/** The first session value, or token, that the request shows as a cookie. */
export const cookieToken = (request: IncomingMessage): string | undefined => cookieTokens(request)[0];

/**
 * Each value of the cookie. A page on another port may have set a cookie of this name with a longer path, which then
 * comes first.
 */
export function cookieTokens({ headers }: Pick<IncomingMessage, 'headers'>): string[] {
  const values: string[] = [];
  for (const pair of (headers.cookie ?? '').split(';')) {
    const [name, ...rest] = pair.trim().split('=');
    if (name === NAME) values.push(rest.join('='));
  }
  return values;
}

/** `<when it ends, in seconds since 1970>.<HMAC of that>` */
function sessionValue(token: string, ends: number): string {
  const mac = createHmac('sha256', token).update(`session of the runtime API until ${ends}`).digest('base64url');
  return `${ends}.${mac}`;
}

/** @param now milliseconds since 1970 */
export function isSession(value: string, token: string, now: number): boolean {
  const ends = /^[0-9]{1,12}(?=\.)/.exec(value)?.[0];
  return ends !== undefined && sameSecret(value, sessionValue(token, Number(ends))) && Number(ends) * 1000 > now;
}

/** `Secure` behind a proxy that speaks TLS. Another client can claim that, too, and only harms itself. */
function setCookie(ctx: Context, value: string, seconds: number): void {
  const secure = ctx.secure || ctx.get('x-forwarded-proto') === 'https' ? '; Secure' : '';
  ctx.append('Set-Cookie', `${NAME}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`);
}
