import type { Context, Middleware, Next } from 'koa';
import type { Config } from '../../config.ts';
import { authoriser } from '../http/access/auth.ts';
import { takesLoginLink } from '../http/access/login-link.ts';
import { cookieTokens, hasSession } from '../http/access/session-cookie.ts';
import { type PageFile, type PageFiles, readPageFiles } from './files.ts';
import { setPageHeaders } from './headers.ts';
import { NOT_BUILT, notLoggedIn } from './notices.ts';

/** Addresses of the page; the phone's are those of CodeWhale. */
const PAGES: Record<string, string> = { '/': 'index.html', '/mobile': 'mobile.html', '/mobile/': 'mobile.html' };
/** Public: they hold nothing of the owner, and browsers ask for some of them without a cookie. */
const PUBLIC: Record<string, string> = {
  '/sw.js': 'sw.js',
  '/manifest.webmanifest': 'manifest.webmanifest',
  '/favicon.ico': 'favicon.ico',
};
const ASSETS = '/page/';

/** Serves the owner's page. Everything else is for the next one. */
export function ownersPage({
  token,
  config,
  files = readPageFiles(),
}: {
  token: string;
  config: Config;
  files?: PageFiles;
}): Middleware {
  const isAllowed = authoriser({ token, config });
  return async (ctx: Context, next: Next) => {
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') return next();
    const page = Object.hasOwn(PAGES, ctx.path) ? PAGES[ctx.path] : undefined;
    if (page) {
      // a session counts whatever page has the link: nobody else can read this page, and it sits in no frame
      const allowed = isAllowed(ctx.req) || hasSession(ctx.req, token);
      servePage(ctx, { token, allowed, page: files.get(page) });
      return;
    }
    const asset = publicName(ctx.path);
    const file = asset === undefined ? undefined : files.get(asset);
    if (!file) return next();
    setPageHeaders(ctx);
    ctx.set('Cache-Control', ctx.path.startsWith(ASSETS) ? 'public, max-age=31536000, immutable' : 'no-cache');
    send(ctx, 200, file);
  };
}

/** Pages are not assets, because a page asks for the token. */
function publicName(path: string): string | undefined {
  if (Object.hasOwn(PUBLIC, path)) return PUBLIC[path];
  const name = path.startsWith(ASSETS) ? path.slice(ASSETS.length) : undefined;
  return name && /^[\w-]+-[0-9a-f]{10}\.(?:js|css|svg|png)$/.test(name) ? name : undefined;
}

interface Asked {
  token: string;
  allowed: boolean;
  page: PageFile | undefined;
}

function servePage(ctx: Context, { token, allowed, page }: Asked): void {
  // what is answered depends on the cookie, and on what the request asks for
  ctx.vary('Cookie, Accept');
  setPageHeaders(ctx);
  ctx.set('Cache-Control', 'no-cache');
  // a program keeps no cookie and follows no page, so it gets the page at once
  if (ctx.get('accept').includes('text/html') && takesLoginLink(ctx, token)) return;
  if (!allowed) {
    refuse(ctx);
  } else if (page) {
    ctx.set('X-Fetch-Page', '1');
    send(ctx, 200, page);
  } else {
    send(ctx, 503, NOT_BUILT);
  }
}

function refuse(ctx: Context): void {
  // a link on a page of others: browsers leave the strict cookie out, and send it once this page itself asks again
  if (ctx.get('sec-fetch-site') === 'cross-site') ctx.set('Refresh', `0; url=${ctx.path}`);
  send(ctx, 401, notLoggedIn(cookieTokens(ctx.req).length > 0));
}

function send(ctx: Context, status: number, { type, data }: { type: string; data: Buffer | string }): void {
  ctx.status = status;
  ctx.set('Content-Type', type);
  ctx.body = data;
}
