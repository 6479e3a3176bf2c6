import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { type CallToolResult, ElicitRequestSchema, type ElicitResult } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { newestAudit } from '../../../src/store/home/audit-log.ts';
import { script, startTestApp, type TestApp } from '../../support/app.ts';
import { commandFor } from '../../support/editor.ts';
import { until } from '../../support/until.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ FETCH_MCP_SERVER_TOOLS: 'all' });
});
afterAll(async () => {
  await app?.close();
});
const clients: Client[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close().catch(() => {});
});

interface Connected {
  client: Client;
  forms: string[];
  sessionId: () => string;
  call(
    name: string,
    args?: Record<string, unknown>,
    options?: Parameters<Client['callTool']>[2],
  ): Promise<CallToolResult>;
}

/** Two names of one command. */
const COMMANDS = { stdio: ['mcp-server'], 'serve --mcp': ['serve', '--mcp'] };

type Fill = (message: string) => ElicitResult | Promise<ElicitResult>;

/** A client of the SDK. `fill`: it can ask its person, who answers so. */
async function connect(how: 'http' | keyof typeof COMMANDS, fill?: Fill): Promise<Connected> {
  const client = new Client({ name: 'assistant', version: '1' }, { capabilities: fill ? { elicitation: {} } : {} });
  const forms: string[] = [];
  if (fill)
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
      forms.push(params.message);
      return await fill(params.message);
    });
  const http = new StreamableHTTPClientTransport(new URL(`${app.baseUrl}/mcp`), {
    requestInit: { headers: { authorization: 'Bearer test-token' } },
    // the default is two, and this machine may be slow
    reconnectionOptions: {
      maxRetries: 30,
      initialReconnectionDelay: 500,
      maxReconnectionDelay: 3_000,
      reconnectionDelayGrowFactor: 1.5,
    },
  });
  await client.connect(how === 'http' ? (http as never) : new StdioClientTransport(commandFor(app, ...COMMANDS[how])));
  clients.push(client);
  return {
    client,
    forms,
    sessionId: () => http.sessionId!,
    call: async (name, args = {}, options) =>
      (await client.callTool({ name, arguments: args }, undefined, options)) as CallToolResult,
  };
}

const textOf = ({ content }: CallToolResult): string =>
  content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('');
const remembered = () => app.store.db.selectFrom('memories').select('body').execute();
const REMEMBER = { text: 'The release is on Friday' };
const accept = { action: 'accept', content: { decision: 'allow' } } as const;
const deny = { action: 'accept', content: { decision: 'deny' } } as const;

describe.each(['http', 'stdio'] as const)('a client over %s', (how) => {
  it('lists tools, with what they do, and calls one that reads', async () => {
    const { client, call } = await connect(how);
    expect(client.getServerVersion()).toMatchObject({ name: 'fetch' });
    const { tools } = await client.listTools();
    const byName = new Map(tools.map((tool) => [tool.name, tool]));
    expect(byName.get('file_read')).toMatchObject({
      annotations: { readOnlyHint: true },
      inputSchema: { type: 'object', required: ['path'] },
    });
    expect(byName.get('shell_run')).toMatchObject({ annotations: { readOnlyHint: false, destructiveHint: true } });
    expect([...byName.keys()]).toEqual(expect.arrayContaining(['deepseek', 'deepseek-reply', 'call_result']));
    expect(byName.has('ask_user')).toBe(false);
    const result = await call('workflow_list');
    expect(result.isError).toBe(false);
    expect(textOf(result)).toMatch(/routine/i);
  });

  it('asks its person by a form before something lasting is done, and a yes there counts', async () => {
    const { forms, call } = await connect(how, () => accept);
    const result = await call('remember', REMEMBER);
    expect(forms).toHaveLength(1);
    expect(forms[0]).toContain('the program assistant');
    expect(result.isError).toBe(false);
    expect((await remembered()).some(({ body }) => body === REMEMBER.text)).toBe(true);
    expect(JSON.parse((await newestAudit(app.store.db, 1))[0]!.body)).toMatchObject({
      what: 'approval allow',
      by: { role: 'client', channel: 'api' },
      about: { tool: 'remember' },
    });
  });

  it('does nothing when the person says no', async () => {
    const { call } = await connect(how, () => deny);
    const before = (await remembered()).length;
    const result = await call('remember', { text: `Never kept ${how}` });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toContain('no');
    expect(await remembered()).toHaveLength(before);
  });

  it('talks to the model in a thread of its own, and goes on in it', async () => {
    const { client, call } = await connect(how);
    const first = await call('deepseek', { prompt: script([{ say: 'Hello there.' }]) });
    expect(first).toMatchObject({
      isError: false,
      structuredContent: { content: 'Hello there.', usage: { outputTokens: expect.any(Number) } },
    });
    const { threadId } = first.structuredContent as { threadId: string };
    const second = await call('deepseek-reply', { thread_id: threadId, prompt: script([{ say: 'Again.' }]) });
    expect(second).toMatchObject({ structuredContent: { threadId, content: 'Again.' } });
    const { resources } = await client.listResources();
    expect(resources.some(({ uri }) => uri === `deepseek://session/${threadId}`)).toBe(true);
    const { contents } = await client.readResource({ uri: `deepseek://session/${threadId}` });
    expect((contents[0] as { text: string }).text).toContain('assistant: Again.');
  });
});

