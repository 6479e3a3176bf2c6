import { once } from 'node:events';
import { mkdtempSync, readFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { discoverModels, modelsOf, verifyModel } from '../../../src/adapters/model/endpoint/discover.ts';
import { openModel } from '../../../src/adapters/model/endpoint/open-model.ts';
import { openaiModel } from '../../../src/adapters/model/endpoint/openai.ts';
import type { ModelMessage, ModelRequest, ModelTool } from '../../../src/adapters/model/model.ts';
import { startScriptedModel } from '../../support/scripted-model.ts';

const open: Array<{ close(): unknown }> = [];
afterEach(async () => {
  for (const item of open.splice(0)) await item.close();
});
const keep = <T extends { close(): unknown }>(item: T): T => {
  open.push(item);
  return item;
};
const ask = (content: string | ModelMessage[], more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: 'm',
  messages: typeof content === 'string' ? [{ role: 'user', content }] : content,
  tools: [],
  signal: new AbortController().signal,
  onDelta: () => {},
  requestId: 'turn_1/1',
  ...more,
});
const script = (...steps: object[]) => `SCRIPT:${JSON.stringify(steps)}`;
const tool = (name: string, ...properties: string[]): ModelTool => ({
  name,
  description: name,
  parameters: { type: 'object', properties: Object.fromEntries(properties.map((property) => [property, {}])) },
});

