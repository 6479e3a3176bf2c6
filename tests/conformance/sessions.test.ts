import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ThreadRecord } from '../../src/contracts/records.ts';
import { onThread } from '../../src/store/chats/thread-transaction.ts';
import { addItem } from '../../src/store/chats/threads/items.ts';
import { type Db, json } from '../../src/store/postgres/database.ts';
import { addCompleteTurn } from '../../src/store/turns/complete-turn.ts';
import { remember } from '../../src/store/turns/steps/transcript.ts';
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
  const { status, headers, body } = await send(
    api.statusPort,
    method,
    path,
    { ...(token && { Authorization: `Bearer ${token}` }) },
    null,
  );
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
      const call = {
        provider_id: 'p',
        thread_id: threadId,
        item_id: `item_${key}`,
        step: 0,
        position: 0,
        name: 'workspace_list',
        danger: 'SAFE' as const,
      };
      const result = {
        effect: 'idempotent' as const,
        policy: null,
        state: 'done' as const,
        ok: true,
        output: 'a, b, c',
        started_at: new Date(),
        ended_at: new Date(),
      };
      tx.later((db) =>
        db.insertInto('calls').values({ id: `${key}-call`, turn_id: turnId, args: json({}), ...call, ...result }),
      );
    });
  });
}

/** A word in every text of a session that has ended its turns. */
async function fillWith(threadId: string, word: string): Promise<void> {
  const turnId = `turn_of_${threadId}`;
  await onThread(api.store.db, threadId, async (tx) => {
    const { now, chatId } = tx;
    await addCompleteTurn(tx, { id: turnId, summary: word }, async () => {
      const item = {
        id: `item_${threadId}`,
        turnId,
        threadId,
        kind: 'agent_message' as const,
        status: 'completed' as const,
      };
      await addItem(tx, { ...item, summary: word, detail: word });
      remember(tx, { id: `msg_${threadId}`, turnId, role: 'user', content: word });
    });
    await tx.sendPending();
    const bytes = sql`convert_to(${word}, 'UTF8')`;
    const statements = [
      sql`insert into calls (id, provider_id, turn_id, thread_id, item_id, step, position, name, args, danger, effect, state, ok, output)
        values (${`call_${threadId}`}, 'p', ${turnId}, ${threadId}, 'i', 1, 0, 'web_fetch', '{}', 'SAFE', 'idempotent', 'done', true, ${word})`,
      sql`insert into questions (id, chat_id, thread_id, turn_id, call_id, kind, prompt, state)
        values (${`q_${threadId}`}, ${chatId}, ${threadId}, ${turnId}, ${`call_${threadId}`}, 'question', ${word}, 'answered')`,
      sql`insert into inbox (id, chat_id, thread_id, turn_id, channel_message_id, arrival, body)
        values (${`inb_${threadId}`}, ${chatId}, ${threadId}, ${turnId}, ${`m-${threadId}`}, '{"kind": "turn"}', ${word})`,
      sql`insert into outbox (id, chat_id, thread_id, turn_id, kind, body, state) values
        (${`out_${threadId}`}, ${chatId}, ${threadId}, ${turnId}, 'answer', ${word}, 'sent'),
        (${`out2_${threadId}`}, ${chatId}, ${threadId}, ${turnId}, 'notice', ${word}, 'queued')`,
      sql`insert into attachments (id, thread_id, kind, mime, name, size, sha256, data)
        values (${`att_${threadId}`}, ${threadId}, 'document', 'text/plain', ${word}, 1, '', ''::bytea)`,
      sql`insert into summaries (id, thread_id, upto, body) values (${`s_${threadId}`}, ${threadId}, 0, ${word})`,
      sql`insert into wa_inbox (account, chat, participant, from_me, message_id, content, handled_at, inbox_id)
        values ('default', 'c', '', false, ${`w-${threadId}`}, ${bytes}, now(), ${`inb_${threadId}`})`,
      sql`insert into wa_sends (message_id, account, outbox_id, part, jid, content, state)
        values (${`s-${threadId}`}, 'default', ${`out_${threadId}`}, 0, 'j', ${bytes}, 'sent')`,
      sql`update threads set title = ${word} where id = ${threadId}`,
    ];
    for (const statement of statements) await statement.execute(now);
  });
}

