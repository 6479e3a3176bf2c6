import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { findModelServers } from '../../../scripts/provide-model-servers.ts';
import { openaiModel } from '../../../src/adapters/model/endpoint/openai.ts';
import type { Model, ModelMessage, ModelRequest, ModelTool } from '../../../src/adapters/model/model.ts';
import { startTestApp } from '../../support/app.ts';
import { type ModelServer, startLiteLlm, startLlama } from '../../support/model-servers.ts';
import { until } from '../../support/until.ts';
import { calls, refusal, type ScriptedEndpoint, says, startEndpoint } from './endpoint.ts';

/** Steps of turns on servers of other makes: llama.cpp with the tiny model, and LiteLLM's proxy. */

const TOOL: ModelTool = {
  name: 'report_progress',
  description: 'Tells the person how long work goes.',
  parameters: {
    type: 'object',
    properties: { message: { type: 'string', minLength: 1, maxLength: 40 }, percent: { type: 'number' } },
    required: ['message'],
    additionalProperties: false,
  },
};
const question: ModelMessage[] = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Where is the heron?' },
];

const open = (server: ModelServer | ScriptedEndpoint, name: string): Model =>
  openaiModel({ kind: 'custom', baseUrl: server.baseUrl, name });
const ask = (model: Model, messages: ModelMessage[], more: Partial<ModelRequest> = {}) =>
  model.complete({
    model: model.name,
    messages,
    tools: [TOOL],
    signal: AbortSignal.timeout(100_000),
    onDelta: () => {},
    requestId: 'r',
    ...more,
  });

/** A step with a call, and the one behind its result. */
async function twoSteps(model: Model) {
  const parts: string[] = [];
  const first = await ask(model, question);
  const results = first.calls.map(({ id }): ModelMessage => ({ role: 'tool', callId: id, content: 'ok' }));
  const { text, calls: made, state } = first;
  const step: ModelMessage = { role: 'assistant', content: text, calls: made, ...(state && { state }) };
  const second = await ask(model, [...question, step, ...results], { onDelta: (_, part) => void parts.push(part) });
  return { first, second, parts };
}

/** Some 40,000 tokens of the tiny model. */
const TOO_LONG = 'The heron stands. '.repeat(8_000);
/** A turn on a machine that is busy with something else: nothing here says how fast it must be. */
const BUSY_MS = 170_000;

/** Nothing is computed on the server. */
const idle = ({ baseUrl }: ModelServer): Promise<unknown> =>
  until('the server is idle', async () => {
    const slots = (await (await fetch(baseUrl.replace(/\/v1$/, '/slots'))).json()) as object[];
    return slots.every((slot) => (slot as { is_processing: boolean }).is_processing === false);
  });