async function scripted(options: { ledgerFile?: string } = {}) {
  const server = keep(await startScriptedModel(options));
  return { server, model: openaiModel({ kind: 'custom', baseUrl: server.baseUrl, name: 'm' }) };
}
async function endpoint(listener: RequestListener): Promise<string> {
  const server: Server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  keep({
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

describe('the scripted model over the real client', () => {
  test('streams reasoning, text and tool calls with usage, and goes on at the next step', async () => {
    const { server, model } = await scripted();
    const user = script(
      {
        think: 'need a file',
        say: 'Reading.',
        call: [
          ['read', { path: 'a' }],
          ['read', 'not json'],
        ],
      },
      { say: 'Got $LAST' },
    );
    const deltas: string[] = [];
    const first = await model.complete(ask(user, { onDelta: (kind, text) => deltas.push(`${kind}:${text}`) }));
    expect(first).toMatchObject({
      text: 'Reading.',
      reasoning: 'need a file',
      finishReason: 'tool_calls',
      usageEstimated: false,
    });
    expect(first.calls.map((call) => [call.name, call.arguments])).toEqual([
      ['read', '{"path":"a"}'],
      ['read', 'not json'],
    ]);
    expect(deltas).toEqual(['agent_reasoning:need a file', 'agent_message:Reading.']);
    const results = first.calls.map(
      (call, at): ModelMessage => ({ role: 'tool', callId: call.id, content: `result ${at}` }),
    );
    const second = await model.complete(
      ask(
        [{ role: 'user', content: user }, { role: 'assistant', content: first.text, calls: first.calls }, ...results],
        { requestId: 'turn_1/2' },
      ),
    );
    expect(second).toMatchObject({ text: 'Got result 1', calls: [], finishReason: 'stop' });
    expect(server.requests().map((entry) => [entry.requestId, entry.step, entry.state])).toEqual([
      ['turn_1/1', 0, 'answered'],
      ['turn_1/2', 1, 'answered'],
    ]);
  });

  test.each([
    [401, 'ModelUnauthorized', 'Authentication failed: scripted 401'],
    [404, 'ModelNotFound', 'Invalid request (404): scripted 404'],
    [500, 'ModelUnavailable', 'Server error (500): scripted 500'],
  ])('a scripted %i is %s and is not retried by the client', async (fail, type, message) => {
    const { server, model } = await scripted();
    await expect(model.complete(ask(script({ fail })))).rejects.toMatchObject({ type, message });
    expect(server.requests()).toHaveLength(1);
  });

  test('a failure with `times` ends after so many requests of the same step, and a rate limit tells its wait', async () => {
    const { model } = await scripted();
    const request = ask(script({ fail: 429, retryAfter: 3, times: 2, say: 'at last' }));
    for (let attempt = 0; attempt < 2; attempt++)
      await expect(model.complete(request)).rejects.toMatchObject({ type: 'ModelRateLimited', retryAfterMs: 3_000 });
    expect((await model.complete(request)).text).toBe('at last');
  });

  test('a connection cut in the middle of an answer is a broken stream', async () => {
    const { server, model } = await scripted();
    await expect(model.complete(ask(script({ say: 'one two three four', pace: 1, cut: true })))).rejects.toMatchObject({
      type: 'ModelStreamBroken',
    });
    await vi.waitFor(() => expect(server.requests()[0]?.state).toBe('aborted'), 30_000);
  });

  test('an abort rejects with its own reason and ends the request at the endpoint', async () => {
    const ledgerFile = join(mkdtempSync(join(tmpdir(), 'ledger-')), 'ledger.ndjson');
    const { server, model } = await scripted({ ledgerFile });
    for (const step of [{ hang: true }, { say: 'word '.repeat(600), pace: 20 }]) {
      const controller = new AbortController();
      const reason = new Error('stop');
      const answer = model.complete(ask(script(step), { signal: controller.signal }));
      answer.catch(() => {});
      await vi.waitFor(() => expect(server.requests().at(-1)?.state).toBe('open'), 30_000);
      controller.abort(reason);
      await expect(answer).rejects.toBe(reason);
      await vi.waitFor(() => expect(server.requests().at(-1)?.state).toBe('aborted'), 30_000);
    }
    const lines = readFileSync(ledgerFile, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map((line) => [line.n, line.state])).toEqual([
      [1, 'open'],
      [1, 'aborted'],
      [2, 'open'],
      [2, 'aborted'],
    ]);
  });

  test('an aborted signal sends nothing', async () => {
    const { server, model } = await scripted();
    const reason = new Error('too late');
    await expect(model.complete(ask('hi', { signal: AbortSignal.abort(reason) }))).rejects.toBe(reason);
    expect(server.requests()).toEqual([]);
  });
});

describe('an endpoint with habits of its own', () => {
  test('that ignores streaming and answers whole is understood', async () => {
    const baseUrl = await endpoint((_request, response) => {
      response.setHeader('content-type', 'application/json; charset=utf-8');
      response.end(
        JSON.stringify({
          model: 'real',
          choices: [{ message: { content: 'whole' }, finish_reason: 'stop' }],
          usage: { prompt_tokens: 3, completion_tokens: 1 },
        }),
      );
    });
    const answer = await openaiModel({ kind: 'custom', baseUrl, name: 'm' }).complete(ask('hi'));
    expect(answer).toMatchObject({
      text: 'whole',
      model: 'real',
      usage: { inputTokens: 3, outputTokens: 1 },
      usageEstimated: false,
    });
  });

  describe('that falls silent is given up', () => {
    const PART = 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n';
    const LONG = 60_000;
    const times = { firstByte: LONG, idle: LONG, signs: LONG, whole: LONG };
    const begins = (write?: (response: ServerResponse) => void) => (_request: unknown, response: ServerResponse) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      write?.(response);
    };
    /** Again and again, until nobody listens. */
    const drips = (text: () => string) =>
      begins((response) => {
        const timer = setInterval(() => response.write(text()), 20);
        response.on('close', () => clearInterval(timer));
      });
    let at = 0;
    test.each([
      ['before it answers', () => {}, { firstByte: 60 }, 'ModelUnavailable', 'no byte'],
      ['behind its headers', begins(), { firstByte: 60 }, 'ModelUnavailable', 'no byte'],
      [
        'behind its first word',
        begins((response) => response.write(PART)),
        { idle: 60 },
        'ModelStreamBroken',
        'no byte',
      ],
      [
        'but for signs of life',
        drips(() => ': keep-alive\n\n'),
        { signs: 150 },
        'ModelUnavailable',
        'nothing but signs of life',
      ],
      [
        'but for the bytes of a word that never ends',
        drips(() => PART[at++ % 20]!),
        { signs: 150 },
        'ModelUnavailable',
        'nothing but signs of life',
      ],
      [
        'and begins again before each time has passed',
        drips(() => PART),
        { whole: 300 },
        'ModelStreamBroken',
        'an answer that came in drips',
      ],
    ] as const)('%s', async (_, listener, short, type, why) => {
      const baseUrl = await endpoint(listener as RequestListener);
      const model = openaiModel({ kind: 'custom', baseUrl, name: 'm', times: { ...times, ...short } });
      const failure = await model.complete(ask('hi')).catch((error) => error);
      expect([failure.type, failure.silent, failure.message]).toEqual([
        type,
        type === 'ModelUnavailable',
        expect.stringContaining(why),
      ]);
    });
  });

  test('that reports an error with status 200 or inside the stream is believed', async () => {
    const error = JSON.stringify({ error: { code: 429, message: 'slow down' } });
    for (const type of ['application/json', 'text/event-stream']) {
      const baseUrl = await endpoint((_request, response) => {
        response.setHeader('content-type', type);
        response.end(type === 'application/json' ? error : `data: ${error}\n\n`);
      });
      await expect(openaiModel({ kind: 'openrouter', baseUrl, name: 'm' }).complete(ask('hi'))).rejects.toMatchObject({
        type: 'ModelRateLimited',
      });
    }
  });

  test('that sends rubbish in its stream is a broken stream', async () => {
    const baseUrl = await endpoint((_request, response) => {
      response.setHeader('content-type', 'text/event-stream');
      response.end('data: {not json\n\n');
    });
    await expect(openaiModel({ kind: 'custom', baseUrl, name: 'm' }).complete(ask('hi'))).rejects.toMatchObject({
      type: 'ModelStreamBroken',
    });
  });

  test('that does not know stream_options is asked again without it', async () => {
    const seen: boolean[] = [];
    const baseUrl = await endpoint(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += chunk;
      const asked = body.includes('stream_options');
      seen.push(asked);
      response.writeHead(asked ? 400 : 200, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify(
          asked
            ? { detail: 'unknown field stream_options' }
            : { choices: [{ message: { content: 'ok' }, finish_reason: 'stop' }] },
        ),
      );
    });
    const answer = await openaiModel({ kind: 'custom', baseUrl, name: 'm' }).complete(ask('hi'));
    expect([answer.text, answer.usageEstimated, seen]).toEqual(['ok', true, [true, false]]);
  });

  test('that is not there is unavailable', async () => {
    const gone = await startScriptedModel();
    await gone.close();
    await expect(
      openaiModel({ kind: 'custom', baseUrl: gone.baseUrl, name: 'm' }).complete(ask('hi')),
    ).rejects.toMatchObject({
      type: 'ModelUnavailable',
      message: expect.stringMatching(/^Network error: Connection failed: .*ECONNREFUSED/),
    });
  });
});

describe('the practice model', () => {
  const practice = async () => keep(await openModel({} as never));

  test('serves when nothing is configured, says so, and obeys no script', async () => {
    const model = await practice();
    expect([model.kind, model.name]).toEqual(['practice', 'practice']);
    expect((await model.complete(ask('hello'))).text).toContain('practice model');
    expect((await model.complete(ask(script({ say: 'obeyed' })))).text).toMatch(/^No real model is set up/);
  });

  test.each([
    [
      'ask me about lunch',
      tool('ask_user', 'question', 'options'),
      { question: 'What shall we have?', options: ['Pizza', 'Salad', 'Nothing today'] },
    ],
    ['fetch example.com', tool('web_fetch', 'url'), { url: 'https://example.com' }],
    ['show progress', tool('report_progress', 'message', 'percent'), { percent: 50 }],
    [
      'every minute',
      tool('workflow_create', 'name', 'steps', 'schedule'),
      { name: 'what is scheduled', schedule: '*/1 * * * *' },
    ],
    ['routines', tool('cron_list'), {}],
    ['stop schedule', tool('cron_delete', 'cronId'), { cronId: 'what is scheduled' }],
  ])('"%s" calls its tool, and says so when the tool is missing', async (words, offered, args) => {
    const model = await practice();
    const answer = await model.complete(ask(words, { tools: [offered] }));
    expect(answer.calls.map((call) => call.name)).toEqual([offered.name]);
    expect(JSON.parse(answer.calls[0]!.arguments)).toMatchObject(args);
    const without = await model.complete(ask(words));
    expect([without.calls, without.text]).toEqual([[], expect.stringContaining(`no such tool`)]);
  });

  test('answers in the language of the person, whose words it knows in English', async () => {
    const model = await practice();
    expect((await model.complete(ask('Hallo'))).text).toMatch(/^Das ist das Übungsmodell: .*"ask me about lunch"/s);
    const later: ModelMessage[] = [
      { role: 'user', content: 'bonjour' },
      { role: 'assistant', content: '' },
      { role: 'user', content: 'ask me about lunch' },
    ];
    const asked = await model.complete(ask(later, { tools: [tool('ask_user', 'question', 'options')] }));
    expect(asked.text).toBe('Je te pose une question.');
    expect(JSON.parse(asked.calls[0]!.arguments)).toEqual({
      question: 'Qu’est-ce qu’on mange ?',
      options: ['Pizza', 'Salade', 'Rien aujourd’hui'],
    });
    expect((await model.complete(ask('qué tiempo hace en la luna'))).text).toMatch(/conozco pocas frases/);
  });

  test('reads no page where none is named', async () => {
    const answer = await (await practice()).complete(
      ask('open the door of the moon', { tools: [tool('web_fetch', 'url')] }),
    );
    expect(answer.calls).toEqual([]);
  });

  test('takes the answer of a question, and makes the schedule after the routine where one call does not make both', async () => {
    const model = await practice();
    const called = (words: string, name: string, content: string): ModelMessage[] => [
      { role: 'user', content: words },
      { role: 'assistant', content: '', calls: [{ id: 'c', name, arguments: '{}' }] },
      { role: 'tool', callId: 'c', content },
    ];
    expect((await model.complete(ask(called('ask me', 'ask_user', '{"answer":"tea"}')))).text).toContain(
      'You chose "tea"',
    );
    const next = await model.complete(
      ask(called('every minute', 'workflow_create', 'made'), { tools: [tool('cron_create', 'workflow', 'schedule')] }),
    );
    expect(JSON.parse(next.calls[0]!.arguments)).toEqual({ workflow: 'what is scheduled', schedule: '*/1 * * * *' });
    const both = await model.complete(ask(called('every minute', 'workflow_create', 'Created it. Scheduled "it".')));
    expect([both.calls, both.text]).toEqual([[], expect.stringContaining('Scheduled "it".')]);
  });
});

describe('finding a model', () => {
  test('offers the keys that are set and the local servers that answer, and nothing else', async () => {
    const { server } = await scripted();
    const port = Number(new URL(server.baseUrl).port);
    const local = [
      { product: 'Local', port },
      { product: 'Dead', port: 9 },
    ];
    expect(await discoverModels({ OPENAI_API_KEY: 'k1', OPENROUTER_API_KEY: 'k2' } as never, { local })).toMatchObject([
      { kind: 'openai', env: { OPENAI_API_KEY: 'k1' } },
      { kind: 'openrouter', env: { OPENROUTER_API_KEY: 'k2' } },
      { kind: 'local', env: { OPENAI_BASE_URL: server.baseUrl, AGENT_MODEL: 'practice' } },
    ]);
  });

  test('a choice is verified by one real completion, and its failure names no key', async () => {
    const { server } = await scripted();
    expect(await verifyModel({ OPENAI_BASE_URL: server.baseUrl })).toEqual({
      ok: true,
      model: 'practice',
      price: expect.stringContaining('counts as free'),
      learned: '',
    });
    const refusing = await endpoint((request, response) => {
      response.writeHead(401, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message: `bad key ${request.headers.authorization}` } }));
    });
    const result = await verifyModel({
      OPENAI_BASE_URL: refusing,
      OPENAI_API_KEY: 'very-secret-key',
      AGENT_MODEL: 'm',
    });
    expect(result).toEqual({
      ok: false,
      error: expect.stringMatching(/^The key was refused\. The service says: bad key/),
    });
    expect(JSON.stringify(result)).not.toContain('very-secret-key');
  });

  test('an address at which nothing answers is told in words', async () => {
    const nowhere = { OPENAI_BASE_URL: 'http://no-such-host.invalid/v1', OPENAI_API_KEY: 'k', AGENT_MODEL: 'm' };
    const unknown = /^The name no-such-host\.invalid is not known here\. Usually there is no network, or /;
    await expect(modelsOf(nowhere)).rejects.toThrow(unknown);
    expect(await verifyModel(nowhere)).toEqual({ ok: false, error: expect.stringMatching(unknown) });
    const closed = { ...nowhere, OPENAI_BASE_URL: 'http://127.0.0.1:61/v1' };
    await expect(modelsOf(closed)).rejects.toThrow('Nothing answers at 127.0.0.1:61. The server may not be running.');
  });
});