it("schedules a prompt by the names of NanoClaw's tools, asks as for each schedule, and deletes it", async () => {
  const { forms, call } = await connect('http', () => accept);
  const scheduled = await call('schedule_task', {
    prompt: 'Tell me the news',
    schedule_type: 'cron',
    schedule_value: '0 9 L * *',
    context_mode: 'isolated',
  });
  expect(scheduled.isError, textOf(scheduled)).toBe(false);
  const { task_id } = scheduled.structuredContent as { task_id: string };
  expect(forms).toHaveLength(1);
  expect(textOf(scheduled)).toContain(`Task ${task_id} is scheduled. Scheduled "Tell me the news": every month on the`);
  const { steps } = await app.store.db
    .selectFrom('routines')
    .select('steps')
    .where('id', '=', `wf_${task_id}`)
    .executeTakeFirstOrThrow();
  expect(steps[0]!.args).toMatchObject({ prompt: 'Tell me the news' });
  expect(steps[0]!.args.context).toBeUndefined();
  expect(textOf(await call('list_tasks'))).toMatch(
    new RegExp(`^Scheduled tasks:\n- \\[${task_id}\\] Tell me the news \\(cron: 0 9 L \\* \\*\\) - active, next: 2`),
  );
  const update = { task_id, schedule_type: 'interval', schedule_value: '7200000' };
  expect(textOf(await call('update_task', update))).toBe(`Task ${task_id} is changed.`);
  expect(textOf(await call('pause_task', { task_id }))).toBe(`Task ${task_id} is paused.`);
  expect(textOf(await call('list_tasks'))).toContain('(interval: 7200000) - paused');
  expect(textOf(await call('resume_task', { task_id }))).toBe(`Task ${task_id} runs again.`);
  expect(textOf(await call('cancel_task', { task_id }))).toBe(`Task ${task_id} is deleted.`);
  expect(textOf(await call('list_tasks'))).toBe('No scheduled tasks found.');
  expect(await call('pause_task', { task_id })).toMatchObject({ isError: true });
  expect((await call('send_message', { text: 'Half is done' })).isError).toBe(false);
  const wrong = await call('schedule_task', { prompt: 'x', schedule_type: 'once', schedule_value: 'tomorrow' });
  expect(wrong).toMatchObject({ isError: true });
});

it('fetch serve --mcp is the same command', async () => {
  const { client, call } = await connect('serve --mcp');
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('deepseek-reply');
  expect((await call('workflow_list')).isError).toBe(false);
});

describe('a client that cannot ask its person', () => {
  it('is told where the answer is given, and gets the result afterwards', async () => {
    const { call } = await connect('http');
    const waiting = await call('remember', { text: 'Asked elsewhere' });
    const { status, turn_id, question_id } = waiting.structuredContent as Record<string, string>;
    expect([waiting.isError, status]).toEqual([true, 'waiting']);
    expect(textOf(waiting)).toContain(`/v1/approvals/${question_id}`);
    // the next call would wait behind it
    expect((await call('workflow_list')).structuredContent).toMatchObject({ status: 'waiting', turn_id });
    expect(await app.request('POST', `/v1/approvals/${question_id}`, { decision: 'allow' })).toMatchObject({
      status: 200,
    });
    const result = await call('call_result', { turn_id });
    expect(result.isError).toBe(false);
    expect((await call('workflow_list')).isError).toBe(false);
  });

  it('gives up a call that waits', async () => {
    const { call } = await connect('http');
    const waiting = await call('remember', { text: 'Given up' });
    const { turn_id } = waiting.structuredContent as Record<string, string>;
    expect(await call('call_result', { turn_id, cancel: true })).toMatchObject({ isError: true });
    expect((await remembered()).some(({ body }) => body === 'Given up')).toBe(false);
    expect((await call('workflow_list')).isError).toBe(false);
  });
});

