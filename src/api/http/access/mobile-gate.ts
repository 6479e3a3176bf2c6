import type { Context, Middleware, Next } from 'koa';
import { MOBILE_IS_OFF, TOKEN_REQUIRED } from '../../errors/texts.ts';
import { sendEmpty, sendError, sendText } from '../reply.ts';
import { showsToken } from './auth.ts';
import { hasSession } from './session-cookie.ts';

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
