import { latestSeq, readFrames } from '../../../store/chats/threads/events.ts';
import { whole } from '../../http/request.ts';
import { endpoint, type RuntimeDeps } from '../shared/endpoint.ts';
import { eventRecord } from '../shared/record-schemas.ts';
import { existingThread } from '../threads/threads.ts';
import { follow, KEEPALIVE, sendEvents } from './follow.ts';

/** What a reader of a long log gets at once, and what this process holds of it at most. */
const BATCH = { events: 256, bytes: 256 * 1024 };

/** The backlog after the cursor, then new events. */
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
  const read = async (cursor: number) => {
    const found = await readFrames(deps.store.db, at.threadId, cursor, BATCH);
    return found && { part: found.text, cursor: found.seq, more: found.more };
  };
  for await (const text of follow(deps, at, read)) yield text ?? KEEPALIVE;
}

export function lastEventId(header: string): number | undefined {
  return /^[0-9]{1,15}$/.test(header) ? Number(header) : undefined;
}
