import { Readable } from 'node:stream';
import type { Context } from 'koa';
import type { RuntimeDeps } from '../shared/endpoint.ts';

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
