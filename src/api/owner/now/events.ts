import { Readable } from 'node:stream';
import { z } from 'zod';
import type { OwnerEvent } from '../../../contracts/owner.ts';
import { changesSince } from '../../../store/owner/views/changes.ts';
import { count, type Fields } from '../../http/endpoint.ts';
import { whole } from '../../http/request.ts';
import { lastEventId } from '../../runtime/events/events.ts';
import { endpoint, type RuntimeDeps } from '../../runtime/shared/endpoint.ts';
import { Changes } from './changes.ts';

const KEEPALIVE_MS = 15_000;
/** A reader that was away for longer reads everything again. */
const MOST_EVENTS = 20_000;
/** What has no events may have changed while a reader was away. */
const WITHOUT_EVENTS = ['tasks', 'schedules', 'whatsapp', 'workspaces', 'agents', 'settings'] as const;

const change = z
  .object({
    seq: count().describe('Where a stream that breaks now goes on'),
    about: z.enum(['thread', ...WITHOUT_EVENTS, 'all']),
    thread_id: z.string().nullable(),
    kinds: z.array(z.string()).describe('Names of the events of the thread since the last frame'),
  } satisfies Fields<OwnerEvent>)
  .meta({ id: 'OwnerEvent' });

export const getOwnerEvents = endpoint({
  method: 'GET',
  path: '/v1/owner/events',
  summary: 'Follow what changes anywhere',
  query: { since_seq: whole.describe('Changes after this place; Last-Event-ID says the same') },
  answer: {
    written: { type: 'text/event-stream', schema: change },
    what: 'Each says what to read again. One may come twice; none is left out.',
  },
  handle: async ({ ctx, query }, deps) => {
    const since = query.since_seq ?? lastEventId(ctx.get('last-event-id'));
    ctx.status = 200;
    ctx.set({ 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache', 'X-Accel-Buffering': 'no' });
    const gone = new AbortController();
    ctx.res.once('close', () => gone.abort());
    const signal = deps.stopping ? AbortSignal.any([gone.signal, deps.stopping]) : gone.signal;
    ctx.req.socket.setNoDelay(true);
    if (ctx.method !== 'HEAD') ctx.res.flushHeaders();
    ctx.body = Readable.from(follow(since ?? null, deps, signal));
  },
});

/** One for each API of a process. */
const hubs = new WeakMap<RuntimeDeps['wakeups'], Changes>();
function hubOf(deps: RuntimeDeps): Changes {
  const hub = hubs.get(deps.wakeups) ?? new Changes(deps);
  hubs.set(deps.wakeups, hub);
  return hub;
}

async function* follow(since: number | null, deps: RuntimeDeps, signal: AbortSignal): AsyncGenerator<string> {
  const keepaliveMs = deps.stream?.keepaliveMs ?? KEEPALIVE_MS;
  const hub = hubOf(deps);
  const { box, close } = await hub.open();
  try {
    await catchUp(since, hub, deps, box);
    while (!signal.aborted) {
      const changes = box.take();
      yield changes.length > 0
        ? changes.map((each) => frame({ seq: hub.settled, ...each })).join('')
        : ': keepalive\n\n';
      await box.wait(keepaliveMs, signal);
    }
  } finally {
    close();
  }
}

/** Puts what happened since the reader was there before into its mailbox; everything, when that is not known. */
async function catchUp(
  since: number | null,
  hub: Changes,
  { store, log }: RuntimeDeps,
  box: Awaited<ReturnType<Changes['open']>>['box'],
): Promise<void> {
  const missed =
    since === null
      ? null
      : await changesSince(store.db, since, hub.settled, MOST_EVENTS).catch((error) => {
          log?.warn({ err: error }, 'missed changes could not be read');
          return null;
        });
  if (missed === null) return box.put({ about: 'all', thread_id: null, kinds: [] });
  for (const { thread_id, kinds } of missed) box.put({ about: 'thread', thread_id, kinds });
  for (const about of WITHOUT_EVENTS) box.put({ about, thread_id: null, kinds: [] });
}

const frame = (event: OwnerEvent): string => `event: changed\nid: ${event.seq}\ndata: ${JSON.stringify(event)}\n\n`;