/** One endpoint with the models of several servers. What is no request of a model goes to the first. */
async function routed(servers: Record<string, ModelServer>): Promise<ModelServer> {
  const proxy = createServer(async (request, response) => {
    const body = await text(request);
    const name = body === '' ? undefined : (JSON.parse(body) as { model?: string }).model;
    const to = servers[name ?? ''] ?? Object.values(servers)[0]!;
    const stop = new AbortController();
    response.on('close', () => stop.abort());
    const answer = await fetch(new URL(request.url!, to.baseUrl), {
      ...{ method: request.method!, signal: stop.signal, headers: { 'content-type': 'application/json' } },
      ...(body !== '' && { body }),
    });
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'application/json' });
    await pipeline(answer.body!, response).catch(() => {});
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return { baseUrl: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/v1`, close: () => void proxy.close() };
}

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'fetch-models-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.skipIf(findModelServers() === null)('llama.cpp', () => {
  let server: ModelServer;
  let endless: ModelServer;
  const servers: ModelServer[] = [];
  beforeAll(async () => {
    server = await startLlama(folder, { name: 'tiny', context: 32_768 });
    servers.push(server);
    endless = await startLlama(folder, { name: 'endless', context: 65_536, endless: true });
    servers.push(endless);
  }, 180_000);
  afterAll(() => {
    for (const each of servers) each.close();
  });

  test('a call is shaped by a grammar, and its result is answered in parts', async () => {
    const { first, second, parts } = await twoSteps(open(server, 'tiny'));
    expect(first.calls.map(({ name }) => name)).toEqual(['report_progress']);
    expect(JSON.parse(first.calls[0]!.arguments)).toEqual({ message: expect.stringMatching(/./) });
    expect([second.text, second.calls, second.usageEstimated]).toEqual(['The heron stands in the water.', [], false]);
    expect(parts.length).toBeGreaterThan(1);
  });

  test('a stop in the middle of an answer stops the server, too', async () => {
    const stop = new AbortController();
    const reason = new Error('stopped');
    const result: ModelMessage[] = [
      ...question,
      { role: 'assistant', content: '', calls: [{ id: 'call_1', name: TOOL.name, arguments: '{}' }] },
      { role: 'tool', callId: 'call_1', content: 'ok' },
    ];
    const asking = ask(open(endless, 'endless'), result, {
      signal: stop.signal,
      onDelta: (_, text) => void (text !== '' && stop.abort(reason)),
    });
    await expect(asking).rejects.toBe(reason);
    await idle(endless);
  });

  test('what does not fit is an overflow, and the size is known from the server', async () => {
    const model = open(server, 'tiny');
    const long: ModelMessage[] = [{ role: 'user', content: TOO_LONG }];
    await expect(ask(model, long)).rejects.toMatchObject({
      type: 'ContextOverflow',
      message: expect.stringMatching(/32768/),
    });
    expect((await model.facts('tiny')).contextTokens).toBe(32_768);
  });

  test('a person sees a turn with a tool, an answer that is stopped in the middle, and an answer to what is longer than the context', async () => {
    const both = await routed({ tiny: server, endless });
    const app = await startTestApp({ OPENAI_BASE_URL: both.baseUrl, AGENT_MODEL: 'tiny' });
    onTestFinished(async () => {
      await app.close();
      both.close();
    });
    const thread = await app.thread();
    const begin = async (prompt: string, model: string) => {
      const { body } = await app.request('POST', `/v1/threads/${thread}/turns`, { prompt, model });
      return (body as { turn: { id: string } }).turn.id;
    };
    const seen = async (turn: string) =>
      (await app.detail(thread)).items.filter(({ turn_id, kind }) => turn_id === turn && kind !== 'user_message');

    const first = await begin('Where is the heron?', 'tiny');
    expect((await app.ended(thread, first, BUSY_MS)).status).toBe('completed');
    expect((await seen(first)).map(({ kind, summary }) => [kind, summary])).toEqual([
      ['tool_call', expect.stringMatching(/^report_progress/)],
      ['status', 'Reading'],
      ['agent_message', 'The heron stands in the water.'],
    ]);

    const second = await begin('And now?', 'endless');
    const answer = async () => (await seen(second)).find(({ kind }) => kind === 'agent_message');
    await until('it speaks', async () => (await answer())?.status === 'in_progress', BUSY_MS);
    await app.say(thread, 'stop');
    expect((await app.ended(thread, second, BUSY_MS)).status).toBe('interrupted');
    expect(await answer()).toMatchObject({ status: 'interrupted', detail: expect.stringMatching(/^The heron stands/) });
    await idle(endless);

    const third = await begin(TOO_LONG, 'tiny');
    expect((await app.ended(thread, third, BUSY_MS)).status).toBe('completed');
    expect((await seen(third)).at(-1)).toMatchObject({
      kind: 'agent_message',
      detail: 'The heron stands in the water.',
    });
  }, 600_000);
});

describe.skipIf(findModelServers() === null)("LiteLLM's proxy", () => {
  let behind: ScriptedEndpoint;
  let proxy: ModelServer;
  beforeAll(async () => {
    behind = await startEndpoint({});
    proxy = await startLiteLlm(folder, behind.baseUrl, ['m']);
  }, 180_000);
  afterAll(async () => {
    proxy?.close();
    await behind?.close();
  });

  test('a turn with a tool gets through, and its answer streams', async () => {
    behind.say(calls(['report_progress', { message: 'Half of it' }]), says('The heron is here.'));
    const { first, second } = await twoSteps(open(proxy, 'm'));
    expect(first.calls).toMatchObject([{ name: 'report_progress', arguments: '{"message":"Half of it"}' }]);
    expect(second.text).toBe('The heron is here.');
    const { body } = behind.requests().at(-1)!;
    expect([body.stream, body.messages.at(-1).role]).toEqual([true, 'tool']);
  });

  test('an error of the model behind it is told', async () => {
    behind.say(refusal(400, { error: { message: 'The heron is asleep', type: 'invalid_request_error' } }));
    await expect(ask(open(proxy, 'm'), question)).rejects.toMatchObject({
      type: 'ModelRejected',
      message: expect.stringMatching(/heron is asleep/),
    });
  });
});
