import { Readable } from 'node:stream';
import type { Context } from 'koa';
import type { EventEnvelope } from '../contracts/records.ts';
import { readEvents } from '../store/events.ts';
import { getThread } from '../store/threads.ts';
import type { ApiDeps, StreamTimes } from './deps.ts';
import { isId } from './path.ts';
import { readQuery } from './query.ts';
import { threadNotFound } from './reply.ts';
import type { Wakeups } from './wakeups.ts';

const BATCH = 256;
const TIMES: StreamTimes = { keepaliveMs: 15_000, pollMs: 2_000 };

/**
 * `GET /v1/threads/{id}/events?since_seq=`: the backlog after the cursor, then what happens. Both are the same read of the
 * stored log, so there is no seam between them to lose or double an event in; a notification only says "read again".
 */
export async function streamEvents(ctx: Context, id: string, deps: ApiDeps, wakeups: Wakeups): Promise<void> {
  const since = readQuery(ctx.querystring, { since_seq: 'whole' }).since_seq ?? lastEventId(ctx.get('last-event-id'));
  if (!isId(id) || !(await getThread(deps.store.db, id))) throw threadNotFound(id);
  ctx.status = 200;
  ctx.set({ 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache', 'X-Accel-Buffering': 'no' });
  const gone = new AbortController();
  ctx.res.once('close', () => gone.abort());
  const signal = deps.stopping ? AbortSignal.any([gone.signal, deps.stopping]) : gone.signal;
  ctx.req.socket.setNoDelay(true);
  if (ctx.method !== 'HEAD') ctx.res.flushHeaders();
  // the pipe asks for the next chunk only when the client took the last one: a slow reader holds one batch and nobody up
  ctx.body = Readable.from(follow(id, since ?? 0, deps, wakeups, signal));
}

/** Frames of a thread's events with `seq` above `cursor`, and comments while it is silent, until `signal` aborts. */
async function* follow(id: string, cursor: number, deps: ApiDeps, wakeups: Wakeups, signal: AbortSignal): AsyncGenerator<string> {
  const times = { ...TIMES, ...deps.stream };
  const wakeup = wakeups.subscribe(id);
  let spoke = Date.now();
  try {
    while (!signal.aborted) {
      wakeup.arm();
      const events = await read(deps, id, cursor);
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
  }
}

/** A database that is away for a moment must not end streams: the log is still there when it comes back. */
async function read(deps: ApiDeps, id: string, cursor: number): Promise<EventEnvelope[]> {
  try {
    return await readEvents(deps.store.db, id, cursor, BATCH);
  } catch (error) {
    deps.log?.warn({ err: error }, 'events could not be read; trying again');
    return [];
  }
}

/** Exactly two lines, as existing parsers expect. `previous_seq` is the event before this one on this stream, or the cursor. */
export const frame = (event: EventEnvelope, previousSeq: number): string =>
  `event: ${event.event}\ndata: ${JSON.stringify({ ...event, previous_seq: previousSeq })}\n\n`;

function lastEventId(header: string): number | undefined {
  return /^[0-9]{1,15}$/.test(header) ? Number(header) : undefined;
}
