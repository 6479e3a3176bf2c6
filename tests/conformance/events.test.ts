import { type ClientRequest, get } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventEnvelope, ThreadRecord } from '../../src/contracts/records.ts';
import { onThread } from '../../src/store/chats/thread-transaction.ts';
import { type ApiStack, startApi } from './api-stack.ts';
import { send } from './golden.ts';

const TOKEN = 'tok-events';
let api: ApiStack;

beforeAll(async () => {
  api = await startApi({ token: TOKEN, model: 'm', corsOrigins: '', stream: { keepaliveMs: 200, pollMs: 60_000 } });
}, 120_000);
afterAll(() => api?.close());

const newThread = async (): Promise<ThreadRecord> =>
  JSON.parse(
    (
      await send(
        api.port,
        'POST',
        '/v1/threads',
        { Authorization: `Bearer ${TOKEN}`, 'Content-Type': 'application/json' },
        '{}',
      )
    ).body,
  ) as ThreadRecord;

const append = (id: string, count: number, size = 0) =>
  onThread(api.store.db, id, (tx) =>
    tx.append(
      ...Array.from({ length: count }, (_, n) => ({ event: 'item.delta', payload: { n, pad: 'x'.repeat(size) } })),
    ),
  );

interface Follower {
  text(): string;
  events(): Array<EventEnvelope & { previous_seq: number }>;
  request: ClientRequest;
  pause(): void;
  resume(): void;
}

function follow(path: string, headers: Record<string, string> = {}): Promise<Follower> {
  return new Promise((resolve, reject) => {
    const request = get(
      { host: '127.0.0.1', port: api.port, path, headers: { Authorization: `Bearer ${TOKEN}`, ...headers } },
      (incoming) => {
        let text = '';
        incoming.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        incoming.on('error', () => {});
        const events = () =>
          text
            .split('\n\n')
            .slice(0, -1)
            .filter((frame) => !frame.startsWith(':'))
            .map(
              (frame) =>
                JSON.parse(/^event: .+\nid: \d+\ndata: (.+)$/.exec(frame)![1]!) as EventEnvelope & {
                  previous_seq: number;
                },
            );
        resolve({ text: () => text, events, request, pause: () => incoming.pause(), resume: () => incoming.resume() });
      },
    );
    request.on('error', reject);
  });
}

const until = (what: () => boolean) => expect.poll(what, { timeout: 10_000, interval: 10 }).toBe(true);

describe('the event stream', () => {
  it('gives the backlog and then what happens, with no gap and no duplicate, in frames of exactly three lines', async () => {
    const { id } = await newThread();
    await append(id, 300);
    const writing = append(id, 300);
    const stream = await follow(`/v1/threads/${id}/events?since_seq=0`);
    await writing;
    await append(id, 50);
    await until(() => stream.events().length >= 651);
    const events = stream.events();
    expect(events).toHaveLength(651);
    expect(events[0]).toMatchObject({
      schema_version: 1,
      event: 'thread.started',
      kind: 'thread.started',
      turn_id: null,
      item_id: null,
      previous_seq: 0,
    });
    for (const [n, event] of events.entries()) if (n > 0) expect(event.previous_seq).toBe(events[n - 1]!.seq);
    stream.request.destroy();
  });

  it('starts after since_seq or Last-Event-ID, the later of both, and keeps a silent connection alive', async () => {
    const { id } = await newThread();
    await append(id, 3);
    const all = await follow(`/v1/threads/${id}/events`);
    await until(() => all.events().length === 4);
    const middle = all.events()[1]!.seq;
    const after = await follow(`/v1/threads/${id}/events?since_seq=${middle}`);
    expect(all.text()).toContain(`\nid: ${middle}\n`);
    const header = { 'Last-Event-ID': String(middle) };
    const resumed = await follow(`/v1/threads/${id}/events`, header);
    // as the EventSource of a browser comes back
    const again = await follow(`/v1/threads/${id}/events?since_seq=0`, header);
    await until(
      () =>
        [after, resumed, again].every((stream) => stream.events().length === 2) &&
        after.text().includes(': keepalive\n\n'),
    );
    for (const stream of [all, after, resumed, again]) stream.request.destroy();
  });

  it('goes on for a client whose cursor is beyond the end', async () => {
    const { id } = await newThread();
    await append(id, 3);
    const ahead = await follow(`/v1/threads/${id}/events?since_seq=${Number.MAX_SAFE_INTEGER}`);
    await append(id, 2);
    await until(() => ahead.events().length === 2);
    ahead.request.destroy();
  });

  it('gives forty readers of a long backlog all of it, and answers others meanwhile', async () => {
    const { id } = await newThread();
    await append(id, 2_000, 100);
    const readers = await Promise.all(Array.from({ length: 40 }, () => follow(`/v1/threads/${id}/events?since_seq=0`)));
    expect((await send(api.port, 'GET', '/health', {})).status).toBe(200);
    const has = ({ text }: Follower) => text().split('data: ').length - 1;
    expect(readers.some((reader) => has(reader) < 2_001)).toBe(true);
    await until(() => readers.every((reader) => has(reader) === 2_001));
    for (const reader of readers) reader.request.destroy();
  });

  it('a client that does not read holds nobody up, and gets everything once it reads', async () => {
    const { id } = await newThread();
    const slow = await follow(`/v1/threads/${id}/events`);
    slow.pause();
    const fast = await follow(`/v1/threads/${id}/events`);
    for (let round = 0; round < 4; round += 1) await append(id, 200, 20_000);
    await until(() => fast.events().length === 801);
    slow.resume();
    await until(() => slow.events().length === 801);
    slow.request.destroy();
    fast.request.destroy();
  }, 60_000);
});

describe('the status API', () => {
  it('answers without a token, in the shape of the contract, and not to other origins', async () => {
    const status = await send(api.statusPort, 'GET', '/api/status', { Origin: 'http://evil.example' });
    expect(JSON.parse(status.body)).toMatchObject({
      state: 'disconnected',
      qrCode: null,
      qrUrl: null,
      messageCount: 0,
      version: '0.0.0',
      notificationMetrics: { total: 0 },
    });
    expect(status.headers['access-control-allow-origin']).toBeUndefined();
    expect((await send(api.statusPort, 'GET', '/api/health', {})).body).toBe('{"healthy":true}');
    expect(await send(api.statusPort, 'GET', '/api/nope', {})).toMatchObject({
      status: 404,
      body: '{"error":"Not found"}',
    });
  });
});

describe('a stop of the server', () => {
  it('is the last frame of each stream, and no event of the thread', async () => {
    const { id } = await newThread();
    const stream = await follow(`/v1/threads/${id}/events`);
    await until(() => stream.events().length === 1);
    api.stop();
    await until(() => stream.events().length === 2);
    const [first, last] = stream.events();
    expect(last).toMatchObject({
      event: 'stream.end',
      kind: 'stream.end',
      thread_id: id,
      seq: first!.seq,
      previous_seq: first!.seq,
      payload: { reason: 'server_stopping' },
    });
  });
});
