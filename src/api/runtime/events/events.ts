import { Readable } from 'node:stream';
import type { Context } from 'koa';
import pLimit from 'p-limit';
import type { z } from 'zod';
import { latestSeq, readFrames } from '../../../store/chats/threads/events.ts';
import { sseReaders } from '../../../telemetry/metrics.ts';
import type { StreamTimes } from '../../api-deps.ts';
import { whole } from '../../http/request.ts';
import { endpoint, type RuntimeDeps } from '../shared/endpoint.ts';
import { eventRecord } from '../shared/record-schemas.ts';
import { existingThread } from '../threads/threads.ts';

/** What a reader of a long log gets at once, and what this process holds of it at most. */
const BATCH = { events: 256, bytes: 256 * 1024 };

/** The backlog after the cursor, then new events. */
export const getEvents = endpoint({
  method: 'GET',
  path: '/v1/threads/{id}/events',
  summary: 'Follow the events of a thread',
  query: {
    since_seq: whole.describe('Events after this one; Last-Event-ID says the same, and the later of both counts'),
  },
  answer: {
    written: { type: 'text/event-stream', schema: eventRecord },
    what: 'Stored events, then new ones as they happen, and comments while none do. `stream.end` is last when the server stops: it is no event of the thread, and has the `seq` of the one before it.',
  },
  refusals: { 404: 'There is no such thread.' },
  handle: async ({ ctx, params: { id }, query }, deps) => {
    const since = cursorOf(ctx, query.since_seq);
    await existingThread(id, deps);
    // a cursor beyond the end belongs to another store, or to the time before a restore; the client still sees what
    // happens from now on
    const cursor = Math.min(since ?? 0, await latestSeq(deps.store.db, id));
    sendEvents(ctx, deps, (signal) => frames(deps, { threadId: id, cursor, signal }));
  },
});

async function* frames(
  deps: RuntimeDeps,
  at: { threadId: string; cursor: number; signal: AbortSignal },
): AsyncGenerator<string> {
  let last = at.cursor;
  const read = async (cursor: number) => {
    const found = await readFrames(deps.store.db, at.threadId, cursor, BATCH);
    return found && { part: found, cursor: found.seq, more: found.more };
  };
  for await (const found of follow(deps, at, read)) {
    yield found?.text ?? KEEPALIVE;
    last = found?.seq ?? last;
  }
  if (deps.stopping?.aborted) yield frameOf(STREAM_END, streamEnd(at.threadId, last), last);
}

function streamEnd(threadId: string, seq: number): z.output<typeof eventRecord> {
  const at = new Date().toISOString();
  return {
    schema_version: 1,
    seq,
    event: STREAM_END,
    kind: STREAM_END,
    thread_id: threadId,
    turn_id: null,
    item_id: null,
    timestamp: at,
    created_at: at,
    payload: STOPPING,
    previous_seq: seq,
  };
}

/** One frame. `id`: a client that comes back sends it as Last-Event-ID. */
export const frameOf = (event: string, data: unknown, id?: number): string =>
  `event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;

/** The last frame of a stream that ends because the server stops, so that clients come back without alarm. */
export const STREAM_END = 'stream.end';
export const STOPPING = { reason: 'server_stopping' };

/**
 * The cursor of a request; undefined for none. A browser that reconnects repeats its address, so the later of both
 * counts.
 */
export function cursorOf(ctx: Context, sinceSeq: number | undefined): number | undefined {
  const header = ctx.get('last-event-id');
  const last = /^[0-9]{1,15}$/.test(header) ? Number(header) : undefined;
  return last === undefined || sinceSeq === undefined ? (sinceSeq ?? last) : Math.max(sinceSeq, last);
}

/** The keep-alive of a silent stream, so that no proxy closes it. */
export const KEEPALIVE = ': keepalive\n\n';

/**
 * Answers with an event stream. `frames` ends at the latest when its signal aborts: the client has left, or the process
 * stops.
 */
export function sendEvents(
  ctx: Context,
  deps: Pick<RuntimeDeps, 'stopping'>,
  frames: (signal: AbortSignal) => AsyncIterable<string>,
): void {
  ctx.status = 200;
  ctx.set({ 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache', 'X-Accel-Buffering': 'no' });
  const gone = new AbortController();
  ctx.res.once('close', () => gone.abort());
  ctx.req.socket.setNoDelay(true);
  if (ctx.method !== 'HEAD') ctx.res.flushHeaders();
  // the stream asks for the next chunk only when the client took the last one
  ctx.body = Readable.from(frames(deps.stopping ? AbortSignal.any([gone.signal, deps.stopping]) : gone.signal));
}

/** Reads of logs at the same time, of all streams. More would only compete, and delay all other requests. */
const READS = 4;
const reading = pLimit(READS);
/** Streams of this process that are open. */
let readers = 0;
const TIMES: StreamTimes = { keepaliveMs: 15_000, pollMs: 2_000 };

/** A part of a log, and whether more of it is there already. */
export interface Batch<Part> {
  part: Part;
  cursor: number;
  more: boolean;
}

/**
 * The stored log of a thread after `cursor`, batch by batch, then what is added to it, until `signal` aborts. Null: it
 * was silent so long that a proxy might close the stream. Both are the same read, so nothing is lost or doubled in
 * between: a notification only says "read again". The next batch is read when the last one was taken, so a slow reader
 * costs one batch.
 */
export async function* follow<Part>(
  deps: RuntimeDeps,
  at: { threadId: string; cursor: number; signal: AbortSignal },
  read: (cursor: number) => Promise<Batch<Part> | null>,
): AsyncGenerator<Part | null> {
  const times = { ...TIMES, ...deps.stream };
  const { signal } = at;
  const wakeup = deps.wakeups.subscribe(at.threadId);
  sseReaders.set({}, ++readers);
  let { cursor } = at;
  let spoke = Date.now();
  try {
    while (!signal.aborted) {
      wakeup.arm();
      const batch = await reading(() => patiently(deps, () => read(cursor)));
      if (batch) {
        cursor = batch.cursor;
        yield batch.part;
        spoke = Date.now();
        if (batch.more) continue;
      }
      const silentFor = Date.now() - spoke;
      if (silentFor >= times.keepaliveMs) {
        yield null;
        spoke = Date.now();
      }
      await wakeup.wait(Math.min(times.pollMs, Math.max(1, times.keepaliveMs - silentFor)), signal);
    }
  } finally {
    wakeup.close();
    sseReaders.set({}, --readers);
  }
}

/** A short outage of the database must not end streams: the log is still there afterwards. */
async function patiently<T>(deps: RuntimeDeps, read: () => Promise<T | null>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    deps.log?.warn({ err: error }, 'events could not be read; trying again');
    return null;
  }
}