describe('a call', () => {
  it('with wrong arguments, of an unknown tool or in an unknown turn says so', async () => {
    const { call } = await connect('http');
    expect(textOf(await call('file_read', { wrong: 1 }))).toContain('The arguments of file_read are not right');
    await expect(call('nope')).rejects.toMatchObject({ code: -32602 });
    await expect(call('ask_user', { question: 'x' })).rejects.toMatchObject({ code: -32602 });
    expect(textOf(await call('call_result', { turn_id: 'turn_nope' }))).toContain('There is no call');
    expect(textOf(await call('deepseek-reply', { thread_id: 'thr_nope', prompt: 'x' }))).toContain(
      'There is no thread',
    );
  });

  it('tells its progress, and is stopped when it is cancelled', async () => {
    const { call } = await connect('http');
    const told: number[] = [];
    const leaving = new AbortController();
    const asked = app.model.requests().length;
    const prompt = script([{ call: [['workflow_list', {}]] }, { hang: true }]);
    const calling = call(
      'deepseek',
      { prompt },
      { signal: leaving.signal, onprogress: ({ progress }) => void told.push(progress) },
    );
    calling.catch(() => {});
    await until('the model hangs', () => app.model.requests().length >= asked + 2);
    await until('progress is told', () => told.length >= 2);
    expect(told.toSorted((a, b) => a - b)).toEqual(told);
    leaving.abort();
    await expect(calling).rejects.toThrow();
    await until('the turn is interrupted', async () => {
      const turn = await app.store.db
        .selectFrom('turns')
        .select('status')
        .orderBy('created_at', 'desc')
        .limit(1)
        .executeTakeFirst();
      return turn?.status === 'interrupted';
    });
  });

  it('runs beside others of its session, each once', async () => {
    const { call } = await connect('http');
    const results = await Promise.all(Array.from({ length: 12 }, () => call('workflow_list')));
    expect(results.map(({ isError }) => isError)).toEqual(Array(12).fill(false));
  });

  it('that is sent twice under one id is one call', async () => {
    const { client, sessionId } = await connect('http');
    await client.listTools();
    const body = {
      jsonrpc: '2.0',
      id: 'same',
      method: 'tools/call',
      params: { name: 'deepseek', arguments: { prompt: script([{ say: 'once' }]) } },
    };
    const headers = { 'mcp-session-id': sessionId(), accept: 'application/json, text/event-stream' };
    const asked = app.model.requests().length;
    const [first, second] = await Promise.all([1, 2].map(() => app.request('POST', '/mcp', body, headers)));
    for (const { body } of [first!, second!]) expect(String(body)).toContain('"content":"once"');
    expect(app.model.requests().length).toBe(asked + 1);
    const other = { ...body, params: { ...body.params, arguments: { prompt: 'another' } } };
    expect((await app.request('POST', '/mcp', other, headers)).status).toBe(422);
  });

  it('carries the client as the source of its words', async () => {
    const { call } = await connect('http');
    await call('workflow_list');
    const said = await app.store.db
      .selectFrom('transcript')
      .select('sources')
      .where('role', '=', 'user')
      .orderBy('ord', 'desc')
      .limit(1)
      .executeTakeFirst();
    expect(said?.sources).toEqual([{ kind: 'client', label: 'assistant' }]);
  });
});

