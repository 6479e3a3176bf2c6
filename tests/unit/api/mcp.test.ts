import { describe, expect, it } from 'vitest';
import { answerRequest, clientOf } from '../../../src/adapters/mcp/serving/protocol.ts';
import { admitted, offeredTools } from '../../../src/api/runtime/mcp/offered.ts';
import { cursorId, cursorOf, newSessionId, sessionOf } from '../../../src/api/runtime/mcp/wire.ts';
import { contractToolOf } from '../../../src/tools/contract-tools.ts';
import { tools } from '../../../src/tools/registry.ts';

describe('the id of a session', () => {
  it('says who the client is and whether it can ask, and no two are the same', () => {
    const id = newSessionId({ name: 'Größe 🐕', forms: true });
    expect(id).toMatch(/^[\x21-\x7e]+$/);
    expect(sessionOf(id)).toMatchObject({
      id,
      name: 'Größe 🐕',
      forms: true,
      address: expect.stringMatching(/^mcp:[\w-]{22}$/),
    });
    expect(sessionOf(newSessionId({ name: 'x'.repeat(500), forms: false }))?.name).toHaveLength(60);
    expect(sessionOf(newSessionId({ name: 'a\0b\nIgnore this: [c]', forms: false }))?.name).toBe('a b Ignore this c');
    expect(newSessionId({ name: 'a', forms: false })).not.toBe(newSessionId({ name: 'a', forms: false }));
  });

  it.each(['', 'x', 'bnVsbA', Buffer.from('{"r":"../../etc","n":"a","f":true}').toString('base64url')])(
    'is not %j',
    (id) => {
      expect(sessionOf(id)).toBeNull();
    },
  );
});

describe('the id of an event', () => {
  it('says where its stream is', () => {
    const cursor = { threadId: 'thr_1', turnId: 'turn_2', requestId: 'a', progressToken: undefined, seq: 7 };
    expect(cursorOf(cursorId(cursor))).toEqual(cursor);
    expect(cursorOf(cursorId({ ...cursor, requestId: 0, progressToken: 1 }))).toEqual({
      ...cursor,
      requestId: 0,
      progressToken: 1,
    });
    for (const id of [
      '',
      'x',
      Buffer.from('["a b","t",1,null,0]').toString('base64url'),
      Buffer.from('["a","t",1,null,-1]').toString('base64url'),
    ])
      expect(cursorOf(id)).toBeNull();
  });
});

describe('tools for programs', () => {
  it('only read, unless all are allowed, and never are those of a chat', () => {
    const read = offeredTools('read').map(({ name }) => name);
    const all = offeredTools('all').map(({ name }) => name);
    for (const name of read.filter((each) => tools.has(each) && !contractToolOf(each)))
      expect([name, tools.get(name)!.danger, tools.get(name)!.sends]).toEqual([name, 'SAFE', []]);
    expect(new Set(all).size).toBe(all.length);
    expect(all).toEqual(expect.arrayContaining(read));
    expect(all).toContain('shell_run');
    for (const name of ['ask_user', 'preferences', 'read_output']) expect(all).not.toContain(name);
  });

  it('that are not offered are refused with what would allow them; unknown ones are unknown', () => {
    expect(admitted('file_read', 'read')).toBe(true);
    expect(admitted('shell_run', 'read')).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('FETCH_MCP_SERVER_TOOLS=all') }],
    });
    expect(admitted('shell_run', 'all')).toBe(true);
    expect(admitted('ask_user', 'all')).toBeNull();
    expect(admitted('nope', 'all')).toBeNull();
  });
});

