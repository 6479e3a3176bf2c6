import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findModelServers } from '../../../scripts/provide-model-servers.ts';
import { openaiModel } from '../../../src/adapters/model/endpoint/openai.ts';
import type { Model, ModelMessage, ModelRequest, ModelTool } from '../../../src/adapters/model/model.ts';
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

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'fetch-models-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.skipIf(findModelServers() === null)('llama.cpp', () => {
  let server: ModelServer;
  const servers: ModelServer[] = [];
  beforeAll(async () => {
    server = await startLlama(folder, { name: 'tiny', context: 8_192 });
    servers.push(server);
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
    const endless = await startLlama(folder, { name: 'endless', context: 65_536, endless: true });
    servers.push(endless);
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
    await until('the server is idle', async () => {
      const slots = (await (await fetch(endless.baseUrl.replace(/\/v1$/, '/slots'))).json()) as object[];
      return slots.every((slot) => (slot as { is_processing: boolean }).is_processing === false);
    });
  });

  test('what does not fit is an overflow, and the size is known from the server', async () => {
    const model = open(server, 'tiny');
    const long: ModelMessage[] = [{ role: 'user', content: 'The heron stands. '.repeat(4_000) }];
    await expect(ask(model, long)).rejects.toMatchObject({
      type: 'ContextOverflow',
      message: expect.stringMatching(/8192/),
    });
    expect((await model.facts('tiny')).contextTokens).toBe(8_192);
  });
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
