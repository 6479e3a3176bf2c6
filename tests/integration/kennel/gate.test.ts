import { once } from 'node:events';
import { existsSync, lstatSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, request, type Server } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openGate } from '../../../src/activities/task/gate.ts';
import { gateFolder } from '../../../src/activities/task/run/folder.ts';
import { createGate, type Gate, type GateDeps } from '../../../src/adapters/kennel/gate/gate.ts';
import type { UpstreamSettings } from '../../../src/adapters/kennel/gate/model/upstreams.ts';
import { loadConfig } from '../../../src/config.ts';
import type { AgentName } from '../../../src/contracts/kennel.ts';
import { readEvents } from '../../../src/store/chats/threads/events.ts';
import { refusalsOf } from '../../../src/store/kennel/egress.ts';
import { findTask } from '../../../src/store/kennel/tasks/tasks.ts';
import { usageOf } from '../../../src/store/kennel/tasks/usage.ts';
import { today } from '../../../src/store/turns/steps/spending.ts';
import { startTestDatabase, type TestDatabase } from '../../support/database.ts';
import { type LimitedEndpoint, startLimitedEndpoint } from '../../support/limited-endpoint.ts';
import { script } from '../../support/providers/script.ts';
import { type Providers, startProviders } from '../../support/providers/server.ts';
import { newThread } from '../../support/thread.ts';
import { until } from '../../support/until.ts';

const KEYS = {
  ANTHROPIC_API_KEY: 'real-anthropic-key-0001',
  GEMINI_API_KEY: 'real-gemini-key-0002',
  OPENAI_API_KEY: 'real-openai-key-0003',
};
const ROOM = { tokens: 1_000_000, microUsd: 1_000_000, dayTokens: 1_000_000, dayMicroUsd: 1_000_000 };

let database: TestDatabase;
let providers: Providers;
let threadId: string;
beforeAll(async () => {
  database = await startTestDatabase();
  providers = await startProviders();
  ({ threadId } = await newThread(database.store.db));
});
afterAll(async () => {
  await providers?.close();
  await database?.close();
});

let home: string;
let lines: string[];
const open: Array<{ close(): unknown }> = [];
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'fetch-gate-'));
  lines = [];
});
afterEach(async () => {
  for (const item of open.splice(0).reverse()) await item.close();
  // tests share their account
  await database.store.db.deleteFrom('model_limits').execute();
  rmSync(home, { recursive: true, force: true });
});

let tasks = 0;
async function newTask(): Promise<string> {
  const id = `task_${++tasks}`;
  await database.store.db
    .insertInto('tasks')
    .values({
      id,
      chat_id: `api/${threadId}`,
      thread_id: threadId,
      turn_id: 'turn_1',
      call_id: `call_${id}`,
      workflow_id: `task/${id}`,
      goal: 'g',
      agent: 'auto',
      harness: 'claude',
      host: 'local',
      workspace: id,
      state: 'running',
      timeout_ms: 60_000,
    })
    .execute();
  return id;
}

const settingsFor = (origin: string, more: Partial<UpstreamSettings> = {}): UpstreamSettings => ({
  ANTHROPIC_BASE_URL: origin,
  GOOGLE_GEMINI_BASE_URL: origin,
  OPENAI_BASE_URL: `${origin}/v1`,
  OPENROUTER_API_KEY: undefined,
  AGENT_MODEL: undefined,
  FETCH_FALLBACK_MODEL: undefined,
  ...KEYS,
  ...more,
});

function gateFor(origin: string, more: Partial<GateDeps> = {}): Gate {
  const log = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
  const gate = createGate({ db: database.store.db, settings: settingsFor(origin), log, ...more });
  open.push({ close: () => gate.closeAll() });
  return gate;
}

/** A gate with one open task whose upstream is the scripted providers. */
async function opened(
  more: { gate?: Partial<GateDeps>; budget?: Partial<typeof ROOM>; allow?: string[]; origin?: string } = {},
) {
  const gate = gateFor(more.origin ?? providers.origin, more.gate);
  const taskId = await newTask();
  const folder = join(home, taskId, 'gate');
  await gate.open({ taskId, folder, budget: { ...ROOM, ...more.budget }, allow: more.allow ?? [] });
  return { gate, taskId, folder, used: () => usageOf(database.store.db, taskId) };
}

interface Answer {
  status: number;
  headers: IncomingMessage['headers'];
  text: string;
}

function ask(
  folder: string,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
  method = 'POST',
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        socketPath: join(folder, 'model.sock'),
        path,
        method,
        agent: false,
        headers: { 'content-type': 'application/json', ...headers },
      },
      (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk) => chunks.push(chunk));
        answer.on('error', reject);
        answer.on('end', () =>
          resolve({ status: answer.statusCode!, headers: answer.headers, text: Buffer.concat(chunks).toString() }),
        );
      },
    );
    sent.on('error', reject);
    sent.end(typeof body === 'string' || body === undefined ? body : JSON.stringify(body));
  });
}

const bash = {
  name: 'Bash',
  description: 'runs',
  input_schema: { type: 'object', properties: { command: { type: 'string' } } },
};
const prompt = (...steps: Parameters<typeof script>) => [{ role: 'user', content: script(...steps) }];

