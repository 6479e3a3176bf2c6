import { type ClientRequest, get } from 'node:http';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ThreadRecord } from '../../src/contracts/records.ts';
import { until } from '../support/until.ts';
import { type ApiStack, startApi } from './api-stack.ts';
import { send } from './golden.ts';

const TOKEN = 'tok-backlogs';
const AUTH = { Authorization: `Bearer ${TOKEN}` };
let api: ApiStack;
/** characters of logs that the server has read from the database, by thread; and in how many reads, of all */
const read = new Map<string, number>();
let reads = 0;
beforeAll(async () => {
  api = await startApi({
    token: TOKEN,
    model: 'm',
    corsOrigins: '',
    watch: (rows) => {
      const { text } = (rows[0] ?? {}) as { text?: unknown };
      const [, thread] = typeof text === 'string' ? (/"thread_id":"(thr_\w+)"/.exec(text) ?? []) : [];
      if (thread === undefined) return;
      reads += 1;
      read.set(thread, (read.get(thread) ?? 0) + String(text).length);
    },
  });
}, 120_000);
afterAll(() => api?.close());
beforeEach(() => {
  reads = 0;
  read.clear();
});

const PAYLOAD = 300;
async function threadWith(events: number): Promise<string> {
  const { id } = JSON.parse(
    (await send(api.port, 'POST', '/v1/threads', { ...AUTH, 'Content-Type': 'application/json' }, '{}')).body,
  ) as ThreadRecord;
  await sql`insert into events (thread_id, event, payload)
    select ${id}, 'item.delta', jsonb_build_object('n', n, 'pad', repeat('x', ${PAYLOAD}::int)) from generate_series(1, ${events}::int) as n`.execute(
    api.store.db,
  );
  return id;
}

interface Reader {
  events(): number;
  request: ClientRequest;
}

/** Counts what it gets, and keeps none of it. `stalled`: it takes nothing from its socket. */
const follow = (id: string, stalled = false): Promise<Reader> =>
  new Promise((resolve, reject) => {
    const request = get(
      { host: '127.0.0.1', port: api.port, path: `/v1/threads/${id}/events?since_seq=0`, headers: AUTH },
      (incoming) => {
        let events = 0;
        let rest = '';
        incoming.on('error', () => {});
        if (stalled) incoming.pause();
        else
          incoming.setEncoding('latin1').on('data', (chunk: string) => {
            const parts = (rest + chunk).split('\n\n');
            rest = parts.pop()!;
            events += parts.length;
          });
        resolve({ events: () => events, request });
      },
    );
    request.on('error', reject);
  });

describe('a log of 100,000 events', () => {
  it('is sent as its reader takes it: of what nobody takes, only what the sockets hold is read', async () => {
    const [taken, left] = [await threadWith(100_000), await threadWith(100_000)];
    const stalled = await follow(left, true);
    const reader = await follow(taken);
    await until('one reader has all of it', () => reader.events() === 100_001, 120_000);
    const whole = read.get(taken)!;
    expect(whole).toBeGreaterThan(100_000 * PAYLOAD);
    // the buffers of two sockets: some megabytes
    expect(read.get(left)!).toBeLessThan(whole / 3);
    for (const { request } of [stalled, reader]) request.destroy();
  }, 180_000);
});

describe('forty readers of a long log', () => {
  it('let others be answered after a few of their reads, and get all', async () => {
    const id = await threadWith(5_000);
    const readers = await Promise.all(Array.from({ length: 40 }, () => follow(id)));
    const during: number[] = [];
    while (readers.some((reader) => reader.events() < 5_001)) {
      const before = reads;
      expect((await send(api.port, 'GET', '/health', {})).status).toBe(200);
      during.push(reads - before);
    }
    // four logs are read at a time
    expect(Math.max(...during)).toBeLessThanOrEqual(16);
    expect(during.length).toBeGreaterThan(40);
    expect(readers.map((reader) => reader.events())).toEqual(readers.map(() => 5_001));
    for (const { request } of readers) request.destroy();
  }, 180_000);
});
