import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import type { Context } from 'koa';
import { queryToken } from '../http/access/auth.ts';
import { sameSecret } from '../http/access/session-cookie.ts';

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
 * A program of the same user on this machine that talks to us directly: not through a proxy, and not a page whose name
 * resolves to this machine. Where the system does not say whose a connection is, nobody is.
 */
export function isOwnProgram(ctx: Context): boolean {
  const { socket } = ctx.req;
  const forwarded = ctx.get('x-forwarded-for') || ctx.get('forwarded') || ctx.get('via') || ctx.get('x-real-ip');
  return (
    LOOPBACK.has(socket.remoteAddress ?? '') &&
    !forwarded &&
    /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/.test(ctx.get('host')) &&
    isOwnConnection(socket)
  );
}

/** The connections of this machine, by the kernel: each line has both ends, and the user of the first. */
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];

function isOwnConnection({ remotePort = 0, localPort = 0 }: Socket): boolean {
  const hex = (port: number) => port.toString(16).toUpperCase().padStart(4, '0');
  const users = TABLES.flatMap((table) => linesOf(table)).flatMap((line) => {
    const [, from = '', to = '', , , , , uid = ''] = line.trim().split(/\s+/);
    return from.endsWith(`:${hex(remotePort)}`) && to.endsWith(`:${hex(localPort)}`) ? [uid] : [];
  });
  return users.length > 0 && users.every((uid) => uid === String(process.getuid?.()));
}

function linesOf(table: string): string[] {
  try {
    return readFileSync(table, 'utf8').split('\n').slice(1);
  } catch {
    return [];
  }
}
