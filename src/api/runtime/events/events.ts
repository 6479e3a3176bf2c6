import type { z } from 'zod';
import { latestSeq, readFrames } from '../../../store/chats/threads/events.ts';
import { whole } from '../../http/request.ts';
import { endpoint, type RuntimeDeps } from '../shared/endpoint.ts';
import { eventRecord } from '../shared/record-schemas.ts';
import { existingThread } from '../threads/threads.ts';
import { cursorOf, follow, frameOf, KEEPALIVE, STOPPING, STREAM_END, sendEvents } from './follow.ts';

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
