import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DAY } from '../../../src/domain/time.ts';
import { chatKey } from '../../../src/store/chats/ids.ts';
import { latestBundle, OF_AGENT, saveAttachment } from '../../../src/store/chats/messages/attachments.ts';
import { onThread } from '../../../src/store/chats/thread-transaction.ts';
import { readEvents } from '../../../src/store/chats/threads/events.ts';
import { insertItems, itemRow } from '../../../src/store/chats/threads/items.ts';
import { openStore } from '../../../src/store/postgres/database.ts';
import { insertPrompt } from '../../../src/store/routines/automations.ts';
import { closeRun, insertPastRuns, listRuns, openRun } from '../../../src/store/routines/runs.ts';
import { addSpending, spentToday } from '../../../src/store/turns/steps/spending.ts';
import { closeTurn, openTurn, turnState } from '../../../src/store/turns/turns.ts';
import { type ApiStack, startApi } from '../../conformance/api-stack.ts';
import { newThread } from '../../support/thread.ts';

let api: ApiStack;
beforeAll(async () => {
  api = await startApi({ token: 'tok-store', model: 'm', corsOrigins: '' });
}, 120_000);
afterAll(() => api?.close());

const freshThread = async (): Promise<string> => (await newThread(api.store.db)).threadId;
const named = async (thread: string) => (await readEvents(api.store.db, thread, 0, 100)).map((event) => event.event);

describe('a transaction on a thread', () => {
  it('numbers its events in the order in which they were appended, whatever was written between them', async () => {
    const { db } = api.store;
    const thread = await freshThread();
    await onThread(db, thread, async (tx) => {
      tx.append({ event: 'one', payload: {} });
      tx.later((later) => later.updateTable('threads').set({ title: 'later' }).where('id', '=', thread));
      tx.append({ event: 'two', payload: {} }, { event: 'three', payload: {} });
      await tx.sendPending();
      tx.append({ event: 'four', payload: {} });
    });
    expect(await named(thread)).toEqual(['thread.started', 'one', 'two', 'three', 'four']);
    expect(
      (await db.selectFrom('threads').select('title').where('id', '=', thread).executeTakeFirstOrThrow()).title,
    ).toBe('later');
  });

  it('leaves nothing behind when it fails, of what was sent and of what waited', async () => {
    const thread = await freshThread();
    const failed = onThread(api.store.db, thread, async (tx) => {
      tx.append({ event: 'sent', payload: {} });
      await tx.sendPending();
      tx.append({ event: 'waiting', payload: {} });
      throw new Error('no');
    });
    await expect(failed).rejects.toThrow('no');
    expect(await named(thread)).toEqual(['thread.started']);
  });

  it('wakes the readers of its thread once', async () => {
    const thread = await freshThread();
    const woken: string[] = [];
    const stop = await api.store.listen((id) => void (id === thread && woken.push(id)));
    await onThread(api.store.db, thread, (tx) => {
      for (const event of ['a', 'b', 'c']) tx.append({ event, payload: {} });
    });
    await expect.poll(() => woken.length).toBe(1);
    await stop();
  });

  it('keeps the items of a turn in the order in which they were added', async () => {
    const { db } = api.store;
    const thread = await freshThread();
    const record = await onThread(db, thread, async (tx) => {
      const turn = openTurn(tx, { text: 'go' });
      const kind = { turnId: turn.id, threadId: thread, kind: 'status', status: 'completed', summary: 's' } as const;
      const rows = Array.from({ length: 20 }, (_, n) =>
        itemRow({ ...kind, id: `${turn.id}-${(n * 7) % 20}`, metadata: { n } }),
      );
      await tx.sendPending();
      insertItems(tx, rows);
      return { turn, ids: [...turn.item_ids, ...rows.map((row) => row.id)] };
    });
    const state = await db.transaction().execute((tx) => turnState(tx, record.turn.id));
    expect(state?.items.map((item) => item.id)).toEqual(record.ids);
    await onThread(db, thread, async (tx) => closeTurn(tx, (await turnState(tx.now, record.turn.id))!, 'completed'));
    const ended = (await readEvents(db, thread, 0, 100)).at(-1)!;
    expect(ended.event).toBe('turn.completed');
    expect(ended.payload.turn).toMatchObject({
      status: 'completed',
      item_ids: record.ids,
      usage: { input_tokens: 0, output_tokens: 0 },
    });
  });
});

