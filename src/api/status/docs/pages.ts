import { readdir, readFile } from 'node:fs/promises';
import { basename, extname, join, resolve, sep } from 'node:path';
import type { Context } from 'koa';
import { PACKAGE_ROOT } from '../../../installation.ts';
import { sendEmpty, sendText } from '../../http/reply.ts';

/**
 * The documentation, under the paths and with the redirects of the original. It needs no token, because it is public.
 */

const FOLDER = join(PACKAGE_ROOT, 'docs');
const README = join(PACKAGE_ROOT, 'README.md');
const VIEWER = '/docs/index.html';

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'application/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.ico': 'image/x-icon',
};
/** Nothing is loaded from other places, and nothing inline runs. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'";

const REDIRECTS: Record<string, string> = {
  '/': '/docs/',
  '/docs': VIEWER,
  '/docs/': VIEWER,
  '/README.md': `${VIEWER}#README`,
};

/** Answers a request for the documentation; false for every other request. */
export async function servesDocs(ctx: Context): Promise<boolean> {
  if (ctx.method !== 'GET' && ctx.method !== 'HEAD') return false;
  const to = Object.hasOwn(REDIRECTS, ctx.path) ? REDIRECTS[ctx.path] : undefined;
  if (to) redirect(ctx, to);
  else if (ctx.path.startsWith('/docs/')) await serve(ctx, ctx.path.slice('/docs/'.length));
  else return false;
  return true;
}

async function serve(ctx: Context, path: string): Promise<void> {
  // a person who follows a link to a page wants it in the viewer; its script wants the text
  if (path.endsWith('.md') && ctx.get('sec-fetch-mode') === 'navigate')
    return redirect(ctx, `${VIEWER}#${basename(path, '.md')}`);
  const file = fileOf(path);
  if (file === null) return sendText(ctx, 403, 'Forbidden');
  const content =
    (await made(file)) ?? (await readFile(file === join(FOLDER, 'README.md') ? README : file).catch(() => null));
  if (content === null) return sendText(ctx, 404, 'Not found');
  ctx.status = 200;
  ctx.set({
    'Content-Type': TYPES[extname(file).toLowerCase()] ?? 'application/octet-stream',
    'Content-Security-Policy': POLICY,
  });
  ctx.set('X-Content-Type-Options', 'nosniff');
  ctx.body = content;
}

/** The file that a path means; null outside of the folder. */
function fileOf(path: string): string | null {
  try {
    const file = resolve(FOLDER, `./${decodeURIComponent(path)}`);
    return file.startsWith(FOLDER + sep) && !file.includes('\0') ? file : null;
  } catch {
    // no UTF-8
    return null;
  }
}

/** The viewer, and pages as HTML. They are made when they are asked for; null for every other file. */
async function made(file: string): Promise<string | null> {
  const name = file.slice(FOLDER.length + 1);
  const extension = extname(name);
  if (!['.html', '.js', '.css'].includes(extension)) return null;
  const { viewerHtml, VIEWER_CSS, VIEWER_JS } = await import('./viewer.ts');
  if (name === 'viewer.js') return VIEWER_JS;
  if (name === 'viewer.css') return VIEWER_CSS;
  if (name === 'index.html') return viewerHtml(await titles());
  const markdown = extension === '.html' ? await markdownOf(basename(name, '.html')) : null;
  return markdown === null ? null : (await import('./html.ts')).pageHtml(markdown);
}

const markdownOf = async (name: string): Promise<string | null> =>
  await readFile(name === 'README' ? README : join(FOLDER, `${name}.md`), 'utf8').catch(() => null);

async function titles(): Promise<Array<{ name: string; title: string }>> {
  const { parsePage, textOf } = await import('./html.ts');
  const pages = (await readdir(FOLDER)).filter((file) => file.endsWith('.md')).sort();
  const titled = async (name: string) => {
    const heading = parsePage((await markdownOf(name)) ?? '').children.find(({ type }) => type === 'heading');
    return { name, title: heading ? textOf(heading) : name };
  };
  return await Promise.all(['README', ...pages.map((file) => basename(file, '.md'))].map(titled));
}

function redirect(ctx: Context, to: string): void {
  ctx.set('Location', to);
  sendEmpty(ctx, 302);
}