/** How many rows of each table have the word somewhere. */
async function rowsWith(db: Db, word: string): Promise<Record<string, number>> {
  const { rows } = await sql<{
    name: string;
  }>`select tablename as name from pg_tables where schemaname = 'public'`.execute(db);
  const found: Record<string, number> = {};
  const hex = Buffer.from(word).toString('hex');
  for (const { name } of rows) {
    const { rows: counted } = await sql<{ count: number }>`
      select count(*) as count from ${sql.table(name)} as row where row::text like ${`%${word}%`} or row::text like ${`%${hex}%`}`.execute(
      db,
    );
    if (Number(counted[0]!.count) > 0) found[name] = Number(counted[0]!.count);
  }
  return found;
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
      .values({
        id: 'whatsapp/1',
        channel: 'whatsapp',
        address: '77@lid',
        workflow_id: 'chat/whatsapp/1',
        autonomy: 'cautious',
      })
      .execute();
    const settings = {
      model: 'auto',
      workspace: '/tmp',
      mode: 'agent',
      allow_shell: true,
      trust_mode: false,
      auto_approve: false,
      archived: false,
    };
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

  it('counts exactly the messages that the session has, whatever was counted before', async () => {
    const { db } = api.store;
    const id = await thread();
    const agrees = async () => {
      const { messageCount } = (await ask('GET', '/api/sessions?limit=1000')).body.sessions.find(
        (one: { id: string }) => one.id === id,
      );
      expect(messageCount).toBe((await ask('GET', `/api/sessions/${id}`)).body.session.messages.length);
      return messageCount;
    };
    const kept = async () =>
      Number(
        (await db.selectFrom('session_counts').select('messages').where('thread_id', '=', id).executeTakeFirst())
          ?.messages ?? 0,
      );
    for (let at = 0; at < 20; at++) await talk(id, `count-${at}`);
    // a call that has not ended becomes a message later
    await db.updateTable('calls').set({ state: 'running' }).where('id', '=', 'count-3-call').execute();
    expect([await agrees(), await kept()]).toEqual([59, 0]);
    await db.updateTable('calls').set({ state: 'done' }).where('id', '=', 'count-3-call').execute();
    expect([await agrees(), await kept()]).toEqual([60, 60]);
    await talk(id, 'count-more');
    expect([await agrees(), await kept()]).toEqual([63, 60]);
    await runtime('POST', `/v1/threads/${id}/turns`, { prompt: 'at work' });
    expect([await agrees(), await kept()]).toEqual([64, 60]);
    await db.updateTable('turns').set({ status: 'completed' }).where('thread_id', '=', id).execute();
    await ask('POST', `/api/sessions/${id}/clear`);
    expect(await agrees()).toBe(0);
    for (let at = 0; at < 18; at++) await talk(id, `count-again-${at}`);
    expect([await agrees(), await kept()]).toEqual([54, 54]);
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
    await db
      .insertInto('workspaces')
      .values({ host: 'local', name: 'fetch-app', path: '/w/fetch-app', profile })
      .execute();
    await db
      .updateTable('chats')
      .set({ workspace: 'fetch-app', workspace_host: 'local' })
      .where('address', '=', id)
      .execute();
    const { session } = (await ask('GET', `/api/sessions/${id}`)).body;
    expect(session.currentProject).toMatchObject({
      name: 'fetch-app',
      host: 'local',
      path: '/w/fetch-app',
      language: 'TypeScript',
      gitBranch: 'main',
    });
    expect(session.availableProjects).toEqual(['fetch-app']);
    expect((await listed()).find((one) => one.id === id)).toMatchObject({ activeProject: 'fetch-app' });
  });

  it.each(['a.b', 'a%20b', '%24', 'x'.repeat(129), 'thr_1%2F2', 'ä'])(
    'refuses an id that is not of ^[A-Za-z0-9_-]+$: %s',
    async (id) => {
      for (const [method, path] of [
        ['GET', id],
        ['DELETE', id],
        ['POST', `${id}/clear`],
      ] as const)
        expect(await ask(method, `/api/sessions/${encodeURI(decodeURI(path))}`)).toMatchObject({
          status: 400,
          body: { success: false, message: expect.stringContaining('Invalid session ID') },
        });
    },
  );

  it('refuses a missing id and a longer path', async () => {
    expect(await ask('GET', '/api/sessions/')).toMatchObject({
      status: 400,
      body: { success: false, message: 'Missing session ID' },
    });
    expect(await ask('DELETE', '/api/sessions/a/b')).toMatchObject({
      status: 400,
      body: { success: false, message: 'Invalid session ID' },
    });
  });

  it('knows an unknown session as 404', async () => {
    for (const [method, path] of [
      ['GET', '/api/sessions/ses_abc123'],
      ['DELETE', '/api/sessions/ses_abc123'],
      ['POST', '/api/sessions/ses_abc123/clear'],
    ] as const)
      expect(await ask(method, path)).toMatchObject({
        status: 404,
        body: { success: false, message: 'Session not found' },
      });
  });
});

