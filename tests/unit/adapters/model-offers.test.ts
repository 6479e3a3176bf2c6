import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { documentedFacts } from '../../../src/adapters/model/endpoint/facts.ts';
import { offersOf } from '../../../src/adapters/model/endpoint/offers.ts';
import { openaiModel } from '../../../src/adapters/model/endpoint/openai.ts';
import type { ModelMessage, ModelRequest } from '../../../src/adapters/model/model.ts';
import { wireBody } from '../../../src/adapters/model/request/wire.ts';

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});
async function endpoint(answer: (body: string) => { status?: number; json: object }): Promise<string> {
  server = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    const { status = 200, json } = answer(body);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}
const request = (model: string, messages: ModelMessage[], more: Partial<ModelRequest> = {}): ModelRequest => ({
  model,
  messages,
  tools: [],
  signal: new AbortController().signal,
  onDelta: () => {},
  requestId: 'r',
  ...more,
});

test('models that can call tools come first, with the prices of the endpoint, and the list is asked for once', async () => {
  let asked = 0;
  const data = [
    { id: 'b/talker', supported_parameters: ['temperature'], pricing: { prompt: '0', completion: '0' } },
    { id: 'z/unknown' },
    {
      id: 'a/worker',
      supported_parameters: ['tools', 'reasoning'],
      pricing: { prompt: '0.0000025', completion: '0.00001' },
    },
    { id: 'a/router', supported_parameters: ['tools'], pricing: { prompt: '-1', completion: '-1' } },
    { id: 'text-embedding-3' },
  ];
  const baseUrl = await endpoint(() => {
    asked += 1;
    return { json: { object: 'list', data } };
  });
  const offers = () => offersOf({ kind: 'custom', baseUrl }, { timeoutMs: 5_000 });
  expect((await offers()).map(({ name, tools, price }) => [name, tools, price?.input, price?.output])).toEqual([
    ['a/router', true, 0, 0],
    ['a/worker', true, 2.5, 10],
    ['z/unknown', null, 0, 0],
    ['b/talker', false, 0, 0],
  ]);
  await offers();
  expect(asked).toBe(1);
});

test('an endpoint that does not know reasoning_effort is asked again without it, and later at once', async () => {
  const efforts: unknown[] = [];
  const baseUrl = await endpoint((body) => {
    const { reasoning_effort } = JSON.parse(body);
    efforts.push(reasoning_effort);
    return reasoning_effort
      ? { status: 400, json: { error: { message: "Unsupported parameter: 'reasoning_effort'" } } }
      : { json: { id: '1', model: 'm', choices: [{ index: 0, message: { content: 'hi' }, finish_reason: 'stop' }] } };
  });
  const model = openaiModel({ kind: 'custom', baseUrl, name: 'm' });
  for (let i = 0; i < 2; i++)
    expect((await model.complete(request('m', [{ role: 'user', content: 'x' }], { effort: 'low' }))).text).toBe('hi');
  expect(efforts).toEqual(['low', undefined, undefined]);
});

test('a request names what is to be cached only to models that need it', () => {
  const messages: ModelMessage[] = [
    { role: 'system', content: 's' },
    { role: 'user', content: 'one' },
    { role: 'assistant', content: 'a' },
    { role: 'user', content: 'two' },
  ];
  const sent = (model: string, baseUrl: string) =>
    JSON.parse(wireBody(request(model, messages), baseUrl, documentedFacts(baseUrl, model)).body).messages.map(
      ({ content }: { content: unknown }) => (Array.isArray(content) ? content[0].cache_control : null),
    );
  const mark = { type: 'ephemeral' };
  expect(sent('anthropic/claude', 'https://openrouter.ai/api/v1')).toEqual([mark, null, null, mark]);
  expect(sent('openai/gpt', 'https://openrouter.ai/api/v1')).toEqual([null, null, null, null]);
  expect(sent('anthropic/claude', 'http://127.0.0.1:1/v1')).toEqual([null, null, null, null]);
});