describe('what a chat spent', () => {
  it('is counted for the chat and the day, also by steps that end at once', async () => {
    const { db } = api.store;
    const threads = await Promise.all([freshThread(), freshThread()]);
    const add = (thread: string) =>
      onThread(db, thread, (tx) =>
        addSpending(tx, { chatId: tx.chatId, zone: 'UTC' }, { tokens: 3, microUsd: 5, unpriced: 2 }),
      );
    await Promise.all(Array.from({ length: 20 }, () => add(threads[0]!)));
    expect(await spentToday(db, `api/${threads[0]}`, 'UTC')).toEqual({ tokens: 60, microUsd: 100, unpriced: 40 });
    expect(await spentToday(db, `api/${threads[1]}`, 'UTC')).toEqual({ tokens: 0, microUsd: 0, unpriced: 0 });
  });
});

describe('prepared statements', () => {
  it('fail once when a newer version adds a column, and then go on', async () => {
    const { db } = api.store;
    const thread = await freshThread();
    const read = () => db.selectFrom('threads').selectAll().where('id', '=', thread).executeTakeFirstOrThrow();
    await read();
    await sql`alter table threads add column added_later text`.execute(db);
    await expect(read()).rejects.toMatchObject({ code: '0A000' });
    expect((await read()).id).toBe(thread);
    await sql`alter table threads drop column added_later`.execute(db);
  });

  it.each([
    ['are called as the query says', true, ['built_0_0', 'lock_thread']],
    ['are none where preparing is switched off', false, []],
  ])('%s', async (_, prepare, names) => {
    const thread = await freshThread();
    const { db, close } = await openStore(api.databaseUrl, { max: 1, migrate: false, prepare });
    await onThread(db, thread, async () => {});
    await db.selectFrom('threads').select('id').where('id', '=', thread).execute();
    const { rows } = await sql<{ name: string }>`select name from pg_prepared_statements order by name`.execute(db);
    expect(rows.map(({ name }) => name)).toEqual(names);
    await close();
  });
});

describe('a chat', () => {
  it('is one for one address, also where two machines have keys of their own for ids', async () => {
    const { db } = api.store;
    const at = (secret: string) =>
      newThread(db, { channel: 'console', address: 'main', chatKey: (address) => chatKey(secret, 'console', address) });
    await Promise.all([at('one'), at('two'), at('one'), at('two')]);
    const chats = await db.selectFrom('chats').select('id').where('channel', '=', 'console').execute();
    expect(chats).toHaveLength(1);
    expect(await db.selectFrom('threads').select('chat_id').where('chat_id', 'like', 'console/%').execute()).toEqual(
      Array(4).fill({ chat_id: chats[0]!.id }),
    );
  });
});

describe('the runs of a schedule', () => {
  it('stay, the newest 500', async () => {
    const { db } = api.store;
    const { chatId } = await newThread(db);
    const cron = (await insertPrompt(db, {
      id: 'cron_daily_1',
      chatId,
      name: 'Daily',
      schedule: '0 9 * * *',
      timeZone: 'UTC',
      enabled: true,
      prompt: 'Say hello.',
      isolated: false,
      sources: [],
    }))!;
    const runs = Array.from({ length: 520 }, (_, at) => ({
      ended: new Date(Date.now() - (1_000 - at) * DAY),
      durationMs: 1_000,
      ok: true,
      text: `Day ${at}`,
    }));
    await insertPastRuns(db, cron, runs);
    const routine = { id: cron.routine_id, name: cron.name, chat_id: chatId };
    const given = { inputs: {}, sources: [] };
    await openRun(db, {
      id: 'wfr_daily',
      routine,
      cronId: cron.id,
      workflowId: 'w',
      scheduledFor: null,
      note: null,
      given,
    });
    await closeRun(db, 'wfr_daily', 'completed', 'Day 520');
    const kept = (await listRuns(db, chatId, 1_000)).map(({ summary }) => summary);
    expect(kept).toHaveLength(500);
    expect([kept[0], kept.at(-1)]).toEqual(['Day 520', 'Day 21']);
  });
});

describe('a packed file', () => {
  it('is a session of the person where they sent it, and not where an agent wants to upload it', async () => {
    const { db } = api.store;
    const { chatId, threadId } = await newThread(db);
    const keep = (id: string, mime: string) =>
      saveAttachment(db, {
        id,
        threadId,
        kind: 'document',
        mime,
        name: 'session.tar.gz',
        data: Buffer.from('1f8b0800', 'hex'),
        preview: null,
        text: null,
      });
    await keep('att_agent', OF_AGENT);
    expect(await latestBundle(db, chatId)).toBeUndefined();
    await keep('att_person', 'application/gzip');
    expect(await latestBundle(db, chatId)).toMatchObject({ id: 'att_person' });
  });
});
