import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Context, Middleware, Next } from 'koa';
import type { Config } from '../config.ts';
import { PACKAGE_ROOT } from '../installation.ts';
import { authoriser, takesLoginLink } from './http/access/auth.ts';
import { cookieTokens, hasSession } from './http/access/session-cookie.ts';

/**
 * What the page may do. Scripts and styles come from files of ours only: words of a model, a page or a stranger can
 * never become a script, even where the page made a mistake. `data:` is the picture of the QR code, `blob:` pictures of
 * chats.
 */
const POLICY = Object.entries({
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self' data: blob:",
  'media-src': 'blob:',
  'connect-src': "'self'",
  'manifest-src': "'self'",
  'worker-src': "'self'",
  'base-uri': "'none'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
  'require-trusted-types-for': "'script'",
  'trusted-types': 'fetch',
})
  .map(([name, value]) => `${name} ${value}`)
  .join('; ');

/** Set on everything of the page, also on the notices. */
function setPageHeaders(ctx: Context): void {
  ctx.set({
    'Content-Security-Policy': POLICY,
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Permissions-Policy': 'camera=(), microphone=(), geolocation=(), payment=()',
  });
}

/**
 * The built page (`scripts/page.ts`), in memory: it is small, and a build that runs meanwhile cannot mix two of them.
 */
type PageFiles = ReadonlyMap<string, PageFile>;

interface PageFile {
  type: string;
  data: Buffer;
  /** the same compressed, where that makes it smaller */
  gzip?: Buffer;
}

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.webmanifest': 'application/manifest+json',
};

/** Empty when the page was not built, such as in a clone without the packages of developers. */
function readPageFiles(folder = join(PACKAGE_ROOT, 'dist', 'page')): PageFiles {
  try {
    return new Map(
      readdirSync(folder)
        .filter((name) => extname(name) in TYPES)
        .map((name) => [name, fileOf(TYPES[extname(name)]!, readFileSync(join(folder, name)))]),
    );
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Map();
    throw error;
  }
}

const fileOf = (type: string, data: Buffer): PageFile =>
  /^text|svg|json/.test(type) ? { type, data, gzip: gzipSync(data) } : { type, data };

/** Small pages without scripts, styles or anything of the owner. */

const notice = (title: string, lines: string[]): { type: string; data: string } => ({
  type: 'text/html; charset=utf-8',
  data: `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>Fetch</title>
<main><h1>${title}</h1>
${lines.map((line) => `<p>${line}</p>`).join('\n')}
</main></html>
`,
});

/** @param hadCookie the browser was let in before, so its session has ended, or the token is another one now */
const notLoggedIn = (hadCookie: boolean) =>
  notice(hadCookie ? 'This browser is logged out' : 'This browser is not logged in yet', [
    'On the machine that runs Fetch, write <code>fetch open</code> (in a clone: <code>npm run -s fetch -- open</code>). It prints a link.',
    'Open that link here, once. The browser then remembers it.',
  ]);

const NOT_BUILT = notice('The page is not built', [
  'In a clone, <code>npm ci</code> builds it. Install with the packages of developers, or write <code>npm run bundle</code>, and start Fetch again.',
]);

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
    sendAsset(ctx, file);
  };
}

/** Assets are public, so their compressed size tells nothing. A page is never compressed. */
function sendAsset(ctx: Context, { type, data, gzip }: PageFile): void {
  ctx.vary('Accept-Encoding');
  const compressed = gzip && ctx.acceptsEncodings('gzip', 'identity') === 'gzip';
  if (compressed) ctx.set('Content-Encoding', 'gzip');
  send(ctx, 200, { type, data: compressed ? gzip : data });
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
