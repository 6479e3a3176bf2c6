import Koa, { type Context } from 'koa';
import { expect, it } from 'vitest';
import { isAuthorised, takesLoginLink } from '../../../src/api/http/access/auth.ts';
import {
  clearSessionCookie,
  cookieTokens,
  hasSession,
  isSession,
  setSessionCookie,
} from '../../../src/api/http/access/session-cookie.ts';
import { listen } from '../../../src/api/http/listen.ts';
import { send } from '../../conformance/golden.ts';

const TOKEN = 'fetch_abc ABC+/?:=&%';
const HOST = '127.0.0.1:7878';
const NAME = 'codewhale_runtime_token';

const headersOf = async (handle: (ctx: Context) => void, path = '/', headers = {}) => {
  const app = new Koa();
  app.use(handle);
  const server = await listen(app, '127.0.0.1', 0);
  const answer = await send(server.port, 'GET', path, headers);
  await server.close(0);
  return answer;
};
const cookieOf = async (token: string): Promise<string> => {
  const { headers } = await headersOf((ctx) => setSessionCookie(ctx, token));
  return headers['set-cookie']![0]!;
};
const request = (headers: Record<string, string>, method = 'GET') =>
  ({ method, url: '/v1/threads', headers: { host: HOST, ...headers } }) as never;

it('holds a session of the token, and not the token', async () => {
  const cookie = await cookieOf(TOKEN);
  expect(cookie).toMatch(
    /^codewhale_runtime_token=\d+\.[\w-]{43}; Path=\/; Max-Age=15552000; HttpOnly; SameSite=Strict$/,
  );
  const value = cookie.split(';')[0]!.slice(NAME.length + 1);
  expect(isSession(value, TOKEN, Date.now())).toBe(true);
  expect(hasSession(request({ cookie: `a=b; ${NAME}=tossed; ${NAME}=${value}` }), TOKEN)).toBe(true);
  const now = Date.now();
  for (const [wrong, at] of [
    [value, now + 181 * 24 * 3_600_000],
    [value.replace(/^\d/, '9'), now],
    [`${value}x`, now],
    [value.split('.')[0]!, now],
    [TOKEN, now],
    ['', now],
  ] as const)
    expect(isSession(wrong, TOKEN, at), wrong).toBe(false);
  expect(isSession(value, `${TOKEN}2`, now)).toBe(false);
});

it('is kept from plain HTTP where a proxy speaks TLS, and ends at a log-out', async () => {
  const { headers } = await headersOf((ctx) => setSessionCookie(ctx, TOKEN), '/', { 'X-Forwarded-Proto': 'https' });
  expect(headers['set-cookie']![0]).toMatch(/; SameSite=Strict; Secure$/);
  const { headers: cleared } = await headersOf(clearSessionCookie);
  expect(cleared['set-cookie']![0]).toMatch(/^codewhale_runtime_token=; Path=\/; Max-Age=0;/);
});

it('counts only for what pages of this origin send', async () => {
  const value = (await cookieOf(TOKEN)).split(';')[0]!.slice(NAME.length + 1);
  const own = { cookie: `${NAME}=${value}` };
  const allowed = (headers: Record<string, string>, method = 'GET') =>
    isAuthorised(request({ ...own, ...headers }, method), TOKEN);
  for (const method of ['POST', 'PATCH', 'DELETE']) {
    expect(allowed({ origin: `http://${HOST}` }, method)).toBe(true);
    expect(allowed({ 'sec-fetch-site': 'same-origin' }, method)).toBe(true);
    const foreign: Array<Record<string, string>> = [
      {},
      { 'sec-fetch-site': 'none' },
      { origin: 'null' },
      { origin: 'http://127.0.0.1:3000' },
      { origin: 'http://evil.example', 'sec-fetch-site': 'same-origin' },
      { origin: `http://${HOST}`, 'sec-fetch-site': 'same-site' },
    ];
    for (const headers of foreign) expect(allowed(headers, method), JSON.stringify([method, headers])).toBe(false);
  }
  const readers: Array<[Record<string, string>, boolean]> = [
    [{}, true],
    [{ 'sec-fetch-site': 'none' }, true],
    [{ 'sec-fetch-site': 'same-origin' }, true],
    [{ origin: `https://${HOST}` }, true],
    [{ 'sec-fetch-site': 'same-site' }, false],
    [{ 'sec-fetch-site': 'cross-site' }, false],
    [{ origin: 'http://localhost:3000' }, false],
  ];
  for (const [headers, may] of readers) expect(allowed(headers), JSON.stringify(headers)).toBe(may);
  // a header is never sent unasked, so a page that has the token may be anywhere
  expect(
    isAuthorised(request({ authorization: `Bearer ${TOKEN}`, origin: 'http://localhost:3000' }, 'POST'), TOKEN),
  ).toBe(true);
});

it('reads each cookie of the name, and nothing else', () => {
  expect(cookieTokens(request({ cookie: `${NAME}=a=b;x=1 ; ${NAME}=c; not_${NAME}=d;${NAME}` }))).toEqual([
    'a=b',
    'c',
    '',
  ]);
  expect(cookieTokens(request({}))).toEqual([]);
});

it('is taken from a link, which leads on without the token', async () => {
  const page = (ctx: Context) => {
    if (!takesLoginLink(ctx, TOKEN)) ctx.body = 'page';
  };
  const { headers, body } = await headersOf(page, `/mobile?x=1&token=${encodeURIComponent(TOKEN)}`);
  expect(headers).toMatchObject({
    refresh: '0; url=/mobile',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
  });
  expect(headers['set-cookie']![0]).toContain('HttpOnly');
  expect(body).not.toContain(TOKEN);
  for (const path of ['/', '/?token=', '/?token=wrong', '/?token=%']) {
    const answer = await headersOf(page, path);
    expect([answer.body, answer.headers['set-cookie']]).toEqual(['page', undefined]);
  }
});