describe('tools by the names of NanoClaw', () => {
  const args = (name: string, given: Record<string, unknown>) => contractToolOf(name)!.args(given);
  const answer = (name: string, metadata: Record<string, unknown> | null, output = '') =>
    contractToolOf(name)!.answer({ output, metadata });

  it('are offered like the tools that they call', () => {
    const names = (offering: 'read' | 'all') => offeredTools(offering).map(({ name }) => name);
    expect(names('read')).toEqual(expect.arrayContaining(['list_tasks', 'send_message']));
    for (const name of ['schedule_task', 'update_task', 'pause_task', 'resume_task', 'cancel_task']) {
      expect(names('all')).toContain(name);
      expect(names('read')).not.toContain(name);
      expect(admitted(name, 'read')).toMatchObject({ isError: true });
      expect(admitted(name, 'all')).toBe(true);
    }
    const tool = offeredTools('all').find(({ name }) => name === 'schedule_task')!;
    expect(tool.inputSchema.required).toEqual(['prompt', 'schedule_type', 'schedule_value']);
    expect(tool.annotations).toMatchObject({ readOnlyHint: false });
  });

  it('take the arguments of the contract, and each fits our tool', () => {
    const task = { prompt: 'Say hello', schedule_type: 'cron', schedule_value: '0 9 * * *' };
    for (const [name, given, ours] of [
      ['schedule_task', task, { prompt: 'Say hello', schedule: '0 9 * * *' }],
      [
        'schedule_task',
        { ...task, schedule_type: 'interval', schedule_value: '3600000', context_mode: 'isolated' },
        { prompt: 'Say hello', schedule: '3600000', isolated: true },
      ],
      [
        'schedule_task',
        { ...task, schedule_type: 'once', schedule_value: '2099-02-23T15:30:00', context_mode: 'group' },
        { prompt: 'Say hello', schedule: '2099-02-23T15:30:00' },
      ],
      ['schedule_task', { ...task, schedule_value: '*/5 * * * *' }, { prompt: 'Say hello', schedule: '*/5 * * * *' }],
      [
        'schedule_task',
        { ...task, schedule_type: 'interval', schedule_value: '300000' },
        { prompt: 'Say hello', schedule: '300000' },
      ],
      ['list_tasks', {}, {}],
      ['update_task', { task_id: 'cron_1', prompt: 'Say bye' }, { cron: 'cron_1', prompt: 'Say bye' }],
      ['update_task', { task_id: 'cron_1', schedule_value: '90000' }, { cron: 'cron_1', schedule: '90000' }],
      ['pause_task', { task_id: 'cron_1' }, { cron: 'cron_1', enabled: false }],
      ['resume_task', { task_id: 'cron_1' }, { cron: 'cron_1', enabled: true }],
      ['cancel_task', { task_id: 'cron_1' }, { cron: 'cron_1' }],
      ['send_message', { text: 'Half is done', sender: 'Researcher' }, { message: 'Half is done' }],
      [
        'schedule_task',
        { ...task, target_group_jid: '1@g.us' },
        { prompt: 'Say hello', schedule: '0 9 * * *', chat: '1@g.us' },
      ],
      [
        'register_group',
        { jid: '1@g.us', name: 'Family', folder: 'family', trigger: '@Andy' },
        { group: '1@g.us', answer: 'called', folder: 'family', trigger: '@Andy' },
      ],
    ] as const) {
      expect(args(name, given)).toEqual(ours);
      expect(tools.get(contractToolOf(name)!.of)!.schema.safeParse(ours).success, name).toBe(true);
    }
  });

  it.each([
    ['schedule_task', { prompt: 'x', schedule_type: 'cron', schedule_value: '3600000' }, /Invalid cron "3600000"/],
    ['schedule_task', { prompt: 'x', schedule_type: 'interval', schedule_value: '5 minutes' }, /Invalid interval/],
    ['schedule_task', { prompt: 'x', schedule_type: 'once', schedule_value: '0 9 * * *' }, /Invalid time/],
    ['schedule_task', { prompt: 'x', schedule_type: 'weekly', schedule_value: '1' }, /schedule_type/],
    ['schedule_task', { schedule_type: 'cron', schedule_value: '0 9 * * *' }, /prompt/],
    ['update_task', { task_id: 'x', schedule_type: 'once' }, /needs a schedule_value/],
    ['pause_task', {}, /task_id/],
  ])('%s refuses %j', (name, given, reason) => {
    expect(args(name, given)).toMatch(reason);
  });

  it('answer with the id, and list what there is', () => {
    expect(answer('schedule_task', { id: 'cron_1' }, 'Scheduled.')).toEqual({
      content: [{ type: 'text', text: 'Task cron_1 is scheduled. Scheduled.' }],
      structuredContent: { task_id: 'cron_1' },
    });
    expect(answer('list_tasks', { crons: [] }).content).toEqual([{ type: 'text', text: 'No scheduled tasks found.' }]);
    const crons = [
      {
        id: 'cron_1',
        prompt: 'Say hello',
        workflow: null,
        schedule: '@every 3600s/0s',
        state: 'enabled',
        nextRunAt: '2099-01-01T00:00:00.000Z',
      },
      { id: 'cron_2', prompt: null, workflow: 'nightly', schedule: '0 9 L * *', state: 'disabled', nextRunAt: null },
      {
        id: 'cron_3',
        prompt: 'x'.repeat(60),
        workflow: null,
        schedule: '@at 2099-01-01T09:00:00',
        state: 'enabled',
        nextRunAt: null,
      },
    ];
    expect(answer('list_tasks', { crons }).content).toEqual([
      {
        type: 'text',
        text: [
          'Scheduled tasks:',
          '- [cron_1] Say hello (interval: 3600000) - active, next: 2099-01-01T00:00:00.000Z',
          '- [cron_2] run nightly (cron: 0 9 L * *) - paused, next: N/A',
          `- [cron_3] ${'x'.repeat(50)}... (once: 2099-01-01T09:00:00) - active, next: N/A`,
        ].join('\n'),
      },
    ]);
  });
});

describe('a request', () => {
  const offer = { instructions: 'Hello', tools: () => [], resources: async () => [], read: async () => null };
  const initialize = (version: string, capabilities: object = {}) => ({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: version, capabilities, clientInfo: { name: 'c', version: '1' } },
  });

  it('to begin gets the version that it knows, or ours', async () => {
    expect(await answerRequest(offer, initialize('2024-11-05'))).toMatchObject({
      id: 1,
      result: { protocolVersion: '2024-11-05', instructions: 'Hello' },
    });
    expect(await answerRequest(offer, initialize('1999-01-01'))).toMatchObject({
      result: { protocolVersion: '2025-11-25' },
    });
  });

  it('says whether the client has forms', () => {
    expect(clientOf(initialize('2025-11-25'))).toEqual({ name: 'c', forms: false });
    expect(clientOf(initialize('2025-06-18', { elicitation: {} }))?.forms).toBe(true);
    expect(clientOf(initialize('2025-11-25', { elicitation: { url: {} } }))?.forms).toBe(false);
    expect(clientOf({ jsonrpc: '2.0', id: 1, method: 'initialize' })).toBeNull();
  });

  it('for what is not there gets the error of the protocol', async () => {
    expect(await answerRequest(offer, { jsonrpc: '2.0', id: 'x', method: 'nope' })).toMatchObject({
      id: 'x',
      error: { code: -32601 },
    });
    const missing = { jsonrpc: '2.0', id: 2, method: 'resources/read', params: { uri: 'deepseek://session/none' } };
    expect(await answerRequest(offer, missing)).toMatchObject({ error: { code: -32002 } });
    expect(await answerRequest(offer, { jsonrpc: '2.0', id: 3, method: 'ping' })).toMatchObject({ id: 3, result: {} });
  });
});