/** One call in each protocol: where it goes, and what it holds. `tools` make it a step of a script. */
const CALLS = {
  anthropic: {
    path: () => '/anthropic/v1/messages',
    body: (stream: boolean, ...steps: Parameters<typeof script>) => ({
      model: 'claude-sonnet-4.5',
      max_tokens: 10,
      stream,
      messages: prompt(...steps),
      tools: [bash],
    }),
    header: 'x-api-key',
    key: KEYS.ANTHROPIC_API_KEY,
  },
  chat: {
    path: () => '/openai/v1/chat/completions',
    body: (stream: boolean, ...steps: Parameters<typeof script>) => ({
      model: 'gpt-5',
      stream,
      messages: prompt(...steps),
      tools: [{ type: 'function', function: { name: 'bash', parameters: bash.input_schema } }],
    }),
    header: 'authorization',
    key: KEYS.OPENAI_API_KEY,
  },
  responses: {
    path: () => '/openai/v1/responses',
    body: (stream: boolean, ...steps: Parameters<typeof script>) => ({
      model: 'gpt-5',
      stream,
      input: script(...steps),
      tools: [{ type: 'function', name: 'shell', parameters: bash.input_schema }],
    }),
    header: 'authorization',
    key: KEYS.OPENAI_API_KEY,
  },
  gemini: {
    path: (stream: boolean) =>
      `/gemini/v1beta/models/gemini-3.6-flash:${stream ? 'streamGenerateContent?alt=sse&key=dummy' : 'generateContent?key=dummy'}`,
    body: (_stream: boolean, ...steps: Parameters<typeof script>) => ({
      contents: [{ role: 'user', parts: [{ text: script(...steps) }] }],
      tools: [{ functionDeclarations: [{ name: 'run_shell_command', parameters: bash.input_schema }] }],
    }),
    header: 'x-goog-api-key',
    key: KEYS.GEMINI_API_KEY,
  },
} as const;
type Call = keyof typeof CALLS;
const names = Object.keys(CALLS) as Call[];

