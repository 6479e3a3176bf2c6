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
/** what the UI's own API says, by path */
const answers: Record<string, string> = {};

beforeAll(async () => {
  hidden = await hiddenAddress();
  behind = createServer((incoming, response) => {
    reached.push(`${incoming.method} ${incoming.url}`);
    response.end(answers[new URL(incoming.url ?? '', 'http://ui').pathname] ?? 'the UI');
  });
  await new Promise<void>((resolve) => behind.listen(hidden.port, hidden.ip, resolve));
  [port] = (await freePorts(1)) as [number];
  const target = new URL(`http://${hidden.ip}:${hidden.port}`);
  proxy = await serveUi({ port, target, token: TOKEN, codec, namespace: 'default' });
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
  const location = '/fetch-entry?to=%2Fnamespaces%3Fquery%3Da';
  expect(first).toMatchObject({ status: 303, headers: { location } });
  expect(String(first.headers['set-cookie'])).toMatch(
    /^fetch_ui=[0-9a-f]{64}; HttpOnly; SameSite=Strict; Path=\/; Max-Age=2592000$/,
  );
  expect(String(first.headers['set-cookie'])).not.toContain(TOKEN);
  expect(await get('/namespaces', { cookie: await cookie() })).toMatchObject({ status: 200, body: 'the UI' });
});

it('sets columns and views in each browser that it lets in, beside views of its person', async () => {
  const entry = await get('/fetch-entry?to=%2Fnamespaces');
  const [, nonce, script] = /<script nonce="([^"]+)">(.*)<\/script>/s.exec(entry.body)!;
  expect(entry.headers['content-security-policy']).toContain(`'nonce-${nonce}'`);
  const kept = new Map<string, string>();
  const storage = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
  };
  const went: string[] = [];
  const run = () =>
    new Function('localStorage', 'location', script!)(storage, { replace: (to: string) => went.push(to) });
  const inDefault = (key: string) => JSON.parse(kept.get(key)!).default;
  const mine = { id: '1', name: 'mine', query: 'a' };
  kept.set('saved-workflow-queries', JSON.stringify({ default: [mine], other: [mine] }));
  kept.set('saved-namespace-queries', 'not JSON');
  run();
  const columns = inDefault('namespace-workflow-table-columns');
  expect(columns.map(({ label }: { label: string }) => label)).toEqual(
    expect.arrayContaining(['Name', 'Channel', 'State', 'WaitingFor', 'Spent', 'Since']),
  );
  kept.set('namespace-workflow-table-columns', JSON.stringify({ default: [{ label: 'Status', pinned: true }] }));
  run();
  expect(inDefault('namespace-workflow-table-columns')).toEqual([{ label: 'Status', pinned: true }]);
  const names = ['Waits for a person', 'Failed', 'Spent most'];
  for (const [key, more] of [
    ['saved-workflow-queries', ['mine']],
    ['saved-namespace-queries', []],
  ] as const)
    expect(inDefault(key).map(({ name }: { name: string }) => name)).toEqual([...names, ...more]);
  expect(JSON.parse(kept.get('saved-workflow-queries')!).other).toEqual([mine]);
  expect(went).toEqual(['/namespaces', '/namespaces']);
});

