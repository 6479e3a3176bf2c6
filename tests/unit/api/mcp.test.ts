import { describe, expect, it } from 'vitest';
import { answerRequest, clientOf } from '../../../src/adapters/mcp/serving/protocol.ts';
import { admitted, offeredTools } from '../../../src/api/runtime/mcp/offered.ts';
import { cursorId, cursorOf, newSessionId, sessionOf } from '../../../src/api/runtime/mcp/wire.ts';
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
    for (const name of read.filter((each) => tools.has(each)))
      expect([name, tools.get(name)!.danger, tools.get(name)!.sends]).toEqual([name, 'SAFE', []]);
    expect(all).toEqual(expect.arrayContaining(read));
    expect(all).toContain('shell_run');
    for (const name of ['ask_user', 'preferences', 'read_attachment']) expect(all).not.toContain(name);
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
