import { createServer, request, type Server } from 'node:http';
import { defaultPayloadConverter } from '@temporalio/common';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createPayloadCodec } from '../../../src/adapters/payloads/codec.ts';
import { payloadKeys } from '../../../src/adapters/payloads/keys.ts';
import { hiddenAddress, serveUi, type UiAddress, type UiProxy } from '../../../src/cli/instance/servers/ui-proxy.ts';
import { freePorts } from '../../support/app.ts';

const TOKEN = 'fetch_right';
const codec = createPayloadCodec(() => payloadKeys('11'.repeat(32)));
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
  proxy = await serveUi({ port, target: new URL(`http://${hidden.ip}:${hidden.port}`), token: TOKEN, codec });
});
afterAll(async () => {
  await proxy?.close();
  behind?.close();
});

/** `fetch` would set a host of its own. */
const get = (
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
  body?: string,
): Promise<{ status: number; body: string; headers: Record<string, unknown> }> =>
  new Promise((resolve, reject) => {
    const sent = request(
      { host: '127.0.0.1', port, path, method, headers: { host: `127.0.0.1:${port}`, ...headers } },
      (answer) => {
        let body = '';
        answer.on('data', (chunk) => {
          body += chunk;
        });
        answer.on('end', () => resolve({ status: answer.statusCode!, body, headers: answer.headers }));
      },
    );
    sent.on('error', reject).end(body);
  });
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
const cookie = async (): Promise<string> =>
  String((await get(`/?token=${TOKEN}`)).headers['set-cookie']).split(';')[0]!;

it('lets a browser in that had the token, and takes the token out of the address', async () => {
  const first = await get(`/namespaces?query=a&token=${TOKEN}`);
  expect(first).toMatchObject({ status: 303, headers: { location: '/namespaces?query=a' } });
  expect(String(first.headers['set-cookie'])).toMatch(
    /^fetch_ui=[0-9a-f]{64}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=2592000$/,
  );
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
  expect((await get('/codec/decode', {}, 'POST', '{"payloads":[]}')).status).toBe(401);
  expect(
    (await get('/codec/decode', { origin: 'http://evil.example', cookie: pass }, 'POST', '{"payloads":[]}')).status,
  ).toBe(403);
  for (const host of [
    'evil.example',
    `evil.example:${port}`,
    `127.0.0.1.evil.example:${port}`,
    `127.0.0.1:${port + 1}`,
  ])
    expect((await get(signal, { host, cookie: pass }, 'POST')).status).toBe(421);
  for (const origin of ['http://evil.example', 'null', `https://127.0.0.1:${port}`, `http://127.0.0.1:${port + 1}`])
    expect((await get(signal, { origin, cookie: pass }, 'POST')).status).toBe(403);
  expect(reached.length).toBe(before);
  expect((await get(signal, { origin: `http://127.0.0.1:${port}`, cookie: pass }, 'POST')).status).toBe(200);
});

it('decrypts payloads for the pages of the UI itself', async () => {
  const [sealed] = await codec.encode([defaultPayloadConverter.toPayload('readable')]);
  const payload = {
    metadata: {
      encoding: base64(sealed!.metadata!.encoding!),
      'encryption-key-id': base64(sealed!.metadata!['encryption-key-id']!),
    },
    data: base64(sealed!.data!),
  };
  const before = reached.length;
  const headers = { cookie: await cookie(), origin: `http://127.0.0.1:${port}`, 'x-namespace': 'default' };
  const answer = await get('/codec/decode', headers, 'POST', JSON.stringify({ payloads: [payload] }));
  expect(answer).toMatchObject({
    status: 200,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
  });
  expect(JSON.parse(answer.body)).toEqual({
    payloads: [{ metadata: { encoding: base64(Buffer.from('json/plain')) }, data: base64(Buffer.from('"readable"')) }],
  });
  expect((await get('/codec/decode', headers)).status).toBe(405);
  expect(reached.length).toBe(before);
});

it.runIf(process.platform === 'linux')('stands before an address that nobody guesses', () =>
  expect(hidden.ip).toMatch(/^127\.(?!0\.0\.1$)/),
);