async function upstream(listener: RequestListener): Promise<{ origin: string; server: Server }> {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  open.push({
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

describe('a call through the model socket', () => {
  it.each(names.flatMap((name) => [true, false].map((stream) => [name, stream] as const)))(
    'in %s (streamed: %s) carries the real key, and what the provider counted is stored with its price',
    async (name, stream) => {
      const { folder, used, gate, taskId } = await opened();
      const { path, body, header, key } = CALLS[name];
      const before = providers.requests().length;
      const answer = await ask(folder, path(stream), body(stream, { say: 'Hello there, this is the model.' }), {
        [header]: 'Bearer dummy-dummy-dummy',
        cookie: 'a=b',
      });
      expect(answer.status).toBe(200);
      expect(answer.text).toContain('Hello there');
      const entry = providers.requests()[before]!;
      expect(entry).toMatchObject({ key, stream, state: 'answered' });
      const usage = entry.usage!;
      await gate.close(taskId);
      expect(await used()).toMatchObject({
        calls: 1,
        inputTokens: usage.inputTokens,
        outputTokens: usage.outputTokens,
        models: [{ model: entry.model }],
      });
      expect((await used()).microUsd).toBeGreaterThan(0);
    },
  );

  it('asks a chat completion for its usage where the client did not', async () => {
    const { folder } = await opened();
    await ask(folder, CALLS.chat.path(), {
      ...CALLS.chat.body(true, { say: 'x' }),
      stream_options: { include_obfuscation: false },
    });
    const last = providers.requests().at(-1)!;
    expect(providers.body(last.n).stream_options).toEqual({ include_obfuscation: false, include_usage: true });
  });

  it('arrives piece by piece', async () => {
    const { folder } = await opened();
    const sent = request({
      socketPath: join(folder, 'model.sock'),
      path: CALLS.anthropic.path(),
      method: 'POST',
      agent: false,
    });
    sent.end(
      JSON.stringify(
        CALLS.anthropic.body(true, { say: 'one two three four five six seven eight nine ten', pace: 100 }),
      ),
    );
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    await once(answer, 'data');
    expect(providers.requests().at(-1)!.state).toBe('open');
    answer.resume();
    await once(answer, 'end');
  });

  it('that runs when the host is stopped comes to its end and is counted, and no other begins', async () => {
    const { gate, folder, used } = await opened();
    const before = providers.requests().length;
    const running = ask(
      folder,
      CALLS.anthropic.path(),
      CALLS.anthropic.body(true, { say: 'one two three four five six seven eight nine ten', pace: 100 }),
    );
    await until('it is at work', () => providers.requests()[before]?.state === 'open');
    const drained = gate.drain(10_000);
    await expect(ask(folder, '/anthropic/v1/models', undefined, {}, 'GET')).rejects.toThrow(/ENOENT|ECONNREFUSED/);
    await drained;
    const { status, text } = await running;
    expect([status, text]).toEqual([200, expect.stringContaining('message_stop')]);
    await gate.closeAll();
    expect((await used()).outputTokens).toBeGreaterThan(0);
  });

  it('that the client leaves is left upstream as well, and counted as far as it came', async () => {
    const { folder, used } = await opened();
    const sent = request({
      socketPath: join(folder, 'model.sock'),
      path: CALLS.anthropic.path(),
      method: 'POST',
      agent: false,
    });
    sent.on('error', () => {});
    sent.end(JSON.stringify(CALLS.anthropic.body(true, { say: 'word '.repeat(500), pace: 100 })));
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    await once(answer, 'data');
    const entry = providers.requests().at(-1)!;
    sent.destroy();
    await until('the provider sees the end', () => entry.state === 'aborted', 5000);
    await until('it is counted', async () => (await used()).calls === 1, 5000);
    expect((await used()).inputTokens).toBeGreaterThan(0);
  });

  it('that the client leaves before there is an answer is not free', async () => {
    const { folder, used } = await opened();
    const sent = request({
      socketPath: join(folder, 'model.sock'),
      path: CALLS.anthropic.path(),
      method: 'POST',
      agent: false,
    });
    sent.on('error', () => {});
    const before = providers.requests().length;
    sent.end(JSON.stringify(CALLS.anthropic.body(false, { hang: true })));
    const entry = await until('the call has arrived', () => providers.requests()[before], 5000);
    sent.destroy();
    await until('the provider sees the end', () => entry.state === 'aborted', 5000);
    await until('it is counted', async () => (await used()).inputTokens > 0, 5000);
  });

  it('that never answers ends by the clock of the gate, in the words of the protocol', async () => {
    const { folder } = await opened({ gate: { times: { modelHeaders: 200 } } });
    const answers = await Promise.all(
      names.map((name) => ask(folder, CALLS[name].path(true), CALLS[name].body(true, { hang: true }))),
    );
    expect(answers.map(({ status }) => status)).toEqual([504, 504, 504, 504]);
    expect(JSON.parse(answers[0]!.text)).toMatchObject({ type: 'error', error: { type: 'timeout_error' } });
    expect(JSON.parse(answers[1]!.text)).toMatchObject({
      error: { message: expect.stringContaining('did not answer') },
    });
    expect(JSON.parse(answers[3]!.text)).toMatchObject({ error: { code: 504, status: 'DEADLINE_EXCEEDED' } });
  });

  it('that says nothing more ends by the clock of the gate, also when its connection is held or pinged for ever', async () => {
    const pings = new Set<NodeJS.Timeout>();
    const endpoint = createServer((request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const word of ['one', 'two', 'three'])
        response.write(`data: ${JSON.stringify({ choices: [{ delta: { content: word } }] })}\n\n`);
      if (request.headers['x-ping'] !== undefined)
        pings.add(setInterval(() => response.write(': PROCESSING\n\nevent: ping\ndata: {"type": "ping"}\n\n'), 20));
    });
    await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
    const origin = `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}`;
    for (const [times, headers] of [
      [{ modelIdle: 300 }, {}],
      [{ modelSigns: 300 }, { 'x-ping': 'yes' }],
    ] as const) {
      const { folder, used } = await opened({ origin, gate: { times } });
      await expect(ask(folder, CALLS.chat.path(), CALLS.chat.body(true, { say: 'x' }), headers)).rejects.toThrow();
      await until('it is counted', async () => (await used()).calls === 1, 5000);
    }
    for (const ping of pings) clearInterval(ping);
    endpoint.closeAllConnections();
    endpoint.close();
  });

  it('passes the errors of the provider on, and does not charge for them', async () => {
    const { folder, gate, taskId, used } = await opened();
    const answer = await ask(folder, CALLS.anthropic.path(), CALLS.anthropic.body(true, { fail: 429, retryAfter: 7 }));
    expect([answer.status, answer.headers['retry-after'], JSON.parse(answer.text).error.type]).toEqual([
      429,
      '7',
      'rate_limit_error',
    ]);
    await gate.close(taskId);
    expect((await used()).calls).toBe(0);
  });

  it('is cut where the provider cuts it, and counted by an estimate', async () => {
    const { folder, used } = await opened();
    await expect(
      ask(folder, CALLS.chat.path(), CALLS.chat.body(true, { say: 'a long answer that is cut', cut: true })),
    ).rejects.toThrow();
    await until('it is counted', async () => (await used()).inputTokens > 0, 5000);
  });

  it('is refused where it is none that agents need, where it is too large, compressed, or no JSON', async () => {
    const { folder } = await opened();
    const before = providers.requests().length;
    expect(await ask(folder, '/anthropic/v1/files', {})).toMatchObject({
      status: 404,
      text: expect.stringContaining('not passed on'),
    });
    expect(await ask(folder, '/', undefined, {}, 'GET')).toMatchObject({ status: 404 });
    expect(await ask(folder, CALLS.chat.path(), 'no json')).toMatchObject({ status: 400 });
    expect(await ask(folder, CALLS.chat.path(), 'x', { 'content-encoding': 'gzip' })).toMatchObject({ status: 415 });
    expect(
      await ask(folder, CALLS.responses.path(), { ...CALLS.responses.body(false), background: true }),
    ).toMatchObject({ status: 400 });
    expect(
      await ask(folder, CALLS.chat.path(), 'x'.repeat(33 * 1024 * 1024)).catch((error: NodeJS.ErrnoException) => error),
    ).toSatisfy(
      // the gate does not read on, so the client may learn of it by a broken pipe
      (answer: Answer | NodeJS.ErrnoException) =>
        'status' in answer ? answer.status === 413 : ['EPIPE', 'ECONNRESET'].includes(answer.code!),
    );
    expect(providers.requests()).toHaveLength(before);
  });

  it('says what is missing where no model is set up', async () => {
    const none = settingsFor('http://127.0.0.1:9', { OPENAI_BASE_URL: undefined, OPENAI_API_KEY: undefined });
    const { folder } = await opened({ gate: { settings: none } });
    expect(await ask(folder, CALLS.chat.path(), CALLS.chat.body(false))).toMatchObject({
      status: 503,
      text: expect.stringContaining('put in a key on my page'),
    });
  });

  it('reports an endpoint that cannot be reached, without charging', async () => {
    const { folder, gate, taskId, used } = await opened({ origin: 'http://127.0.0.1:1' });
    expect(await ask(folder, CALLS.anthropic.path(), CALLS.anthropic.body(false))).toMatchObject({
      status: 502,
      text: expect.stringContaining('ECONNREFUSED'),
    });
    await gate.close(taskId);
    expect((await used()).calls).toBe(0);
  });
});

describe('the real keys', () => {
  it('are in no answer and in no line of the log, even of an endpoint that repeats them', async () => {
    const echo = await upstream((request, response) => {
      const text = JSON.stringify({ error: { message: `no good: ${JSON.stringify(request.headers)}` } });
      response.writeHead(401, {
        'content-type': 'application/json',
        'x-echo': String(request.headers['x-api-key'] ?? request.headers.authorization ?? 'none'),
      });
      const middle = text.indexOf('real-') + 7;
      response.write(text.slice(0, middle));
      response.end(text.slice(middle));
    });
    const { folder, gate, taskId } = await opened({ origin: echo.origin });
    for (const name of names) {
      const answer = await ask(folder, CALLS[name].path(false), CALLS[name].body(false));
      expect(answer.status).toBe(401);
      for (const key of Object.values(KEYS)) expect(JSON.stringify(answer)).not.toContain(key);
      expect(answer.text).toContain('********');
    }
    await gate.close(taskId);
    for (const key of Object.values(KEYS)) expect(lines.join('')).not.toContain(key);
  });

  it('follow no redirect', async () => {
    const other: string[] = [];
    const elsewhere = await upstream((request, response) => {
      other.push(String(request.headers['x-api-key']));
      response.end('{}');
    });
    const redirecting = await upstream((_, response) => {
      response.writeHead(307, { location: `${elsewhere.origin}/v1/messages` });
      response.end();
    });
    const { folder } = await opened({ origin: redirecting.origin });
    expect(await ask(folder, CALLS.anthropic.path(), CALLS.anthropic.body(false))).toMatchObject({
      status: 502,
      text: expect.stringContaining('redirects'),
    });
    expect(other).toEqual([]);
  });

  it('make no difference to an answer that is compressed against our wish: it is read and counted', async () => {
    const zipped = await upstream((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip', 'set-cookie': 'a=b' });
      response.end(
        gzipSync(
          JSON.stringify({
            type: 'message',
            model: 'claude-opus-5',
            content: [],
            usage: { input_tokens: 11, output_tokens: 7 },
          }),
        ),
      );
    });
    const { folder, gate, taskId, used } = await opened({ origin: zipped.origin });
    const answer = await ask(folder, CALLS.anthropic.path(), CALLS.anthropic.body(false));
    expect(JSON.parse(answer.text).usage.input_tokens).toBe(11);
    expect(answer.headers).not.toHaveProperty('set-cookie');
    expect(answer.headers).not.toHaveProperty('content-encoding');
    await gate.close(taskId);
    expect(await used()).toMatchObject({ inputTokens: 11, outputTokens: 7 });
  });
});

describe('the limit of a model', () => {
  const call = (folder: string, model = 'm') =>
    ask(folder, '/anthropic/v1/messages', { model, max_tokens: 10, messages: [{ role: 'user', content: 'x' }] });
  const limitedUntil = async (taskId: string) => (await findTask(database.store.db, taskId))?.limited_until;
  let endpoint: LimitedEndpoint;
  beforeEach(async () => {
    endpoint = await startLimitedEndpoint();
    open.push(endpoint);
  });

  it('is known to all tasks of its account: ten of them do not ask ten times, neither before nor right after its end', async () => {
    const others = await Promise.all(Array.from({ length: 10 }, () => opened({ origin: endpoint.url })));
    endpoint.refuse({ status: 429, headers: { 'retry-after': '10' }, forMs: 10_000 });
    const first = await opened({ origin: endpoint.url });
    expect((await call(first.folder)).status).toBe(429);
    expect(Math.abs((await limitedUntil(first.taskId))!.getTime() - endpoint.endsAt())).toBeLessThan(3_000);
    const refused = await Promise.all(others.map(({ folder }) => call(folder)));
    expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 429));
    expect(refused.map(({ headers }) => Number(headers['retry-after']))).toEqual(
      refused.map(() => expect.toSatisfy((seconds: number) => seconds >= 1 && seconds <= 11)),
    );
    expect(JSON.parse(refused[0]!.text)).toMatchObject({ type: 'error', error: { type: 'rate_limit_error' } });
    expect(endpoint.requests()).toHaveLength(1);
    // other models of the account have limits of their own
    await call(first.folder, 'another');
    expect(endpoint.requests()).toHaveLength(2);

    await until(
      'its time is over',
      async () => ((await limitedUntil(first.taskId))?.getTime() ?? 0) < Date.now() - 500,
      20_000,
    );
    endpoint.refuse({ status: 429, headers: { 'retry-after': '10' }, forMs: 10_000 });
    const again = await Promise.all(others.map(({ folder }) => call(folder)));
    expect(again.map(({ status }) => status)).toEqual(again.map(() => 429));
    expect(endpoint.requests()).toHaveLength(3);
    await until('its time is over again', async () => (await call(others[0]!.folder)).status === 200, 20_000);
    expect((await Promise.all(others.map(({ folder }) => call(folder)))).map(({ status }) => status)).toEqual(
      others.map(() => 200),
    );
    await until('nothing is known of it any more', async () => (await limitedUntil(others[0]!.taskId)) === null, 5_000);
  });

  it('grows while nothing says when it ends, and is no limit where waiting cannot help', async () => {
    endpoint.refuse({ status: 429 });
    const { folder, taskId } = await opened({ origin: endpoint.url });
    const waits: number[] = [];
    for (let asked = 1; asked <= 2; asked++) {
      await until(
        `it is asked ${asked} times`,
        async () => (await call(folder, 'slow')).status === 429 && endpoint.requests().length >= asked,
        20_000,
      );
      waits.push((await limitedUntil(taskId))!.getTime() - Date.now());
    }
    expect(waits[1]!).toBeGreaterThan(waits[0]! + 5_000);
    const unpaid = await opened({ origin: endpoint.url });
    endpoint.refuse({
      status: 429,
      body: { error: { type: 'insufficient_quota', code: 'insufficient_quota', message: 'No credit.' } },
    });
    expect((await call(unpaid.folder, 'unpaid')).status).toBe(429);
    expect(await limitedUntil(unpaid.taskId)).toBeNull();
  });
});

