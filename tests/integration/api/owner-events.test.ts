import { get } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Mailbox } from '../../../src/api/owner/now/events.ts';
import type { OwnerEvent } from '../../../src/contracts/owner.ts';
import type { ThreadRecord } from '../../../src/contracts/records.ts';
import { onThread } from '../../../src/store/chats/thread-transaction.ts';
import { settledSeq } from '../../../src/store/owner/views/changes.ts';
import { insertCron } from '../../../src/store/routines/crons.ts';
import { insertRoutine } from '../../../src/store/routines/routines.ts';
import { closeRun, openRun } from '../../../src/store/routines/runs.ts';
import { report, wish } from '../../../src/store/whatsapp/account.ts';
import { type OwnerApi, startOwnerApi } from '../../support/owner-api.ts';
import { newThread } from '../../support/thread.ts';
import { until } from '../../support/until.ts';

let owner: OwnerApi;
beforeAll(async () => {
  owner = await startOwnerApi({ stream: { keepaliveMs: 300, pollMs: 200 } });
}, 120_000);
afterAll(() => owner?.close());

interface Followed {
  events(): OwnerEvent[];
  raw(): string;
  close(): void;
}
const opened: Followed[] = [];
afterAll(() => {
  for (const stream of opened) stream.close();
});

function follow(query = '', headers: Record<string, string> = {}): Promise<Followed> {
  return new Promise((resolve, reject) => {
    const request = get(
      `http://127.0.0.1:${owner.api.port}/v1/owner/events${query}`,
      { headers: { Authorization: 'Bearer tok-owner', ...headers } },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('error', () => {});
        const events = () =>
          [...text.matchAll(/^event: changed\nid: \d+\ndata: (.+)\n\n/gm)].map(
            ([, data]) => JSON.parse(data!) as OwnerEvent,
          );
        const stream = { events, raw: () => text, close: () => request.destroy() };
        opened.push(stream);
        resolve(stream);
      },
    );
    request.on('error', reject);
  });
}
const told = (stream: Followed, what: string, fits: (event: OwnerEvent) => boolean, from = 0) =>
  until(`the stream tells ${what}`, () => stream.events().slice(from).find(fits), 20_000);
const say = (thread: string, event: string) =>
  onThread(owner.api.store.db, thread, (tx) => tx.append({ event, payload: {} }));

