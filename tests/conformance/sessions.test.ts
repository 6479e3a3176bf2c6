import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ThreadRecord } from '../../src/contracts/records.ts';
import { onThread } from '../../src/store/chats/thread-transaction.ts';
import { json } from '../../src/store/postgres/database.ts';
import { remember } from '../../src/store/steps/transcript.ts';
import { addCompleteTurn } from '../../src/store/turns/complete-turn.ts';
import { openTurn } from '../../src/store/turns/turns.ts';
import { type ApiStack, startApi } from './api-stack.ts';
import { send } from './golden.ts';

/** One test for each sentence of the contract about sessions. */

const ADMIN = 'admin-sessions';
let api: ApiStack;
beforeAll(async () => {
  api = await startApi({ token: 'tok-sessions', adminToken: ADMIN, model: 'm', corsOrigins: '' });
}, 120_000);
afterAll(() => api?.close());

const ask = async (method: string, path: string, token: string | null = ADMIN) => {
  const { status, headers, body } = await send(api.statusPort, method, path, { ...(token && { Authorization: `Bearer ${token}` }) }, null);
  return { status, type: headers['content-type'], body: JSON.parse(body) };
};
const runtime = async <T>(method: string, path: string, body?: object): Promise<T> => {
  const headers = { Authorization: 'Bearer tok-sessions', ...(body && { 'Content-Type': 'application/json' }) };
  return JSON.parse((await send(api.port, method, path, headers, body ? JSON.stringify(body) : null)).body) as T;
};
const listed = async (): Promise<Array<{ id: string }>> => (await ask('GET', '/api/sessions?limit=1000')).body.sessions;
const thread = async (): Promise<string> => (await runtime<ThreadRecord>('POST', '/v1/threads', {})).id;

/** A turn of the past: a question, a tool call with its result, an answer. */
async function talk(threadId: string, key: string): Promise<void> {
  await onThread(api.store.db, threadId, async (tx) => {
    const turnId = `turn_${key}`;
    await addCompleteTurn(tx, { id: turnId, summary: key }, async () => {
      remember(tx, { id: `${key}-1`, turnId, role: 'user', content: 'List my workspaces' });
      // one statement gives no order to what it inserts
      await tx.sendPending();
      remember(tx, { id: `${key}-2`, turnId, role: 'assistant', content: '', callIds: [`${key}-call`] });
      await tx.sendPending();
      remember(tx, { id: `${key}-3`, turnId, role: 'assistant', content: 'You have three.' });
      const call = { provider_id: 'p', thread_id: threadId, item_id: `item_${key}`, step: 0, position: 0, name: 'workspace_list', danger: 'SAFE' as const };
      const result = {
        effect: 'idempotent' as const,
        policy: null,
        state: 'done' as const,
        ok: true,
        output: 'a, b, c',
        started_at: new Date(),
        ended_at: new Date(),
      };
      tx.later((db) => db.insertInto('calls').values({ id: `${key}-call`, turn_id: turnId, args: json({}), ...call, ...result }));
    });
  });
}

const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

describe('GET /api/sessions', () => {
  it('returns summarized session metadata', async () => {
    const id = await thread();
    await talk(id, 'summary');
    const { status, type, body } = await ask('GET', '/api/sessions');
    expect([status, type, body.success]).toEqual([200, 'application/json', true]);
    expect(body.sessions.find((one: { id: string }) => one.id === id)).toEqual({
      id,
      userId: id,
      messageCount: 3,
      lastActivityAt: TIME,
      createdAt: TIME,
      activeProject: null,
    });
  });

  it('names a person of WhatsApp by the phone number, also where the chat has another address', async () => {
    const { db } = api.store;
    await db
      .insertInto('chats')
      .values({ id: 'whatsapp/1', channel: 'whatsapp', address: '77@lid', workflow_id: 'chat/whatsapp/1', autonomy: 'cautious' })
      .execute();
    const settings = { model: 'auto', workspace: '/tmp', mode: 'agent', allow_shell: true, trust_mode: false, auto_approve: false, archived: false };
    const none = { system_prompt: null, task_id: null, title: null, latest_turn_id: null };
    await db
      .insertInto('threads')
      .values({ id: 'thr_lid', chat_id: 'whatsapp/1', ...settings, ...none })
      .execute();
    const contact = { account: 'default', lid: '77@lid', name: null, chat_address: '77@lid', reply_jid: '77@lid' };
    expect((await ask('GET', '/api/sessions/thr_lid')).body.session.userId).toBe('77@lid');
    await db
      .insertInto('wa_contacts')
      .values({ ...contact, pn: '15551234567@s.whatsapp.net' })
      .execute();
    expect((await listed()).find(({ id }) => id === 'thr_lid')).toMatchObject({ userId: '15551234567@c.us' });
  });

  it('shows the latest activity first, 100 or as many as asked for', async () => {
    const [older, newer] = [await thread(), await thread()];
    await runtime('POST', `/v1/threads/${older}/turns`, { prompt: 'work' });
    expect((await listed()).map(({ id }) => id).filter((id) => id === older || id === newer)).toEqual([older, newer]);
    expect((await ask('GET', '/api/sessions?limit=1')).body.sessions).toMatchObject([{ id: older }]);
    for (const limit of ['0', '1001', 'many', '1.5', '-1', ''])
      expect(await ask('GET', `/api/sessions?limit=${limit}`)).toMatchObject({ status: 400, body: { success: false } });
  });
});

