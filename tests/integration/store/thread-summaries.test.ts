import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { onThread } from '../../../src/store/chats/thread-transaction.ts';
import {
  type ThreadFilter,
  type ThreadSummaryRow,
  threadSummaries,
} from '../../../src/store/chats/threads/thread-summaries.ts';
import { saveWorkspace } from '../../../src/store/kennel/workspaces/workspaces.ts';
import { updateThread } from '../../../src/store/turns/thread-detail.ts';
import { openTurn } from '../../../src/store/turns/turns.ts';
import { startTestDatabase, type TestDatabase } from '../../support/database.ts';
import { saidTurn } from '../../support/said.ts';
import { newThread } from '../../support/thread.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await startTestDatabase();
}, 60_000);
afterAll(() => database?.close());

const db = () => database.store.db;
const ALL: ThreadFilter = { limit: 500, include_archived: false, archived_only: false };
const summaries = (filter: Partial<ThreadFilter> = {}) => threadSummaries(db(), { ...ALL, ...filter });
const summary = async (id: string): Promise<ThreadSummaryRow> => (await summaries()).find((row) => row.id === id)!;
const begin = (threadId: string) => onThread(db(), threadId, (tx) => openTurn(tx, { text: 'work' }).id);

async function asked(at: { threadId: string; chatId: string; turnId: string }): Promise<void> {
  const question = {
    id: `q_${at.turnId}`,
    chat_id: at.chatId,
    thread_id: at.threadId,
    turn_id: at.turnId,
    call_id: null,
    task_id: null,
  };
  await db()
    .insertInto('questions')
    .values({
      ...question,
      ...{
        kind: 'question',
        prompt: 'Which?',
        options: '[]',
        state: 'open',
        decision: null,
        answer: null,
        evidence: null,
      },
      ...{ delivered_at: null, decided_at: null, decided_by: null },
    })
    .execute();
}

describe('the summary of a thread', () => {
  it('says what it is about: the last words, and what its model and its turns are', async () => {
    const { threadId } = await newThread(db());
    expect(await summary(threadId)).toMatchObject({
      said: null,
      title: null,
      latest_turn_id: null,
      state: 'idle',
      pending: 0,
      micro_usd: 0,
      git: null,
    });
    await saidTurn(db(), threadId, 'first', 'an answer');
    const turn = await begin(threadId);
    expect(await summary(threadId)).toMatchObject({
      said: 'work',
      input_summary: 'work',
      latest_turn_id: turn,
      latest_turn_status: 'in_progress',
    });
  });

  it('says what it does: working, waiting for a person, waiting for a limit', async () => {
    const { threadId, chatId } = await newThread(db());
    const turnId = await begin(threadId);
    expect((await summary(threadId)).state).toBe('working');
    const wait = {
      turn_id: turnId,
      kind: 'limit' as const,
      what: 'the model',
      until: new Date(Date.now() + 60_000),
      told_until: null,
    };
    await db().insertInto('model_waits').values(wait).execute();
    expect((await summary(threadId)).state).toBe('limited');
    await asked({ threadId, chatId, turnId });
    expect(await summary(threadId)).toMatchObject({ state: 'waiting', pending: 1 });
  });

  it('counts a coding task that outlives its turn, and one that is paused', async () => {
    const { threadId, chatId } = await newThread(db());
    const turnId = await saidTurn(db(), threadId, 'do it', 'begun');
    const made = sql`insert into tasks (id, chat_id, thread_id, turn_id, call_id, workflow_id, goal, agent, harness, host, workspace, state, timeout_ms)
      values ('tsk_sum', ${chatId}, ${threadId}, ${turnId}, 'call_sum', 'task/tsk_sum', 'goal', 'auto', 'claude', 'here', 'demo', 'running', 1000)`;
    await made.execute(db());
    for (const state of ['running', 'paused'] as const) {
      await db().updateTable('tasks').set({ state }).where('id', '=', 'tsk_sum').execute();
      expect((await summary(threadId)).state).toBe(state === 'running' ? 'working' : 'paused');
    }
    await db()
      .updateTable('tasks')
      .set({ state: 'running', limited_until: new Date(Date.now() + 60_000) })
      .where('id', '=', 'tsk_sum')
      .execute();
    expect((await summary(threadId)).state).toBe('limited');
    await db()
      .updateTable('tasks')
      .set({ state: 'completed', ended_at: new Date() })
      .where('id', '=', 'tsk_sum')
      .execute();
    expect((await summary(threadId)).state).toBe('idle');
  });

  it('has the git state of the active workspace, and without one that of its own folder', async () => {
    const { threadId, chatId } = await newThread(db(), { workspace: '/projects/own' });
    const profile = (branch: string) => ({
      ...{ language: null, framework: null, packageManager: null, test: null },
      git: { branch, head: 'abcdef1234567890', modified: 0, untracked: 2, ahead: 0, behind: 0, remote: null },
    });
    await saveWorkspace(db(), { host: 'here', name: 'own', path: '/projects/own', profile: profile('own-branch') });
    await saveWorkspace(db(), {
      host: 'here',
      name: 'active',
      path: '/projects/active',
      profile: profile('active-branch'),
    });
    expect(await summary(threadId)).toMatchObject({
      workspace: '/projects/own',
      git: { branch: 'own-branch', untracked: 2 },
    });
    await db()
      .updateTable('chats')
      .set({ workspace: 'active', workspace_host: 'here' })
      .where('id', '=', chatId)
      .execute();
    expect(await summary(threadId)).toMatchObject({ workspace: '/projects/active', git: { branch: 'active-branch' } });
  });

  it('sums up what its chat has spent, with coding tasks', async () => {
    const { threadId, chatId } = await newThread(db());
    for (const [day, micro_usd] of [
      ['2026-01-01', 1_000],
      ['2026-01-02', 200],
    ] as const)
      await db().insertInto('spending').values({ chat_id: chatId, day, tokens: 1, micro_usd }).execute();
    await sql`insert into task_spending (chat_id, day, tokens, micro_usd) values (${chatId}, '2026-01-01', 1, 30)`.execute(
      db(),
    );
    expect((await summary(threadId)).micro_usd).toBe(1_230);
  });

  it('knows a chat of WhatsApp by the name that its person or group has', async () => {
    const person = await newThread(db(), { channel: 'whatsapp', address: '777@lid' });
    const group = await newThread(db(), { channel: 'whatsapp', address: '999@g.us' });
    const contact = {
      account: 'main',
      lid: '777@lid',
      pn: '491701234567@s.whatsapp.net',
      chat_address: '777@lid',
      reply_jid: '777@lid',
    };
    await db()
      .insertInto('wa_contacts')
      .values({ ...contact, name: 'Ada' })
      .execute();
    await sql`insert into wa_groups values ('main', '999@g.us', '{"id": "999@g.us", "subject": "Garden", "participants": []}', now())`.execute(
      db(),
    );
    expect(await summary(person.threadId)).toMatchObject({ name: 'Ada', phone: '491701234567@s.whatsapp.net' });
    expect(await summary(group.threadId)).toMatchObject({ name: 'Garden' });
  });
});