describe('a limit that a model tells of inside of its answer', () => {
  const events = (...all: unknown[]) => all.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
  const answering = (body: string) =>
    upstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(body);
    });
  const limit = async (taskId: string) => {
    const {
      limited_kind: kind,
      limited_until: until,
      limited_named: named,
    } = (await findTask(database.store.db, taskId))!;
    return until && { kind, named, inS: Math.round((until.getTime() - Date.now()) / 1_000) };
  };
  const begins = { type: 'message_start', message: { model: 'claude', usage: { input_tokens: 9, output_tokens: 1 } } };
  const text = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'half of it' } };

  it.each([
    ['anthropic', { type: 'error', error: { type: 'rate_limit_error', message: 'Too much.' } }, 'limit', false, 5],
    ['anthropic', { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }, 'overload', false, 5],
    [
      'responses',
      {
        type: 'response.failed',
        response: { error: { code: 'rate_limit_exceeded', message: 'Rate limit reached. Please try again in 41.5s.' } },
      },
      'limit',
      true,
      42,
    ],
    [
      'responses',
      { type: 'error', error: { type: 'server_is_overloaded', message: 'Our servers are overloaded.' } },
      'overload',
      false,
      5,
    ],
    [
      'chat',
      { error: { code: 429, message: 'Rate limited', metadata: { headers: { 'Retry-After': '77' } } } },
      'limit',
      true,
      77,
    ],
    [
      'gemini',
      {
        error: {
          code: 429,
          status: 'RESOURCE_EXHAUSTED',
          message: 'Quota',
          details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '26s' }],
        },
      },
      'limit',
      true,
      26,
    ],
  ] as const)(
    'by %s (%j) is on record before the agent hears of it, and its call costs no tokens',
    async (name, event, kind, named, inS) => {
      const { origin } = await answering(events(event));
      const { folder, taskId, used } = await opened({ origin });
      const answer = await ask(folder, CALLS[name].path(true), CALLS[name].body(true));
      expect([answer.status, answer.text]).toEqual([200, events(event)]);
      const noted = (await limit(taskId))!;
      expect([noted.kind, noted.named]).toEqual([kind, named]);
      expect(Math.abs(noted.inS - inS)).toBeLessThanOrEqual(2);
      await until('the call is counted', async () => (await used()).calls === 1);
      expect((await used()).tokens).toBe(0);
      // as after a refusal by its status: the next call is not made
      expect((await ask(folder, CALLS[name].path(true), CALLS[name].body(true))).status).toBe(429);
    },
  );

  it('after half an answer is one, too, and what was said is paid for', async () => {
    const { origin } = await answering(
      events(begins, text, { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
    );
    const { folder, taskId, used } = await opened({ origin });
    await ask(folder, CALLS.anthropic.path(), CALLS.anthropic.body(true));
    expect(await limit(taskId)).toMatchObject({ kind: 'overload' });
    await until('the call is counted', async () => (await used()).tokens > 0);
  });

  it('is none where waiting cannot help, or where the model only speaks of it', async () => {
    for (const said of [
      [{ type: 'error', error: { type: 'invalid_request_error', message: 'rate_limit_error' } }],
      [
        {
          type: 'error',
          error: { type: 'rate_limit_error', message: 'No.', details: { error_code: 'enforced_spend_limit_reached' } },
        },
      ],
      [
        begins,
        { ...text, delta: { type: 'text_delta', text: '{"type":"error","error":{"type":"overloaded_error"}}' } },
      ],
    ]) {
      const { origin } = await answering(events(...said));
      const { folder, taskId } = await opened({ origin });
      await ask(folder, CALLS.anthropic.path(), CALLS.anthropic.body(true));
      expect(await limit(taskId)).toBeNull();
    }
  });

  it('grows while it lasts, and is forgotten once the model says something', async () => {
    let body = events(begins, { type: 'error', error: { type: 'rate_limit_error', message: 'Too much.' } });
    let asked = 0;
    const { origin } = await upstream((_request, response) => {
      asked += 1;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(body);
    });
    const { folder, taskId } = await opened({ origin });
    const call = () => ask(folder, CALLS.anthropic.path(), CALLS.anthropic.body(true));
    await call();
    await until('it is asked again', async () => (await call()).status === 200 && asked === 2, 20_000);
    expect((await limit(taskId))!.inS).toBeGreaterThan(10);
    await database.store.db
      .updateTable('model_limits')
      .set({ until: new Date(0) })
      .execute();
    body = events(begins, text);
    await until('it is asked again', async () => (await call()).status === 200 && asked === 3, 20_000);
    await until('nothing is known of it', async () => (await limit(taskId)) === null);
    expect(
      await database.store.db.selectFrom('model_limits').selectAll().where('account', 'like', `${origin}%`).execute(),
    ).toEqual([]);
  });
});