describe('a kill', () => {
  it.each(['http', 'stdio'] as const)(
    'of API and worker in the middle of a call over %s: the client gets its result',
    async (how) => {
      const { call } = await connect(how);
      const asked = app.model.requests().length;
      const calling = call('deepseek', {
        prompt: script([{ call: [['workflow_list', {}]] }, { pace: 400, say: 'One two three four five six.' }]),
      });
      await until('the second step is asked', () => app.model.requests().length >= asked + 2);
      app.kill('api');
      app.kill('worker');
      expect((await calling).structuredContent).toMatchObject({ content: 'One two three four five six.' });
      await app.whenReady();
    },
  );

  it('of the API while the person is asked: the answer counts, and the call is done once', async () => {
    const answer = Promise.withResolvers<ElicitResult>();
    const { forms, call } = await connect('http', () => answer.promise);
    const calling = call('remember', { text: 'Over a kill' });
    await until('the person is asked', () => forms.length === 1);
    app.kill('api');
    await until('the API is away', async () => (await fetch(`${app.baseUrl}/health`).catch(() => null)) === null);
    // the run state may still call a role ready that was just killed, and the SDK's client sends an answer once
    await until('the API is back', async () => (await fetch(`${app.baseUrl}/health`).catch(() => null))?.ok === true);
    answer.resolve(accept);
    expect((await calling).isError).toBe(false);
    expect((await remembered()).filter(({ body }) => body === 'Over a kill')).toHaveLength(1);
    expect(forms).toHaveLength(1);
  });

  it('of the process between a client and the instance: the call goes on', async () => {
    const transport = new StdioClientTransport(commandFor(app, 'mcp-server'));
    const client = new Client({ name: 'assistant', version: '1' });
    await client.connect(transport);
    const prompt = script([{ call: [['workflow_list', {}]] }, { pace: 300, say: 'Nobody waits for this.' }]);
    const asked = app.model.requests().length;
    client.callTool({ name: 'deepseek', arguments: { prompt } }).catch(() => {});
    await until('the second step is asked', () => app.model.requests().length >= asked + 2);
    process.kill(transport.pid!, 'SIGKILL');
    await until('the turn has ended well', async () => {
      const [thread] = (await app.request('GET', '/v1/threads?limit=1')).body as Array<{ id: string }>;
      return (await app.detail(thread!.id)).turns.at(-1)?.status === 'completed';
    });
  });
});

describe('the endpoint', () => {
  const initialize = {
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
  };

  it('wants the token, a session, and messages of the protocol', async () => {
    const post = (body: unknown, headers: Record<string, string> = {}) => app.request('POST', '/mcp', body, headers);
    expect((await fetch(`${app.baseUrl}/mcp`, { method: 'POST', body: '{}' })).status).toBe(401);
    expect(await post(initialize)).toMatchObject({ status: 200, body: { result: { protocolVersion: '2025-06-18' } } });
    expect((await post({ jsonrpc: '2.0', id: 1, method: 'tools/list' })).status).toBe(400);
    expect((await post({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, { 'mcp-session-id': 'bad' })).status).toBe(404);
    expect((await post([initialize])).status).toBe(422);
    expect((await app.request('GET', '/mcp', undefined, { 'mcp-session-id': 'bad' })).status).toBe(404);
  });

  it('refuses a stream without its event, and one that is not of a program', async () => {
    const { client, sessionId } = await connect('http');
    await client.listTools();
    const get = (headers: Record<string, string>) =>
      app.request('GET', '/mcp', undefined, { 'mcp-session-id': sessionId(), ...headers });
    expect((await get({})).status).toBe(405);
    expect((await get({ 'last-event-id': 'nonsense' })).status).toBe(400);
    const forged = Buffer.from(JSON.stringify(['thr_none', 'turn_none', 1, null, 0])).toString('base64url');
    expect((await get({ 'last-event-id': forged })).status).toBe(400);
  });

  it('ends a session, and knows it no longer', async () => {
    const { call, sessionId } = await connect('http');
    await call('workflow_list');
    const headers = { 'mcp-session-id': sessionId() };
    expect((await app.request('DELETE', '/mcp', undefined, headers)).status).toBe(204);
    expect((await app.request('POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'ping' }, headers)).status).toBe(404);
  });
});

describe('an instance that offers only what reads', () => {
  let reading: TestApp;
  beforeAll(async () => {
    reading = await startTestApp();
  });
  afterAll(async () => {
    await reading?.close();
  });

  it('offers nothing else, and does nothing else when asked', async () => {
    const client = new Client({ name: 'assistant', version: '1' });
    const headers = { authorization: 'Bearer test-token' };
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${reading.baseUrl}/mcp`), { requestInit: { headers } }) as never,
    );
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['file_read', 'git_log', 'recall', 'task_status', 'deepseek']));
    for (const name of ['file_write', 'shell_run', 'web_fetch', 'remember', 'app_control', 'task_create'])
      expect(names).not.toContain(name);
    const refused = (await client.callTool({ name: 'remember', arguments: REMEMBER })) as CallToolResult;
    expect([refused.isError, textOf(refused)]).toEqual([true, expect.stringContaining('FETCH_MCP_SERVER_TOOLS=all')]);
    // the model of such a conversation has no other tools either
    const chat = await client.callTool({
      name: 'deepseek',
      arguments: { prompt: script([{ call: [['remember', REMEMBER]] }, { say: '$LAST' }]) },
    });
    expect((chat.structuredContent as { content: string }).content).toContain('mode is plan');
    await client.close();
  });
});
