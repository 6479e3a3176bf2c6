import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConfigError, loadConfig } from '../../src/config.ts';
import { type ApiStack, startApi } from './api-stack.ts';
import { send } from './golden.ts';

/**
 * The boundary of the runtime port: who is let in, and what a page of others can do with the browser of somebody who
 * is.
 */

const TOKEN = 'tok-security';
let api: ApiStack;
/** asks for no token */
let open: number;
let mobile: number;
let session: string;
beforeAll(async () => {
  api = await startApi({ token: TOKEN, model: 'm', corsOrigins: 'http://app.example' });
  open = await api.another({ FETCH_RUNTIME_INSECURE: 'true', DEEPSEEK_CORS_ORIGINS: 'http://app.example' });
  mobile = await api.another({ FETCH_MOBILE: 'true', DEEPSEEK_RUNTIME_TOKEN: TOKEN });
  session = await sessionOf(TOKEN);
}, 120_000);
afterAll(() => api?.close());

/** As the page's route gives it. */
async function sessionOf(token: string): Promise<string> {
  const [{ default: Koa }, { setSessionCookie }, { listen }] = await Promise.all([
    import('koa'),
    import('../../src/api/http/access/session-cookie.ts'),
    import('../../src/api/http/listen.ts'),
  ]);
  const app = new Koa();
  app.use((ctx) => setSessionCookie(ctx, token));
  const server = await listen(app, '127.0.0.1', 0);
  const { headers } = await send(server.port, 'GET', '/', {});
  await server.close(0);
  return headers['set-cookie']![0]!.split(';')[0]!;
}

const countThreads = async (): Promise<number> =>
  JSON.parse((await send(api.port, 'GET', '/v1/threads', { Authorization: `Bearer ${TOKEN}` })).body).length;
const own = () => `127.0.0.1:${api.port}`;
/** Begins a session of an MCP client. */
const postMcp = (port: number, headers: Record<string, string>) =>
  send(
    port,
    'POST',
    '/mcp',
    { 'Content-Type': 'application/json', ...headers },
    JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
    }),
  );
const post = (port: number, headers: Record<string, string>) =>
  send(port, 'POST', '/v1/threads', { 'Content-Type': 'application/json', ...headers }, '{}');

describe('a browser with a session', () => {
  it('works for the page of this origin, which reads, writes and follows events', async () => {
    const page = { Cookie: session, Host: own(), 'Sec-Fetch-Site': 'same-origin' };
    expect((await send(api.port, 'GET', '/v1/threads', page)).status).toBe(200);
    expect((await post(api.port, { ...page, Origin: `http://${own()}` })).status).toBe(201);
    // a network without TLS: browsers leave Sec-Fetch-Site out
    expect(
      (await post(api.port, { Cookie: session, Host: '192.168.1.5:7878', Origin: 'http://192.168.1.5:7878' })).status,
    ).toBe(201);
    expect((await postMcp(api.port, { ...page, Origin: `http://${own()}` })).status).toBe(200);
  });

  it.each([
    ['of another site', { Origin: 'http://evil.example', 'Sec-Fetch-Site': 'cross-site' }],
    [
      'of another port, such as an app that a model made',
      { Origin: 'http://127.0.0.1:3000', 'Sec-Fetch-Site': 'same-site' },
    ],
    ['whose origin may call with a token', { Origin: 'http://app.example' }],
    ['in a sandbox', { Origin: 'null' }],
    ['that hides its origin', {}],
  ])('does nothing for a page %s', async (_what, headers) => {
    const before = await countThreads();
    for (const Cookie of [session, `codewhale_runtime_token=${TOKEN}`]) {
      const { status, body } = await post(api.port, { ...headers, Cookie, Host: own() } as Record<string, string>);
      expect([status, body]).toEqual([401, '{"error":{"message":"runtime API bearer token required","status":401}}']);
      const begun = await postMcp(api.port, { ...headers, Cookie, Host: own() } as Record<string, string>);
      expect([begun.status, begun.headers['mcp-session-id']]).toEqual([401, undefined]);
    }
    expect(await countThreads()).toBe(before);
  });

  it('gives no stream of events to a page of another origin, and none to a foreign frame or picture', async () => {
    const foreign: Array<Record<string, string>> = [
      { Origin: 'http://127.0.0.1:3000' },
      { 'Sec-Fetch-Site': 'same-site' },
      { 'Sec-Fetch-Site': 'cross-site' },
    ];
    for (const headers of foreign)
      for (const path of ['/v1/threads/thr_x/events', '/v1/threads', '/v1/usage', '/mcp'])
        expect((await send(api.port, 'GET', path, { Cookie: session, Host: own(), ...headers })).status).toBe(401);
  });

  it('loses it with the token', async () => {
    const other = await sessionOf('another token');
    expect((await send(api.port, 'GET', '/v1/threads', { Cookie: other, Host: own() })).status).toBe(401);
    expect((await send(api.port, 'GET', '/v1/threads', { Cookie: session, Host: own() })).status).toBe(200);
  });
});

it('lets no page frame or embed an answer, whatever it is', async () => {
  for (const [path, status] of Object.entries({ '/health': 200, '/v1/threads': 401, '/nope': 404, '/mobile': 404 })) {
    const { status: found, headers } = await send(api.port, 'GET', path, {});
    expect([path, found]).toEqual([path, status]);
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'content-security-policy': expect.stringContaining("frame-ancestors 'none'"),
      'cross-origin-resource-policy': 'same-origin',
    });
  }
});

