import type { Context } from 'koa';
import { queryToken } from '../http/access/auth.ts';
import { sameSecret } from '../http/access/secrets.ts';

/**
 * Why a request may not act as the admin: 401 without a token, 403 with another one. The token is a header, or
 * `?token=` for an `<img>`.
 */
export function adminProblem(ctx: Context, token: string): 401 | 403 | null {
  const header = ctx.get('authorization');
  const shown = header.startsWith('Bearer ') ? header.slice('Bearer '.length) : queryToken(ctx.req.url ?? '');
  if (shown === undefined) return 401;
  return sameSecret(shown, token) ? null : 403;
}

export const isAdmin = (ctx: Context, token: string): boolean => adminProblem(ctx, token) === null;

const LOOPBACK = new Set(['127.0.0.1', '::1', '::ffff:127.0.0.1']);

/**
 * A program on this machine that talks to us directly: not through a proxy, and not a page whose name resolves to this
 * machine.
 */
export function isOwnMachine(ctx: Context): boolean {
  const forwarded = ctx.get('x-forwarded-for') || ctx.get('forwarded') || ctx.get('via') || ctx.get('x-real-ip');
  return (
    LOOPBACK.has(ctx.req.socket.remoteAddress ?? '') &&
    !forwarded &&
    /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(ctx.get('host'))
  );
}
