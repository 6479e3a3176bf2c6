import { sql } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { onThread, ThreadBusy, ThreadQueue } from '../../../../src/store/chats/thread-transaction.ts';
import { isDatabaseAway } from '../../../../src/store/postgres/health.ts';
import { startTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { newThread } from '../../../support/thread.ts';
import { until } from '../../../support/until.ts';

/** A thread that somebody holds, as a process does that hangs in the middle of a transaction. */

let database: TestDatabase;
let other: pg.Client;
beforeAll(async () => {
  database = await startTestDatabase(3);
  other = new pg.Client({ connectionString: database.url });
  await other.connect();
});
afterAll(async () => {
  await other?.end();
  await database?.close();
});

const thread = async (): Promise<string> => (await newThread(database.store.db)).threadId;
const touch = (id: string) => onThread(database.store.db, id, async () => 'done');

describe('a thread that is held by another process', () => {
  it('holds up nobody else, however many wait for it, and goes on where it was', async () => {
    const [held, free] = [await thread(), await thread()];
    await other.query('begin');
    await other.query('select 1 from threads where id = $1 for update', [held]);
    // many times as many as there are connections
    const waiting = Array.from({ length: 30 }, () => touch(held));
    const waits = async () =>
      (
        await other.query(
          "select count(*)::int as n from pg_stat_activity where application_name = 'fetch-test' and wait_event_type = 'Lock'",
        )
      ).rows[0].n as number;
    await until('one of them waits for the lock', async () => (await waits()) > 0);
    for (let time = 0; time < 20; time++) expect(await touch(free)).toBe('done');
    expect(await waits()).toBe(1);
    await other.query('rollback');
    expect(await Promise.all(waiting)).toEqual(waiting.map(() => 'done'));
  });

  it('is given up by what waits for it, and that can be tried again', async () => {
    const held = await thread();
    await other.query('begin');
    await other.query('select 1 from threads where id = $1 for update', [held]);
    const error = await touch(held).catch((reason: unknown) => reason);
    expect((error as { code?: string }).code).toBe('55P03');
    expect(isDatabaseAway(error)).toBe(true);
    await other.query('rollback');
    expect(await touch(held)).toBe('done');
  });
});

describe('transactions of one thread', () => {
  it('run in the order in which they came, also after one that failed or gave up', async () => {
    const queue = new ThreadQueue();
    const ran: string[] = [];
    let free!: () => void;
    const first = queue.run('t', () => new Promise<void>((resolve) => (free = resolve)));
    const late = queue.run('t', async () => ran.push('late'), 1).catch((error: unknown) => error);
    const failing = queue.run('t', () => Promise.reject(new Error('no'))).catch((error: Error) => error.message);
    const after = queue.run('t', async () => ran.push('after'));
    expect(await late).toBeInstanceOf(ThreadBusy);
    free();
    await first;
    expect(await failing).toBe('no');
    await after;
    expect(ran).toEqual(['after']);
  });
});

it('no connection of ours may stand still in a transaction for ever', async () => {
  const { rows } = await sql<{
    name: string;
  }>`select name from pg_settings where name like '%timeout' and setting <> '0'`.execute(database.store.db);
  expect(rows.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['idle_in_transaction_session_timeout', 'lock_timeout', 'statement_timeout']),
  );
});
