import { Readable } from 'node:stream';
import pLimit from 'p-limit';
import { type EventText, latestSeq, readEventTexts } from '../../store/chats/events.ts';
import { sseReaders } from '../../telemetry/metrics.ts';
import type { ApiDeps, StreamTimes } from '../api-deps.ts';
import { whole } from '../http/query.ts';
import { endpoint, type RuntimeDeps } from './endpoint.ts';
import { eventRecord } from './record-schemas.ts';
import { existingThread } from './threads.ts';

const BATCH = 256;
/** Backlogs that are read at once. More would only compete, and delay all other requests. */
const READERS = 4;
const reading = pLimit(READERS);
/** Streams of this process that are open. */
let readers = 0;
const TIMES: StreamTimes = { keepaliveMs: 15_000, pollMs: 2_000 };

/**
 * The backlog after the cursor, then new events. Both are the same read of the stored log, so no event is lost or doubled in between. A notification only says
 * "read again".
 */
export const getEvents = endpoint({
  method: 'GET',
  path: '/v1/threads/{id}/events',
  summary: 'Follow the events of a thread',
  query: { since_seq: whole.describe('Events after this one; Last-Event-ID says the same') },
  answer: {
    written: { type: 'text/event-stream', schema: eventRecord },
    what: 'Stored events, then new ones as they happen, and comments while none do.',
  },
  refusals: { 404: 'There is no such thread.' },
  handle: async ({ ctx, params: { id }, query }, deps) => {
    const since = query.since_seq ?? lastEventId(ctx.get('last-event-id'));
    await existingThread(id, deps);
    ctx.status = 200;
    ctx.set({ 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache', 'X-Accel-Buffering': 'no' });
    const gone = new AbortController();
    ctx.res.once('close', () => gone.abort());
    const signal = deps.stopping ? AbortSignal.any([gone.signal, deps.stopping]) : gone.signal;
    ctx.req.socket.setNoDelay(true);
    if (ctx.method !== 'HEAD') ctx.res.flushHeaders();
    // a cursor beyond the end belongs to another store, or to the time before a restore; the client still sees what happens from now on
    const cursor = Math.min(since ?? 0, await latestSeq(deps.store.db, id));
    // the stream asks for the next chunk only when the client took the last one, so a slow reader costs one batch
    ctx.body = Readable.from(follow(id, cursor, deps, signal));
  },
});

/** Frames of a thread's events with `seq` above `cursor`, and comments while it is silent, until `signal` aborts. */
async function* follow(id: string, cursor: number, deps: RuntimeDeps, signal: AbortSignal): AsyncGenerator<string> {
  const times = { ...TIMES, ...deps.stream };
  const wakeup = deps.wakeups.subscribe(id);
  sseReaders.set({}, ++readers);
  let spoke = Date.now();
  try {
    while (!signal.aborted) {
      wakeup.arm();
      const events = await reading(() => read(deps, id, cursor));
      if (events.length > 0) {
        let frames = '';
        for (const event of events) {
          frames += frame(event, cursor);
          cursor = event.seq;
        }
        yield frames;
        spoke = Date.now();
        if (events.length === BATCH) continue;
      }
      const silentFor = Date.now() - spoke;
      if (silentFor >= times.keepaliveMs) {
        yield ': keepalive\n\n';
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
async function read(deps: ApiDeps, id: string, cursor: number): Promise<EventText[]> {
  try {
    return await readEventTexts(deps.store.db, id, cursor, BATCH);
  } catch (error) {
    deps.log?.warn({ err: error }, 'events could not be read; trying again');
    return [];
  }
}

/** Exactly two lines, as existing parsers expect. `previous_seq` is the event before this one on this stream, or the cursor. */
export const frame = ({ event, text }: EventText, previousSeq: number): string =>
  `event: ${event}\ndata: ${text.slice(0, -1)},"previous_seq":${previousSeq}}\n\n`;

export function lastEventId(header: string): number | undefined {
  return /^[0-9]{1,15}$/.test(header) ? Number(header) : undefined;
}