describe('the budget of a task', () => {
  it('ends its calls when it is used up, in the shape of each protocol, and leaves other tasks alone', async () => {
    const { gate, folder, taskId, used } = await opened({ budget: { tokens: 60 } });
    const other = await newTask();
    const otherFolder = join(home, other, 'gate');
    await gate.open({ taskId: other, folder: otherFolder, budget: ROOM, allow: [] });
    expect((await ask(folder, CALLS.anthropic.path(), CALLS.anthropic.body(false, { say: 'the first' }))).status).toBe(
      200,
    );
    await until('it is stored', async () => (await used()).tokens >= 60, 5000);
    const before = providers.requests().length;
    const answers = await Promise.all(
      names.map((name) => ask(folder, CALLS[name].path(true), CALLS[name].body(true, { say: 'x' }))),
    );
    expect(answers.map(({ status }) => status)).toEqual([402, 402, 402, 402]);
    expect(answers.map(({ text }) => JSON.parse(text).error)).toEqual([
      { type: 'billing_error', message: expect.stringContaining('used up') },
      {
        type: 'insufficient_quota',
        code: 'insufficient_quota',
        param: null,
        message: expect.stringContaining('used up'),
      },
      {
        type: 'insufficient_quota',
        code: 'insufficient_quota',
        param: null,
        message: expect.stringContaining('used up'),
      },
      { code: 402, status: 'FAILED_PRECONDITION', message: expect.stringContaining('used up') },
    ]);
    expect(providers.requests()).toHaveLength(before);
    expect((await ask(otherFolder, CALLS.anthropic.path(), CALLS.anthropic.body(false, { say: 'x' }))).status).toBe(
      200,
    );
    // the store has the usage, and so has a gate that starts again
    await gate.close(taskId);
    await gate.open({ taskId, folder, budget: { ...ROOM, tokens: 60 }, allow: [] });
    expect((await ask(folder, CALLS.anthropic.path(), CALLS.anthropic.body(false))).status).toBe(402);
    await gate.open({ taskId, folder, budget: ROOM, allow: [] });
    expect((await ask(folder, CALLS.anthropic.path(), CALLS.anthropic.body(false, { say: 'x' }))).status).toBe(200);
  });

  it('is that of a day, too, for all tasks of a chat together', async () => {
    const spentToday = async () =>
      (
        await database.store.db
          .selectFrom('task_spending')
          .select('tokens')
          .where('chat_id', '=', `api/${threadId}`)
          .where('day', '=', today('UTC'))
          .executeTakeFirst()
      )?.tokens ?? 0;
    const before = await spentToday();
    const day = { dayTokens: before + 60 };
    const first = await opened({ budget: day });
    expect((await ask(first.folder, CALLS.anthropic.path(), CALLS.anthropic.body(false, { say: 'x' }))).status).toBe(
      200,
    );
    await until('it is stored', async () => (await first.used()).tokens >= 60, 5000);
    expect(await spentToday()).toBe(before + (await first.used()).tokens);
    const second = await opened({ budget: day });
    const refused = await ask(second.folder, CALLS.anthropic.path(), CALLS.anthropic.body(false, { say: 'x' }));
    expect([refused.status, JSON.parse(refused.text).error.message]).toEqual([
      402,
      expect.stringContaining('FETCH_TASK_MAX_DAY_TOKENS'),
    ]);
  });

  it('counts calls that run at once exactly', async () => {
    const { gate, folder, taskId, used } = await opened();
    const before = providers.requests().length;
    await Promise.all(
      Array.from({ length: 40 }, (_, at) =>
        ask(folder, CALLS.chat.path(), CALLS.chat.body(at % 2 === 0, { say: `answer ${at}` })),
      ),
    );
    await gate.close(taskId);
    const entries = providers.requests().slice(before);
    const sum = (field: 'inputTokens' | 'outputTokens') =>
      entries.reduce((total, entry) => total + entry.usage![field], 0);
    expect(await used()).toMatchObject({
      calls: 40,
      inputTokens: sum('inputTokens'),
      outputTokens: sum('outputTokens'),
    });
  });

  it('is not taken for granted where it cannot be read: no call is made', async () => {
    const before = providers.requests().length;
    const { folder } = await opened({ gate: { db: brokenDb(), times: { storeWait: 300, settle: 100 } } });
    expect(await ask(folder, CALLS.anthropic.path(), CALLS.anthropic.body(false))).toMatchObject({
      status: 503,
      text: expect.stringContaining('cannot be checked'),
    });
    expect(providers.requests()).toHaveLength(before);
  });
});