it('leads nowhere else, whatever the link says', async () => {
  for (const to of ['//evil.example/a', '/\\evil.example', 'https://evil.example', '\\\\evil.example'])
    expect((await get(`/fetch-entry?to=${encodeURIComponent(to)}`)).body).toMatch(/"to":"\/[^/\\]/);
  expect((await get(`/fetch-entry?to=${encodeURIComponent('/</script><script>alert(1)')}`)).body).not.toContain(
    'alert(1)</script><script>',
  );
  expect((await get(`/fetch-entry?to=${encodeURIComponent('/</script><b>')}`)).body).not.toContain('</script><b>');
});

it('shows the lists with names, states and money in words', async () => {
  const plain = (value: unknown) => ({ data: base64(Buffer.from(JSON.stringify(value))) });
  const sealed = async (value: string) => {
    const [payload] = await codec.encode([defaultPayloadConverter.toPayload(value)]);
    const metadata = Object.entries(payload!.metadata!).map(([name, bytes]) => [name, base64(bytes)]);
    return { metadata: Object.fromEntries(metadata), data: base64(payload!.data!) };
  };
  const workflow = (id: string, more: object) => ({ execution: { workflowId: id }, ...more });
  answers['/api/v1/namespaces/default/workflows'] = JSON.stringify({
    executions: [
      workflow('chat/whatsapp/1', {
        type: { name: 'conversation' },
        status: 'WORKFLOW_EXECUTION_STATUS_RUNNING',
        startTime: '2026-01-01T00:00:00Z',
        memo: { fields: { name: await sealed('Ana') } },
        searchAttributes: {
          indexedFields: {
            AgentPhase: plain('waiting'),
            AgentWaitsFor: plain('approval'),
            AgentSince: plain('2026-02-02T00:00:00Z'),
            ChatChannel: plain('whatsapp'),
            SpendMicroUsd: plain(1_250_000),
          },
        },
      }),
      workflow('chat/whatsapp/2', {
        type: { name: 'conversation' },
        status: 'WORKFLOW_EXECUTION_STATUS_RUNNING',
        memo: { fields: { name: { metadata: {}, data: 'no payload' } } },
        searchAttributes: { indexedFields: { ChatChannel: plain('whatsapp'), SpendMicroUsd: plain(2_000_000) } },
      }),
      workflow('task/1', {
        type: { name: 'codingTask' },
        status: 'WORKFLOW_EXECUTION_STATUS_COMPLETED',
        closeTime: '2026-03-03T00:00:00Z',
        searchAttributes: { indexedFields: { AgentPhase: plain('failed'), AgentWaitsFor: plain('plan') } },
      }),
    ],
  });
  answers['/api/v1/namespaces/default/schedules'] = JSON.stringify({
    schedules: [
      { scheduleId: 'a', memo: { fields: { name: await sealed('lunch'), schedule: await sealed('30 8 * * 1-5') } } },
      { scheduleId: 'b' },
    ],
  });
  answers['/api/v1/namespaces/default/search-attributes'] = JSON.stringify({ customAttributes: { A: 'x' } });
  const headers = { cookie: await cookie() };
  const list = async (name: string, query = '') =>
    JSON.parse((await get(`/api/v1/namespaces/default/${name}?query=${encodeURIComponent(query)}`, headers)).body);
  const shown = (listed: Array<{ searchAttributes?: { indexedFields: Record<string, { data: string }> } }>) =>
    listed.map(({ searchAttributes }) =>
      Object.fromEntries(
        ['Name', 'State', 'WaitingFor', 'Channel', 'Spent', 'Since'].flatMap((name) => {
          const data = searchAttributes?.indexedFields[name]?.data;
          return data === undefined ? [] : [[name, JSON.parse(Buffer.from(data, 'base64').toString())]];
        }),
      ),
    );
  expect(shown((await list('workflows')).executions)).toEqual([
    {
      Name: 'Ana',
      State: 'waiting',
      WaitingFor: 'approval',
      Channel: 'whatsapp',
      Spent: '$1.25',
      Since: '2026-02-02T00:00:00Z',
    },
    { Name: 'a chat on WhatsApp', State: 'idle', Channel: 'whatsapp', Spent: '$2.00' },
    { Name: 'a coding task', State: 'failed', Since: '2026-03-03T00:00:00Z' },
  ]);
  expect(shown((await list('schedules')).schedules)).toEqual([{ Name: 'lunch: every weekday at 8:30' }, {}]);
  expect((await list('search-attributes')).customAttributes).toMatchObject({
    A: 'x',
    Name: 'INDEXED_VALUE_TYPE_KEYWORD',
    Since: 'INDEXED_VALUE_TYPE_DATETIME',
  });
  const dearest = await list('workflows', 'SpendMicroUsd > 0 AND State = "State" AND `Channel` = \'api\'');
  expect(shown(dearest.executions).map(({ Name }) => Name)).toEqual(['a chat on WhatsApp', 'Ana', 'a coding task']);
  expect(decodeURIComponent(reached.at(-1)!.replaceAll('+', ' '))).toContain(
    'SpendMicroUsd > 0 AND AgentPhase = "State" AND ChatChannel = \'api\'',
  );
});

it('passes on what is no list', async () => {
  answers['/api/v1/namespaces/default/workflows'] = '{"executions": [';
  expect(await get('/api/v1/namespaces/default/workflows', { cookie: await cookie() })).toMatchObject({
    status: 200,
    body: '{"executions": [',
  });
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