describe('a list of summaries', () => {
  it('is found by parts of what it shows, whatever signs they have, also beyond the newest', async () => {
    const { threadId } = await newThread(db());
    await saidTurn(db(), threadId, 'hello', 'The 100% Aubergine_plan');
    await updateThread(db(), threadId, { title: 'Vegetables' });
    const untitled: string[] = [];
    for (let n = 0; n < 3; n += 1) untitled.push((await newThread(db())).threadId);
    for (const search of ['aubergine_', '100% a', 'VEGET', threadId.slice(4)])
      expect((await summaries({ search, limit: 1 })).map(({ id }) => id)).toEqual([threadId]);
    expect(await summaries({ search: 'aubergine%plan' })).toEqual([]);
    const found = (await summaries({ search: 'new thread' })).map(({ id }) => id);
    expect(found).toEqual(expect.arrayContaining(untitled));
    expect(found).not.toContain(threadId);
    await updateThread(db(), threadId, { archived: true });
    expect(await summaries({ search: 'vegetables' })).toEqual([]);
    expect((await summaries({ search: 'vegetables', archived_only: true })).map(({ archived }) => archived)).toEqual([
      true,
    ]);
    expect(await summaries({ search: 'vegetables', include_archived: true })).toHaveLength(1);
  });

  it('reads a few rows for each thread, however long a thread is', async () => {
    const { threadId } = await newThread(db());
    const turnId = await saidTurn(db(), threadId, 'a long task', 'begins');
    await sql`insert into items (id, turn_id, thread_id, kind, status, summary)
      select 'item_many_' || n, ${turnId}, ${threadId}, 'tool_call', 'completed', 'read' from generate_series(1, 20000) as n`.execute(
      db(),
    );
    await sql`analyze items`.execute(db());
    await db()
      .connection()
      .execute(async (one) => {
        const readSoFar = async (): Promise<number> =>
          (
            await sql<{
              rows: number;
            }>`select (idx_tup_fetch + seq_tup_read)::float8 as rows from pg_stat_xact_user_tables where relname = 'items'`.execute(
              one,
            )
          ).rows[0]!.rows;
        await sql`begin`.execute(one);
        // what this connection has read since its figures were last sent counts, too
        const before = await readSoFar();
        const rows = await threadSummaries(one, ALL);
        const read = (await readSoFar()) - before;
        await sql`rollback`.execute(one);
        expect(rows.find(({ id }) => id === threadId)?.said).toBe('begins');
        expect(read).toBeLessThanOrEqual(rows.length);
      });
  });
});
