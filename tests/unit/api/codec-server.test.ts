import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPayloadCodec } from '../../../src/adapters/payloads/codec.ts';
import { CODEC_BODY_LIMIT } from '../../../src/adapters/payloads/codec-server.ts';
import { payloadKeys } from '../../../src/adapters/payloads/keys.ts';
import { listen } from '../../../src/api/http/listen.ts';
import { createStatusApi } from '../../../src/api/status/status-api.ts';
import { loadConfig } from '../../../src/config.ts';

const UI = 'http://ui.example:8080';
const codec = createPayloadCodec(() => payloadKeys('11'.repeat(32)));
let server: Awaited<ReturnType<typeof listen>>;
beforeAll(async () => {
  const config = loadConfig({ FETCH_HOME: '/nowhere', FETCH_CODEC_ORIGINS: `${UI}, http://other.example` }, {});
  server = await listen(createStatusApi({ config, codec, adminToken: 'admin' } as never), '127.0.0.1', 0);
});
afterAll(() => server?.close());

const ask = (
  path: string,
  body: unknown,
  headers: Record<string, string> = { authorization: 'Bearer admin' },
  method = 'POST',
) =>
  fetch(`http://127.0.0.1:${server.port}${path}`, {
    method,
    headers,
    ...(method === 'POST' && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
const json = ({ metadata, data }: Payload) => ({
  metadata: Object.fromEntries(
    Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value).toString('base64')]),
  ),
  data: Buffer.from(data!).toString('base64'),
});
const plain = json(defaultPayloadConverter.toPayload({ words: 'of a person' }));

describe('the codec server of the status API', () => {
  it.each(['/codec', '/codec/default'])("encrypts and decrypts at %s what Temporal's protocol gives it", async (at) => {
    const { payloads: sealed } = (await (await ask(`${at}/encode`, { payloads: [plain] })).json()) as {
      payloads: Array<typeof plain>;
    };
    expect(Buffer.from(sealed[0]!.metadata.encoding!, 'base64').toString()).toBe('binary/encrypted');
    const answer = await ask(`${at}/decode`, { payloads: [...sealed, plain] });
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(await answer.json()).toEqual({ payloads: [plain, plain] });
  });

  it('answers nobody without the admin token', async () => {
    expect((await ask('/codec/decode', { payloads: [] }, {})).status).toBe(401);
    expect((await ask('/codec/decode', { payloads: [] }, { authorization: 'Bearer other' })).status).toBe(403);
    expect((await ask('/codec/other', {})).status).toBe(404);
  });

  it('lets pages of named Web UIs ask, and no other page', async () => {
    const preflight = await ask(
      '/codec/decode',
      null,
      { origin: UI, 'access-control-request-headers': 'authorization,content-type,x-namespace' },
      'OPTIONS',
    );
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-origin')).toBe(UI);
    expect(preflight.headers.get('access-control-allow-headers')).toMatch(/authorization.*content-type.*x-namespace/);
    expect(
      (await ask('/codec/decode', { payloads: [] }, { origin: UI, authorization: 'Bearer admin' })).headers.get(
        'access-control-allow-origin',
      ),
    ).toBe(UI);
    const foreign = await ask('/codec/decode', null, { origin: 'http://evil.example' }, 'OPTIONS');
    expect(foreign.headers.get('access-control-allow-origin')).toBeNull();
    expect(foreign.headers.get('access-control-allow-headers')).toBeNull();
  });

  it.each([
    ['no JSON', '{', 400],
    ['another shape', { payloads: [{ data: 1 }] }, 400],
    ['no list', { payloads: {} }, 400],
    ['null', 'null', 400],
    [
      'a payload that was changed',
      { payloads: [{ metadata: { encoding: Buffer.from('binary/encrypted').toString('base64') }, data: 'AAAA' }] },
      422,
    ],
    ['too much', 'x'.repeat(CODEC_BODY_LIMIT + 1), 413],
  ])('refuses %s', async (_what, body, status) => {
    const answer = await ask('/codec/decode', body);
    expect(answer.status).toBe(status);
    expect((await answer.text()).length).toBeGreaterThan(10);
  });
});