describe('the stream of all changes', () => {
  it('begins with "read everything", and tells of each thread what kind of event it had', async () => {
    const stream = await follow();
    await told(stream, 'all', ({ about }) => about === 'all');
    const { body: thread } = await owner.ask<ThreadRecord>('POST', '/v1/threads', {});
    const begun = await told(stream, 'the thread', ({ thread_id }) => thread_id === thread.id);
    expect(begun).toMatchObject({ about: 'thread', kinds: ['thread.started'] });
    await say(thread.id, 'turn.completed');
    await told(
      stream,
      'the event',
      ({ thread_id, kinds }) => thread_id === thread.id && kinds.includes('turn.completed'),
    );
  });

  it('joins many events of a thread, and costs the same for many readers', async () => {
    const readers = await Promise.all(Array.from({ length: 20 }, () => follow()));
    for (const reader of readers) await told(reader, 'all', ({ about }) => about === 'all');
    const { threadId } = await newThread(owner.api.store.db);
    for (let at = 0; at < 100; at += 1) await say(threadId, at === 99 ? 'the.last' : 'item.delta');
    for (const reader of readers) {
      await told(
        reader,
        'the last event',
        ({ thread_id, kinds }) => thread_id === threadId && kinds.includes('the.last'),
      );
      expect(reader.events().filter(({ thread_id }) => thread_id === threadId).length).toBeLessThan(60);
    }
  });

  it('tells of what has no events: tasks, schedules, WhatsApp, settings', async () => {
    const { db } = owner.api.store;
    const stream = await follow();
    await told(stream, 'all', ({ about }) => about === 'all');
    await wish(db, 'default', { wanted: 'on' });
    await report(db, 'default', { state: 'qr_pending', qr: 'x' });
    await told(stream, 'whatsapp', ({ about }) => about === 'whatsapp');
    const task = await owner.task('work');
    await told(stream, 'tasks', ({ about }) => about === 'tasks');
    const from = stream.events().length;
    await db.updateTable('tasks').set({ last: 'runs the tests' }).where('id', '=', task.id).execute();
    await told(stream, 'progress', ({ about }) => about === 'tasks', from);
    const { chatId } = await newThread(db);
    const routine = (await insertRoutine(db, {
      id: 'wf_a',
      chatId,
      name: 'tidy',
      description: '',
      workspace: null,
      steps: [],
    }))!;
    await insertCron(db, {
      id: 'cron_a',
      routineId: 'wf_a',
      chatId,
      name: 'nightly',
      schedule: '0 3 * * *',
      timeZone: 'UTC',
      enabled: true,
    });
    await told(stream, 'schedules', ({ about }) => about === 'schedules');
    const before = stream.events().length;
    // in one transaction: no look finds it while it runs
    const run = {
      id: 'wfr_a',
      routine,
      cronId: 'cron_a',
      workflowId: 'w',
      scheduledFor: new Date(),
      note: null,
      given: { inputs: {}, sources: [] },
    };
    await db.transaction().execute(async (tx) => {
      await openRun(tx, run);
      await closeRun(tx, 'wfr_a', 'completed', 'All is tidy.');
    });
    await told(stream, 'a run', ({ about }) => about === 'schedules', before);
    await owner.ask('PATCH', '/v1/owner/settings', { settings: { FETCH_MAX_DAY_USD: '7' } });
    await told(stream, 'settings', ({ about }) => about === 'settings');
  });

  it('goes on after a reader was away, by Last-Event-ID, and leaves nothing out', async () => {
    const { db } = owner.api.store;
    const { threadId } = await newThread(db);
    const before = await follow();
    const at = (await told(before, 'all', ({ about }) => about === 'all')).seq;
    before.close();
    await say(threadId, 'while.away');
    const after = await follow('', { 'Last-Event-ID': String(at) });
    await told(
      after,
      'what was missed',
      ({ thread_id, kinds }) => thread_id === threadId && kinds.includes('while.away'),
    );
    await told(after, 'tasks', ({ about }) => about === 'tasks');
  });

  it('counts nothing of the last minute as settled, because another transaction may still commit a smaller number', async () => {
    const { db } = owner.api.store;
    const { threadId } = await newThread(db);
    const { seq: old } = await db
      .insertInto('events')
      .values({ thread_id: threadId, event: 'old', payload: '{}', at: new Date(Date.now() - 120_000) })
      .returning('seq')
      .executeTakeFirstOrThrow();
    await say(threadId, 'new');
    expect(await settledSeq(db)).toBe(old);
  });

  it('begins again for a reader from another store, whose place is beyond the end', async () => {
    const stream = await follow('?since_seq=999999999');
    await told(stream, 'all', ({ about }) => about === 'all');
  });

  it('keeps a silent connection open with comments', async () => {
    const stream = await follow();
    await until('a comment comes', () => stream.raw().includes(': keepalive\n\n'), 10_000);
  });
});

describe('a reader that takes nothing', () => {
  it('keeps one entry for a thread, and one for all when there are too many', () => {
    const box = new Mailbox();
    box.put({ about: 'thread', thread_id: 'a', kinds: ['x'] });
    box.put({ about: 'thread', thread_id: 'a', kinds: ['y', 'x'] });
    expect(box.take()).toEqual([{ about: 'thread', thread_id: 'a', kinds: ['x', 'y'] }]);
    for (let at = 0; at < 5_000; at += 1) box.put({ about: 'thread', thread_id: `t${at}`, kinds: [] });
    expect(box.take()).toEqual([{ about: 'all', thread_id: null, kinds: [] }]);
  });
});
