import { Readable } from 'node:stream';
import type { Context } from 'koa';
import type { RuntimeDeps } from '../shared/endpoint.ts';

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

/** What a silent stream sends, so that nobody on the way closes it. */
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