describe('POST /api/sessions/:id/clear', () => {
  it('clears message history for one session', async () => {
    const [id, other] = [await thread(), await thread()];
    await talk(id, 'clear');
    await talk(other, 'kept');
    expect(await ask('POST', `/api/sessions/${id}/clear`)).toMatchObject({
      status: 200,
      body: { success: true, message: 'Session cleared' },
    });
    expect((await ask('GET', `/api/sessions/${id}`)).body.session.messages).toEqual([]);
    expect((await listed()).find((one) => one.id === id)).toMatchObject({ messageCount: 0 });
    expect((await ask('GET', `/api/sessions/${other}`)).body.session.messages).toHaveLength(3);
  });
});

describe('DELETE /api/sessions/:id', () => {
  it('deletes a session by id', async () => {
    const id = await thread();
    await talk(id, 'gone');
    expect(await ask('DELETE', `/api/sessions/${id}`)).toMatchObject({
      status: 200,
      body: { success: true, message: 'Session deleted' },
    });
    for (const method of ['GET', 'DELETE']) expect((await ask(method, `/api/sessions/${id}`)).status).toBe(404);
    expect((await listed()).map((one) => one.id)).not.toContain(id);
    expect((await runtime<ThreadRecord[]>('GET', '/v1/threads')).map((one) => one.id)).not.toContain(id);
  });

  it('erases every text of it, in every table, and nothing of another session', async () => {
    const { db } = api.store;
    const [id, other] = [await thread(), await thread()];
    const word = 'wanderfalke';
    for (const each of [id, other]) await fillWith(each, word);
    const before = await rowsWith(db, word);
    expect(Object.keys(before).sort()).toEqual([
      ...[
        'attachments',
        'calls',
        'events',
        'inbox',
        'items',
        'outbox',
        'questions',
        'summaries',
        'threads',
        'transcript',
        'turns',
        'wa_inbox',
        'wa_sends',
      ],
    ]);
    expect((await ask('DELETE', `/api/sessions/${id}`)).status).toBe(200);
    const after = await rowsWith(db, word);
    // of two sessions with the same rows, those of one are left
    expect(after).toEqual(Object.fromEntries(Object.entries(before).map(([table, count]) => [table, count / 2])));
    expect((await ask('GET', `/api/sessions/${other}`)).body.session.messages.length).toBeGreaterThan(0);
    // by its id, a message that comes again is recognised
    const { chat_id } = await db.selectFrom('threads').select('chat_id').where('id', '=', id).executeTakeFirstOrThrow();
    expect(
      await db.selectFrom('inbox').select(['channel_message_id', 'body']).where('chat_id', '=', chat_id).execute(),
    ).toEqual([{ channel_message_id: `m-${id}`, body: '' }]);
  });

  it('is refused while a coding task of it is not over', async () => {
    const { db } = api.store;
    const id = await thread();
    const { chat_id } = await db.selectFrom('threads').select('chat_id').where('id', '=', id).executeTakeFirstOrThrow();
    const ids = {
      id: 'tsk_open',
      chat_id,
      thread_id: id,
      turn_id: 'turn_t',
      call_id: 'call_t',
      workflow_id: 'task/tsk_open',
      session_id: null,
    };
    const work = {
      goal: 'g',
      agent: 'auto',
      harness: 'practice' as const,
      host: 'local',
      workspace: 'w',
      state: 'waiting' as const,
      timeout_ms: 1,
    };
    const none = {
      last: null,
      reason: null,
      result: null,
      outbox_id: null,
      started_at: null,
      ended_at: null,
      plan: null,
    };
    await db
      .insertInto('tasks')
      .values({ ...ids, ...work, ...none })
      .execute();
    expect(await ask('DELETE', `/api/sessions/${id}`)).toMatchObject({
      status: 409,
      body: { success: false, message: expect.stringContaining('tsk_open') },
    });
    await db
      .updateTable('tasks')
      .set({ state: 'completed', ended_at: new Date() })
      .where('id', '=', 'tsk_open')
      .execute();
    expect((await ask('DELETE', `/api/sessions/${id}`)).status).toBe(200);
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
    expect(await ask(method, path)).toMatchObject({
      status: 409,
      body: { success: false, message: expect.stringContaining('at work') },
    });
  expect((await ask('GET', `/api/sessions/${id}`)).body.session.messages).toMatchObject([{ content: 'at work' }]);
});

it('a deletion and a new turn at the same moment never lose the message (20 times)', async () => {
  for (let round = 0; round < 20; round++) {
    const id = await thread();
    await talk(id, `race-${round}`);
    const [deleted] = await Promise.all([
      ask('DELETE', `/api/sessions/${id}`),
      runtime('POST', `/v1/threads/${id}/turns`, { prompt: 'now' }),
    ]);
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
    expect(await ask(method, path, null)).toMatchObject({
      status: 401,
      body: { success: false, message: 'Unauthorized' },
    });
    for (const token of ['wrong', ADMIN.slice(0, -1), `${ADMIN}x`])
      expect(await ask(method, path, token)).toMatchObject({ status: 403, body: { success: false } });
  });
});
