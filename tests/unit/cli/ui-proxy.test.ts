import { createServer, request, type Server } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { hiddenAddress, serveUi, type UiAddress, type UiProxy } from '../../../src/cli/instance/ui-proxy.ts';
import { freePorts } from '../../support/app.ts';

const TOKEN = 'fetch_right';
let behind: Server;
let hidden: UiAddress;
let proxy: UiProxy;
let port: number;
const reached: string[] = [];

beforeAll(async () => {
  hidden = await hiddenAddress();
  behind = createServer((incoming, response) => {
    reached.push(`${incoming.method} ${incoming.url}`);
    response.end('the UI');
  });
  await new Promise<void>((resolve) => behind.listen(hidden.port, hidden.ip, resolve));
  [port] = (await freePorts(1)) as [number];
  proxy = await serveUi({ port, target: hidden, token: TOKEN });
});
afterAll(async () => {
  await proxy?.close();
  behind?.close();
});

/** `fetch` would set a host of its own. */
const get = (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<{ status: number; body: string; headers: Record<string, unknown> }> =>
  new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, method, headers: { host: `127.0.0.1:${port}`, ...headers } }, (answer) => {
      let body = '';
      answer.on('data', (chunk) => {
        body += chunk;
      });
      answer.on('end', () => resolve({ status: answer.statusCode!, body, headers: answer.headers }));
    });
    sent.on('error', reject).end();
  });
const cookie = async (): Promise<string> => String((await get(`/?token=${TOKEN}`)).headers['set-cookie']).split(';')[0]!;

it('lets a browser in that had the token, and takes the token out of the address', async () => {
  const first = await get(`/namespaces?query=a&token=${TOKEN}`);
  expect(first).toMatchObject({ status: 303, headers: { location: '/namespaces?query=a' } });
  expect(String(first.headers['set-cookie'])).toMatch(/^fetch_ui=[0-9a-f]{64}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=2592000$/);
  expect(String(first.headers['set-cookie'])).not.toContain(TOKEN);
  expect(await get('/namespaces', { cookie: await cookie() })).toMatchObject({ status: 200, body: 'the UI' });
});

it('lets nothing through without it, under another name, or from another page', async () => {
  const pass = await cookie();
  const before = reached.length;
  const signal = '/api/v1/namespaces/default/workflows/chat/signal/arrived';
  expect((await get('/')).status).toBe(401);
  expect((await get('/?token=wrong')).status).toBe(403);
  expect((await get('/', { cookie: 'fetch_ui=wrong' })).status).toBe(401);
  for (const host of ['evil.example', `evil.example:${port}`, `127.0.0.1.evil.example:${port}`, `127.0.0.1:${port + 1}`])
    expect((await get(signal, { host, cookie: pass }, 'POST')).status).toBe(421);
  for (const origin of ['http://evil.example', 'null', `https://127.0.0.1:${port}`, `http://127.0.0.1:${port + 1}`])
    expect((await get(signal, { origin, cookie: pass }, 'POST')).status).toBe(403);
  expect(reached.length).toBe(before);
  expect((await get(signal, { origin: `http://127.0.0.1:${port}`, cookie: pass }, 'POST')).status).toBe(200);
});

it.runIf(process.platform === 'linux')('stands before an address that nobody guesses', () => expect(hidden.ip).toMatch(/^127\.(?!0\.0\.1$)/));