describe('GET /api/sessions/:id', () => {
  it('returns the full message history for a specific session', async () => {
    const id = await thread();
    await talk(id, 'full');
    const { status, body } = await ask('GET', `/api/sessions/${id}`);
    expect([status, body.success, body.session.id]).toEqual([200, true, id]);
    expect(body.session.messages).toEqual([
      { role: 'user', content: 'List my workspaces', timestamp: TIME },
      { role: 'tool', content: 'a, b, c', timestamp: TIME },
      { role: 'assistant', content: 'You have three.', timestamp: TIME },
    ]);
  });

  it('has every field of a session, and no invented value', async () => {
    const id = await thread();
    const { messages, ...session } = (await ask('GET', `/api/sessions/${id}`)).body.session;
    expect(messages).toEqual([]);
    expect(session).toEqual({
      id,
      userId: id,
      metadata: { channel: 'api', title: null, model: 'm', mode: 'agent' },
      currentProject: null,
      availableProjects: [],
      activeFiles: [],
      repoMap: null,
      repoMapUpdatedAt: null,
      preferences: { autonomyLevel: 'cautious', autoCommit: true, verboseMode: false },
      activeTaskId: null,
      gitStartCommit: null,
      createdAt: TIME,
      lastActivityAt: TIME,
    });
  });

  it('shows the project and its branch', async () => {
    const { db } = api.store;
    const id = await thread();
    const git = { branch: 'main', head: null, modified: 0, untracked: 0, ahead: 0, behind: 0, remote: null };
    const profile = json({ language: 'TypeScript', framework: null, packageManager: 'npm', test: null, git });
    await db.insertInto('workspaces').values({ host: 'local', name: 'fetch-app', path: '/w/fetch-app', profile }).execute();
    await db.updateTable('chats').set({ workspace: 'fetch-app', workspace_host: 'local' }).where('address', '=', id).execute();
    const { session } = (await ask('GET', `/api/sessions/${id}`)).body;
    expect(session.currentProject).toMatchObject({ name: 'fetch-app', host: 'local', path: '/w/fetch-app', language: 'TypeScript', gitBranch: 'main' });
    expect(session.availableProjects).toEqual(['fetch-app']);
    expect((await listed()).find((one) => one.id === id)).toMatchObject({ activeProject: 'fetch-app' });
  });

  it.each(['a.b', 'a%20b', '%24', 'x'.repeat(129), 'thr_1%2F2', 'ä'])('refuses an id that is not of ^[A-Za-z0-9_-]+$: %s', async (id) => {
    for (const [method, path] of [
      ['GET', id],
      ['DELETE', id],
      ['POST', `${id}/clear`],
    ] as const)
      expect(await ask(method, `/api/sessions/${encodeURI(decodeURI(path))}`)).toMatchObject({
        status: 400,
        body: { success: false, message: expect.stringContaining('Invalid session ID') },
      });
  });

  it('refuses a missing id and a longer path', async () => {
    expect(await ask('GET', '/api/sessions/')).toMatchObject({ status: 400, body: { success: false, message: 'Missing session ID' } });
    expect(await ask('DELETE', '/api/sessions/a/b')).toMatchObject({ status: 400, body: { success: false, message: 'Invalid session ID' } });
  });

  it('knows an unknown session as 404', async () => {
    for (const [method, path] of [
      ['GET', '/api/sessions/ses_abc123'],
      ['DELETE', '/api/sessions/ses_abc123'],
      ['POST', '/api/sessions/ses_abc123/clear'],
    ] as const)
      expect(await ask(method, path)).toMatchObject({ status: 404, body: { success: false, message: 'Session not found' } });
  });
});

