import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiStack, startApi } from './api-stack.ts';
import { send } from './golden.ts';

/** The documentation on the status port, as the original serves it. */

const root = join(import.meta.dirname, '../..');
let api: ApiStack;
beforeAll(async () => {
  api = await startApi({ token: 'tok-docs', model: 'm', corsOrigins: '' });
}, 120_000);
afterAll(() => api?.close());

const get = (path: string, headers: Record<string, string> = {}) => send(api.statusPort, 'GET', path, headers, null);

it.each([
  ['/', '/docs/'],
  ['/docs', '/docs/index.html'],
  ['/docs/', '/docs/index.html'],
  ['/README.md', '/docs/index.html#README'],
])('%s leads to %s', async (from, to) => {
  const { status, headers } = await get(from);
  expect([status, headers.location]).toEqual([302, to]);
});

it('a browser that goes to a page is led to the viewer; a program gets the page', async () => {
  expect(await get('/docs/coding-tasks.md', { 'Sec-Fetch-Mode': 'navigate' })).toMatchObject({
    status: 302,
    headers: { location: '/docs/index.html#coding-tasks' },
  });
  const { status, headers, body } = await get('/docs/coding-tasks.md', { 'Sec-Fetch-Mode': 'cors' });
  expect([status, headers['content-type'], body]).toEqual([
    200,
    'text/markdown; charset=utf-8',
    readFileSync(join(root, 'docs/coding-tasks.md'), 'utf8'),
  ]);
});

it.each([
  ['/docs/index.html', 'text/html; charset=utf-8'],
  ['/docs/viewer.js', 'application/javascript; charset=utf-8'],
  ['/docs/viewer.css', 'text/css; charset=utf-8'],
  ['/docs/README.md', 'text/markdown; charset=utf-8'],
  [`/docs/images/${readdirSync(join(root, 'docs/images')).find((file) => file.endsWith('.png'))}`, 'image/png'],
])('%s is %s, and loads nothing from elsewhere', async (path, type) => {
  const { status, headers } = await get(path);
  expect([status, headers['content-type'], headers['x-content-type-options']]).toEqual([200, type, 'nosniff']);
  expect(headers['content-security-policy']).toContain("default-src 'none'; script-src 'self'");
});

it.each([
  '../package.json',
  '..%2fpackage.json',
  '%2e%2e/package.json',
  '../docs-of-others/x',
  '..%2f..%2fetc/passwd',
  '%ff',
  'a%00b',
])('nothing outside of the folder is served: /docs/%s', async (path) =>
  expect(await get(`/docs/${path}`)).toMatchObject({ status: 403, body: 'Forbidden' }),
);

it.each(['nothing.md', 'nothing.html', 'images', 'images/nothing.png'])('/docs/%s is not there', async (path) =>
  expect(await get(`/docs/${path}`)).toMatchObject({ status: 404, body: 'Not found' }),
);

it('a diagram is shown as a list of its arrows', async () => {
  const { body } = await get('/docs/contributing.html');
  expect(body).toContain(
    '<li>you: WhatsApp, Telegram <b>→</b> received row <small>stored before it is confirmed</small></li>',
  );
  expect(body).toContain('<li>received row <b>→</b> intake</li>');
});

describe('every page', () => {
  const pages = [
    'README',
    ...readdirSync(join(root, 'docs')).flatMap((file) => (file.endsWith('.md') ? [file.slice(0, -3)] : [])),
  ];

  it('has no diagram in the words of a program that draws it', async () => {
    for (const page of pages) expect((await get(`/docs/${page}.html`)).body).not.toMatch(/<code>flowchart /);
  });

  it('is in the menu', async () => {
    const { body } = await get('/docs/index.html');
    for (const page of pages) expect(body).toContain(`<a href="#${page}">`);
  });

  const shown = new Map<string, string>();
  const htmlOf = async (page: string): Promise<string> => {
    if (!shown.has(page)) shown.set(page, (await get(`/docs/${page}.html`)).body);
    return shown.get(page)!;
  };

  it.each(pages)('%s is shown as HTML, and its links lead to pages and headings that are there', async (page) => {
    const body = await htmlOf(page);
    const prose = body.replace(/<code>.*?<\/code>/gs, '');
    expect([/^<h1 id="/.test(body), /<script|\]\(|<!--/.exec(prose)]).toEqual([true, null]);
    for (const [, to, heading] of body.matchAll(/<a href="#([\w-]+)(?:\/([^"]+))?">/g)) {
      expect(pages).toContain(to);
      if (heading) expect([heading, (await htmlOf(to!)).includes(` id="${heading}"`)]).toEqual([heading, true]);
    }
    for (const [, heading] of body.matchAll(/<a href="#([^"]+)" data-here>/g))
      expect([heading, body.includes(` id="${heading}"`)]).toEqual([heading, true]);
    for (const [, source] of body.matchAll(/<img src="([^"]+)"/g))
      expect([source, (await get(`/docs/${source}`)).status]).toEqual([source, 200]);
  });
});
