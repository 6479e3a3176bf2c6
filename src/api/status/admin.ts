import type { Context } from 'koa';
import { queryToken, sameSecret } from '../http/auth.ts';

/** Whether a request has the admin token, as a header or as `?token=` for an `<img>`. */
export function isAdmin(ctx: Context, token: string): boolean {
  const header = ctx.get('authorization');
  const shown = header.startsWith('Bearer ') ? header.slice('Bearer '.length) : queryToken(ctx.req.url ?? '');
  return shown !== undefined && sameSecret(shown, token);
}

const LOOPBACK = new Set(['127.0.0.1', '::1', '::ffff:127.0.0.1']);

/** A program on this machine that talks to us directly: not through a proxy, and not a page whose name resolves to this machine. */
export function isOwnMachine(ctx: Context): boolean {
  const forwarded = ctx.get('x-forwarded-for') || ctx.get('forwarded') || ctx.get('via') || ctx.get('x-real-ip');
  return LOOPBACK.has(ctx.req.socket.remoteAddress ?? '') && !forwarded && /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(ctx.get('host'));
}