/** The real store after it was closed: every query of it fails. */
const brokenDb = (): GateDeps['db'] =>
  new Proxy(database.store.db, {
    get: () => () => {
      throw new Error('the database is gone');
    },
  });

describe('the sockets', () => {
  it('can be used by any user, and go when the task is closed', async () => {
    const { gate, folder, taskId } = await opened();
    for (const name of ['model.sock', 'egress.sock']) expect(lstatSync(join(folder, name)).mode & 0o777).toBe(0o777);
    expect(gate.openTasks()).toEqual([taskId]);
    await gate.close(taskId);
    await gate.close(taskId);
    expect([existsSync(join(folder, 'model.sock')), existsSync(join(folder, 'egress.sock')), gate.openTasks()]).toEqual(
      [false, false, []],
    );
  });

  it('replace what a killed process left, and one that somebody removed', async () => {
    const { gate, folder, taskId } = await opened();
    await gate.close(taskId);
    writeFileSync(join(folder, 'model.sock'), 'stale');
    symlinkSync('/etc/passwd', join(folder, 'egress.sock'));
    await gate.open({ taskId, folder, budget: ROOM, allow: [] });
    expect((await ask(folder, '/anthropic/v1/models', undefined, {}, 'GET')).status).toBe(200);
    rmSync(join(folder, 'model.sock'));
    await gate.open({ taskId, folder, budget: ROOM, allow: [] });
    expect((await ask(folder, '/anthropic/v1/models', undefined, {}, 'GET')).status).toBe(200);
  });

  it('work in a folder whose path is longer than a socket may have', async () => {
    const gate = gateFor(providers.origin);
    const taskId = await newTask();
    const folder = join(home, 'd'.repeat(120), 'gate');
    await gate.open({ taskId, folder, budget: ROOM, allow: [] });
    // a client has the same limit: it comes by a short way, as a container does
    symlinkSync(folder, join(home, 'g'));
    expect((await ask(join(home, 'g'), '/anthropic/v1/models', undefined, {}, 'GET')).status).toBe(200);
    await gate.close(taskId);
    expect(existsSync(join(folder, 'model.sock'))).toBe(false);
  });

  it('are not made through a symbolic link that stands in the place of their folder', async () => {
    const gate = gateFor(providers.origin);
    const elsewhere = join(home, 'elsewhere');
    mkdirSync(elsewhere);
    writeFileSync(join(elsewhere, 'model.sock'), 'precious');
    symlinkSync(elsewhere, join(home, 'gate'));
    await expect(
      gate.open({ taskId: await newTask(), folder: join(home, 'gate'), budget: ROOM, allow: [] }),
    ).rejects.toThrow();
    expect(lstatSync(join(elsewhere, 'model.sock')).isFile()).toBe(true);
    expect(gate.openTasks()).toEqual([]);
  });
});