describe('POST /api/sessions/:id/clear', () => {
  it('clears message history for one session', async () => {
    const [id, other] = [await thread(), await thread()];
    await talk(id, 'clear');
    await talk(other, 'kept');
    expect(await ask('POST', `/api/sessions/${id}/clear`)).toMatchObject({ status: 200, body: { success: true, message: 'Session cleared' } });
    expect((await ask('GET', `/api/sessions/${id}`)).body.session.messages).toEqual([]);
    expect((await listed()).find((one) => one.id === id)).toMatchObject({ messageCount: 0 });
    expect((await ask('GET', `/api/sessions/${other}`)).body.session.messages).toHaveLength(3);
  });
});

describe('DELETE /api/sessions/:id', () => {
  it('deletes a session by id', async () => {
    const id = await thread();
    await talk(id, 'gone');
    expect(await ask('DELETE', `/api/sessions/${id}`)).toMatchObject({ status: 200, body: { success: true, message: 'Session deleted' } });
    for (const method of ['GET', 'DELETE']) expect((await ask(method, `/api/sessions/${id}`)).status).toBe(404);
    expect((await listed()).map((one) => one.id)).not.toContain(id);
    expect((await runtime<ThreadRecord[]>('GET', '/v1/threads')).map((one) => one.id)).not.toContain(id);
  });

  it('lets the next message in its chat begin a session without what was said before', async () => {
    const id = await thread();
    await talk(id, 'before');
    await ask('DELETE', `/api/sessions/${id}`);
    await runtime('POST', `/v1/threads/${id}/turns`, { prompt: 'hello again' });
    const { session } = (await ask('GET', `/api/sessions/${id}`)).body;
    expect(session.messages).toMatchObject([{ role: 'user', content: 'hello again' }]);
  });
});

it('a session whose turn is at work is neither cleared nor deleted', async () => {
  const id = await thread();
  await onThread(api.store.db, id, (tx) => void openTurn(tx, { text: 'at work' }));
  for (const [method, path] of [
    ['DELETE', `/api/sessions/${id}`],
    ['POST', `/api/sessions/${id}/clear`],
  ] as const)
    expect(await ask(method, path)).toMatchObject({ status: 409, body: { success: false, message: expect.stringContaining('at work') } });
  expect((await ask('GET', `/api/sessions/${id}`)).body.session.messages).toMatchObject([{ content: 'at work' }]);
});

it('a deletion and a new turn at the same moment never lose the message (20 times)', async () => {
  for (let round = 0; round < 20; round++) {
    const id = await thread();
    await talk(id, `race-${round}`);
    const [deleted] = await Promise.all([ask('DELETE', `/api/sessions/${id}`), runtime('POST', `/v1/threads/${id}/turns`, { prompt: 'now' })]);
    const { session } = (await ask('GET', `/api/sessions/${id}`)).body;
    const before = deleted.status === 200 ? [] : ['List my workspaces', 'a, b, c', 'You have three.'];
    expect([200, 409]).toContain(deleted.status);
    expect(session.messages.map((one: { content: string }) => one.content)).toEqual([...before, 'now']);
  }
});

describe('defect 39 of the original', () => {
  it.each([
    ['GET', '/api/sessions'],
    ['GET', '/api/sessions/x'],
    ['DELETE', '/api/sessions/x'],
    ['POST', '/api/sessions/x/clear'],
    ['GET', '/api/sessions/x/y'],
  ])('%s %s needs the token, and says of a wrong one that it is wrong', async (method, path) => {
    expect(await ask(method, path, null)).toMatchObject({ status: 401, body: { success: false, message: 'Unauthorized' } });
    for (const token of ['wrong', ADMIN.slice(0, -1), `${ADMIN}x`])
      expect(await ask(method, path, token)).toMatchObject({ status: 403, body: { success: false } });
  });
});
