import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ApiClient } from '../../../src/client/api-client.ts';
import { serverSentData } from '../../../src/client/event-stream.ts';
import { ApiError } from '../../../src/domain/api-error.ts';
import { chatServer, frame, until } from './chat-server.ts';

let server: Awaited<ReturnType<typeof chatServer>>;
beforeEach(async () => {
  server = await chatServer();
});
afterEach(() => server.close());
const client = (token = 'right', silenceMs?: number) => new ApiClient({ baseUrl: server.baseUrl, token, silenceMs });

function follow(since = 0, silenceMs?: number) {
  const stop = new AbortController();
  const seen: number[] = [];
  const states: string[] = [];
  const done = (async () => {
    for await (const event of client('right', silenceMs).events('thr_1', since, stop.signal, (state) =>
      states.push(state),
    ))
      seen.push(event.seq);
  })();
  return { seen, states, done, stop: () => stop.abort() };
}

describe('the event stream', () => {
  test('gives each event once and in order although the connection breaks in the middle of a frame', async () => {
    server.emit('turn.started', { n: 1 });
    server.emit('turn.lifecycle', { n: 2 });
    const stream = follow();
    await until('the backlog', () => stream.seen.length === 2);
    server.emit('item.delta', { delta: 'a' });
    await until('a live event', () => stream.seen.length === 3);
    const torn = frame({ ...server.events.at(-1)!, seq: 12 });
    server.raw(torn.slice(0, torn.length - 9));
    server.dropStreams();
    server.emit('item.delta', { delta: 'b' });
    server.emit('item.delta', { delta: 'c' });
    await until('the events of the gap', () => stream.seen.length >= 5);
    // a server that repeats itself does not double anything either
    server.raw(frame(server.events[0]!) + frame(server.events[4]!));
    server.emit('turn.completed', {});
    await until('the event after the repeats', () => stream.seen.length >= 6);
    stream.stop();
    await stream.done;
    expect(stream.seen).toEqual([3, 6, 9, 12, 15, 18]);
    expect(server.cursors).toEqual([0, 9]);
    expect(stream.states).toEqual(['connected', 'reconnecting', 'connected']);
  });

  test('takes a silent connection for dead and connects again from the last event', async () => {
    const stream = follow(0, 150);
    await until('a second connection', () => server.cursors.length >= 2);
    server.emit('turn.started', {});
    await until('the event', () => stream.seen.length === 1);
    stream.stop();
    await stream.done;
  });

  test('ends at once when it is no longer wanted', async () => {
    const stream = follow();
    await until('a connection', () => server.streams.size === 1);
    stream.stop();
    await stream.done;
    await until('the server to see it closed', () => server.streams.size === 0);
  });

  test('ends with the reason when the token is refused', async () => {
    const events = client('wrong').events('thr_1', 0, new AbortController().signal);
    await expect(events.next()).rejects.toMatchObject({ status: 401, message: 'runtime API bearer token required' });
  });

  test('reads frames however they are cut, with CRLF and with several data lines', async () => {
    const bytes = new TextEncoder().encode(
      'event: x\r\ndata: {"ä":1}\r\n\r\n: keepalive\n\ndata: a\ndata: b\n\ndata: cut off',
    );
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of bytes) controller.enqueue(new Uint8Array([byte]));
        controller.close();
      },
    });
    const seen: string[] = [];
    for await (const data of serverSentData(body)) seen.push(data);
    expect(seen).toEqual(['{"ä":1}', 'a\nb']);
  });
});

describe('a message', () => {
  test('is repeated with the same key until the server acknowledges it', async () => {
    server.state.loseAcknowledgements = 2;
    const waits: number[] = [];
    const answer = await client().say('thr_1', 'hello', 'key-1', { onWait: ({ attempt }) => waits.push(attempt) });
    expect(answer).toEqual({ kind: 'turn' });
    expect(server.said).toEqual(Array(3).fill({ text: 'hello', key: 'key-1' }));
    expect(waits).toEqual([1, 2]);
  });

  test('that is refused is not repeated', async () => {
    server.state.refuse = { status: 400, message: 'text is required' };
    const refusal = await client()
      .say('thr_1', '', 'key-1')
      .catch((error) => error);
    expect(refusal).toBeInstanceOf(ApiError);
    expect(refusal).toMatchObject({ status: 400, message: 'text is required' });
  });

  test('that waits for a server is given up when the person leaves', async () => {
    await server.close();
    const leave = new AbortController();
    const saying = client().say('thr_1', 'hello', 'key-1', { signal: leave.signal, onWait: () => leave.abort() });
    await expect(saying).rejects.toThrow();
    server = await chatServer();
  });
});