describe('without a token (--insecure)', () => {
  it('programs of this machine, pages of this origin and listed origins are let in, and the facts say so', async () => {
    for (const headers of [
      {},
      { Authorization: 'Bearer anything' },
      { Origin: 'http://app.example' },
      { 'Sec-Fetch-Site': 'none' },
    ])
      expect((await send(open, 'GET', '/v1/threads', headers as Record<string, string>)).status).toBe(200);
    expect(JSON.parse((await send(open, 'GET', '/v1/runtime/info', {})).body)).toMatchObject({
      auth_required: false,
      bind_host: '127.0.0.1',
    });
  });

  it('a page of another origin changes and learns nothing', async () => {
    const before = await countThreads();
    const foreign: Array<Record<string, string>> = [
      { Origin: 'http://evil.example' },
      { Origin: 'null' },
      { 'Sec-Fetch-Site': 'cross-site' },
      { 'Sec-Fetch-Site': 'same-site' },
    ];
    for (const headers of foreign)
      for (const ask of [post, postMcp]) expect((await ask(open, headers)).status).toBe(401);
    for (const ask of [post, postMcp]) expect((await ask(open, { Host: 'evil.example' })).status).toBe(421);
    expect(await countThreads()).toBe(before);
  });

  it('is refused where a network reaches it, and a configured token is asked for in any case', async () => {
    for (const host of ['0.0.0.0', '::', '192.168.1.5', 'fetch.example'])
      expect(() =>
        loadConfig({ FETCH_HOME: '/nonexistent', FETCH_RUNTIME_INSECURE: 'true', FETCH_RUNTIME_HOST: host }, {}),
      ).toThrow(ConfigError);
    for (const host of ['127.0.0.1', 'localhost', '::1', '127.1.2.3'])
      expect(
        loadConfig({ FETCH_HOME: '/nonexistent', FETCH_RUNTIME_INSECURE: 'true', FETCH_HOST: host }, {}).runtimeHost,
      ).toBe(host);
    const port = await api.another({ FETCH_RUNTIME_INSECURE: 'true', FETCH_RUNTIME_TOKEN: 'set' });
    expect((await send(port, 'GET', '/v1/threads', {})).status).toBe(401);
    expect((await send(port, 'GET', '/v1/threads', { 'X-DeepSeek-Runtime-Token': 'set' })).status).toBe(200);
  });
});

describe('/mobile', () => {
  it('shows without the token nothing but that one is needed, and lets each form of it pass', async () => {
    for (const path of ['/mobile', '/mobile/', '/mobile?token=wrong'])
      expect(await send(mobile, 'GET', path, {})).toMatchObject({
        status: 401,
        body: '{"error":{"message":"runtime API bearer token required","status":401}}',
        headers: { 'content-type': 'application/json' },
      });
    for (const [path, headers] of [
      ['/mobile', { Authorization: `Bearer ${TOKEN}` }],
      ['/mobile/', { 'X-Codewhale-Runtime-Token': TOKEN }],
      [`/mobile?token=${TOKEN}`, {}],
      ['/mobile', { Cookie: session }],
    ] as const) {
      const { status, body } = await send(mobile, 'GET', path, headers as Record<string, string>);
      expect(status).not.toBe(401);
      expect(body).not.toContain('mobile control is disabled');
    }
  });

  it('is no place to write', async () => {
    for (const port of [mobile, api.port]) {
      expect((await send(port, 'POST', '/mobile', {})).status).toBe(401);
      expect(await send(port, 'POST', '/mobile', { Authorization: `Bearer ${TOKEN}` })).toMatchObject({
        status: 405,
        headers: { allow: 'GET,HEAD' },
      });
    }
  });
});

describe('limits', () => {
  /** Status of a request that is written as it is. The other side may close before all of it is written. */
  const raw = (write: (line: (text: string) => void) => void): Promise<number> =>
    new Promise((resolve, reject) => {
      let text = '';
      const socket = connect(api.port, '127.0.0.1', () => write((line) => socket.write(`${line}\r\n`)));
      socket.on('data', (chunk) => {
        text += chunk.toString();
        if (text.includes('\r\n\r\n')) socket.destroy();
      });
      socket.on('error', () => {});
      socket.on('close', () =>
        text === '' ? reject(new Error('closed without an answer')) : resolve(Number(text.split(' ')[1])),
      );
    });
  const head = (...headers: string[]) => [
    'POST /v1/threads HTTP/1.1',
    'Host: localhost',
    `Authorization: Bearer ${TOKEN}`,
    ...headers,
  ];

  it('a body of more than 2 MB is refused: by its announced length at once, and in chunks when it gets there', async () => {
    const announced = head('Content-Type: application/json', `Content-Length: ${3 * 1024 * 1024}`, '');
    expect(await raw((line) => announced.forEach(line))).toBe(413);
    const chunked = head('Content-Type: application/json', 'Transfer-Encoding: chunked', '');
    const chunk = 'x'.repeat(64 * 1024);
    expect(
      await raw((line) => {
        chunked.forEach(line);
        for (let sent = 0; sent <= 40; sent++) line(`10000\r\n${chunk}`);
      }),
    ).toBe(413);
  });

  it('a head of more than 16 KB is refused, and a request of two lengths', async () => {
    const long = head(`X-Long: ${'x'.repeat(20_000)}`, '');
    expect(await raw((line) => long.forEach(line))).toBe(431);
    const smuggled = head('Content-Length: 2', 'Content-Length: 3', '', '{}');
    expect(await raw((line) => smuggled.forEach(line))).toBe(400);
  });

  it('nothing of it disturbs the next one', async () => {
    expect((await send(api.port, 'GET', '/health', {})).status).toBe(200);
  });
});
