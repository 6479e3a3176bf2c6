import { isIP } from 'node:net';
import { hostname } from 'node:os';
import type { Context, Middleware, Next } from 'koa';
import type { Config } from '../../../config.ts';
import { sendError } from '../reply.ts';

/**
 * Refuses requests for a host name that is not ours. In DNS rebinding, a page lets its own name resolve to this
 * machine; for the browser both then have one origin, and only the `Host` header shows the difference. An IP address is
 * always accepted, because nobody can make one resolve.
 */
export function requireKnownHost({
  FETCH_HOST,
  runtimeHost,
  FETCH_ALLOWED_HOSTS,
}: Pick<Config, 'FETCH_HOST' | 'runtimeHost' | 'FETCH_ALLOWED_HOSTS'>): Middleware {
  const own = hostname().toLowerCase();
  const named = (FETCH_ALLOWED_HOSTS ?? '').split(',').map((name) => name.trim().toLowerCase());
  const known = new Set([
    'localhost',
    own,
    `${own}.local`,
    FETCH_HOST.toLowerCase(),
    runtimeHost.toLowerCase(),
    ...named.filter(Boolean),
  ]);
  return async (ctx: Context, next: Next) => {
    const given = ctx.req.rawHeaders
      .filter((_, index) => index % 2 === 0)
      .filter((name) => name.toLowerCase() === 'host');
    if (given.length > 1) return sendError(ctx, 400, 'The request has more than one Host header');
    const name = nameOf(ctx.get('host'));
    if (!known.has(name) && isIP(name) === 0)
      return sendError(
        ctx,
        421,
        `This server does not answer for the host '${name}'; FETCH_ALLOWED_HOSTS names the ones that it is reached by`,
      );
    await next();
  };
}

/** The host without port, brackets and final dot. */
const nameOf = (host: string): string =>
  host
    .toLowerCase()
    .replace(/:\d{1,5}$/, '')
    .replace(/^\[([^\]]*)\]$/, '$1')
    .replace(/\.$/, '');