/** Sends a head to the egress socket and gives the connection with the first of what comes back. */
async function tunnel(folder: string, head: string): Promise<{ socket: Socket; text: string }> {
  const socket = connect({ path: join(folder, 'egress.sock'), allowHalfOpen: true });
  open.push({ close: () => socket.destroy() });
  socket.write(head);
  const text = await new Promise<string>((resolve) => {
    socket.once('data', (chunk) => resolve(chunk.toString()));
    socket.once('end', () => resolve(''));
    socket.once('close', () => resolve(''));
    socket.once('error', () => resolve(''));
  });
  return { socket, text };
}
const connectTo = (folder: string, target: string) =>
  tunnel(folder, `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`);

describe('the egress socket', () => {
  const loopback = {
    allows: (address: string) => address === '127.0.0.1',
    resolve: async () => [{ address: '127.0.0.1', family: 4 as const }],
  };

  async function echoServer() {
    const server = createTcpServer({ allowHalfOpen: true }, (socket) => {
      socket.on('error', () => {});
      socket.pipe(socket);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    open.push({ close: () => server.close() });
    return { server, port: (server.address() as AddressInfo).port };
  }

  it('carries bytes to a host that is allowed, counts them, and ends one side without the other', async () => {
    const { port } = await echoServer();
    const { folder, gate, taskId } = await opened({ gate: loopback, allow: [`files.example:${port}`] });
    const { socket, text } = await connectTo(folder, `files.example:${port}`);
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    const sent = Buffer.alloc(3 * 1024 * 1024, 'x');
    socket.end(sent);
    await once(socket, 'end');
    expect(Buffer.concat(chunks).equals(sent)).toBe(true);
    await until('it is counted', () => gate.traffic(taskId)?.received === sent.length, 5000);
    expect(gate.traffic(taskId)).toEqual({ sent: sent.length, received: sent.length });
  });

  it('leads an agent with a log-in to the hosts of its provider, and no other agent', async () => {
    const gate = gateFor(providers.origin, loopback);
    const config = loadConfig(
      { FETCH_HOME: home, FETCH_KENNEL_LOGINS: 'claude=/login.json', FETCH_KENNEL_EGRESS: 'registry.example' },
      {},
    );
    const answers = async (harness: AgentName, hosts: string[]) => {
      const id = await newTask();
      await openGate({ config, gate }, { ...(await findTask(database.store.db, id))!, harness });
      const asked = () =>
        database.store.db.selectFrom('egress_asks').select('host').where('task_id', '=', id).execute();
      return await Promise.all(
        hosts.map(async (host) => {
          // nothing listens here, so a request that is let through gets that error
          const through = connectTo(gateFolder(config, id), `${host}:443`).then(({ text }) =>
            text.startsWith('HTTP/1.1 502') ? 'allowed' : text,
          );
          const held = until(
            'it is asked for',
            async () => (await asked()).some((ask) => ask.host === host) && 'asked for',
          );
          held.catch(() => {});
          return await Promise.race([through, held]);
        }),
      );
    };
    const hosts = ['api.anthropic.com', 'platform.claude.com', 'registry.example', 'api.openai.com', 'anthropic.com'];
    expect(await answers('claude', hosts)).toEqual(['allowed', 'allowed', 'allowed', 'asked for', 'asked for']);
    for (const other of ['codex', 'opencode', 'practice'] as const)
      expect(await answers(other, hosts)).toEqual(['asked for', 'asked for', 'allowed', 'asked for', 'asked for']);
  });

  it('refuses what is not on the list where nobody can be asked, and keeps a record', async () => {
    const { folder, gate, taskId } = await opened({ gate: loopback, allow: ['registry.example'] });
    for (let at = 0; at < 3; at += 1) {
      const { text } = await connectTo(folder, 'evil.example:443');
      expect(text).toMatch(/^HTTP\/1\.1 403 [\s\S]*has not allowed evil\.example/);
    }
    expect((await connectTo(folder, 'registry.example:22')).text).toMatch(/^HTTP\/1\.1 403 /);
    expect(
      (await tunnel(folder, 'GET http://other.example/data?x=1 HTTP/1.1\r\nHost: other.example\r\n\r\n')).text,
    ).toMatch(/^HTTP\/1\.1 403 [\s\S]*has not allowed http:\/\/other\.example/);
    expect(
      (await tunnel(folder, 'POST http://registry.example/ HTTP/1.1\r\nHost: registry.example\r\n\r\n')).text,
    ).toMatch(/^HTTP\/1\.1 403 [\s\S]*Use https/);
    expect((await connectTo(folder, 'nonsense')).text).toMatch(/^HTTP\/1\.1 400 /);
    await gate.close(taskId);
    expect(await refusalsOf(database.store.db, taskId)).toEqual([
      { host: 'evil.example', port: 443, refused: 3 },
      { host: 'other.example', port: 80, refused: 1 },
      { host: 'registry.example', port: 22, refused: 1 },
      { host: 'registry.example', port: 80, refused: 1 },
    ]);
    const task = (await findTask(database.store.db, taskId))!;
    const events = await readEvents(database.store.db, task.thread_id, 0, 1000);
    const denied = events.filter(({ event }) => event === 'sandbox.denied').map(({ payload }) => payload);
    expect(denied).toHaveLength(4);
    expect(denied[0]).toEqual({
      tool_id: task.call_id,
      tool_name: 'task_create',
      reason: 'evil.example was refused',
    });
  });

  it.each(['127.0.0.1', '10.1.2.3', '169.254.169.254', '100.64.0.1', '::1', 'fd00::1', '::ffff:127.0.0.1'])(
    'does not lead to %s, whatever name stands for it and whatever is allowed',
    async (address) => {
      const family = address.includes(':') ? (6 as const) : (4 as const);
      const { folder } = await opened({
        gate: { resolve: async () => [{ address, family }] },
        allow: ['*.example', ...(family === 4 ? [address] : [])],
      });
      expect((await connectTo(folder, 'metadata.example:80')).text).toMatch(/^HTTP\/1\.1 403 Address not public/);
      expect((await connectTo(folder, `${family === 6 ? `[${address}]` : address}:80`)).text).toMatch(
        /^HTTP\/1\.1 403 /,
      );
    },
  );

  it('looks a name up once, and connects to an address that passed the check, though the name has others and changes its mind', async () => {
    const { port } = await echoServer();
    const answers = [['10.0.0.1', '127.0.0.1'], ['10.0.0.1']];
    let asked = 0;
    const resolve = async () => answers[asked++]!.map((address) => ({ address, family: 4 as const }));
    const { folder } = await opened({ gate: { ...loopback, resolve }, allow: [`rebind.example:${port}`] });
    const { socket, text } = await connectTo(folder, `rebind.example:${port}`);
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    socket.write('ping');
    expect(String((await once(socket, 'data'))[0])).toBe('ping');
    expect(asked).toBe(1);
    expect((await connectTo(folder, `rebind.example:${port}`)).text).toMatch(/^HTTP\/1\.1 403 Address not public/);
  });

  it('cuts a tunnel through which nothing passes', async () => {
    const { port } = await echoServer();
    const { folder } = await opened({
      gate: { ...loopback, times: { egressIdle: 200 } },
      allow: [`files.example:${port}`],
    });
    const { socket } = await connectTo(folder, `files.example:${port}`);
    socket.resume();
    await once(socket, 'end');
  });

  it('answers no more to who asks in vain hundreds of times, and closes what is open with the task', async () => {
    const { port } = await echoServer();
    const { folder, gate, taskId } = await opened({ gate: loopback, allow: [`files.example:${port}`] });
    const { socket } = await connectTo(folder, `files.example:${port}`);
    socket.resume();
    const answers: string[] = [];
    for (let at = 0; at < 260; at += 1)
      answers.push((await connectTo(folder, `h${at}.evil.example:443`)).text.slice(0, 12));
    expect(answers.filter((text) => text === 'HTTP/1.1 403')).toHaveLength(200);
    expect(answers.filter((text) => text === '')).toHaveLength(60);
    const ended = once(socket, 'close');
    await gate.close(taskId);
    socket.end();
    await ended;
    const rows = await refusalsOf(database.store.db, taskId);
    expect(rows).toHaveLength(101);
    expect(rows[0]).toEqual({ host: '(others)', port: 0, refused: 100 });
  });
});
