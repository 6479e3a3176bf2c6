import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { Logger } from 'pino';
import { z } from 'zod';
import { fileStamp } from '../../../adapters/file-stamp.ts';
import type { Config } from '../../../config.ts';
import type { OwnerEvent } from '../../../contracts/owner.ts';
import { changesOf, changesSince, type Digests, digests, settledSeq } from '../../../store/owner/views/changes.ts';
import type { Db } from '../../../store/postgres/database.ts';
import { count, type Fields } from '../../http/endpoint.ts';
import { whole } from '../../http/request.ts';
import { cursorOf, frameOf } from '../../runtime/events/events.ts';
import { endpoint, type RuntimeDeps } from '../../runtime/shared/endpoint.ts';
import type { Wakeups } from '../../runtime/shared/wakeups.ts';

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
  query: {
    since_seq: whole.describe('Changes after this place; Last-Event-ID says the same, and the later of both counts'),
  },
  answer: {
    written: { type: 'text/event-stream', schema: change },
    what: 'Each says what to read again. One may come twice; none is left out.',
  },
  handle: async ({ ctx, query }, deps) => {
    const since = cursorOf(ctx, query.since_seq);
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

const frame = (event: OwnerEvent): string => frameOf('changed', event, event.seq);

type Change = Omit<OwnerEvent, 'seq'>;

/** A reader with more than this many changed threads before it reads everything again. */
const MOST_CHANGES = 1_000;

/**
 * What a reader has not taken yet. Changes of one thread are joined, so a slow reader costs no more than the number of
 * threads.
 */
export class Mailbox {
  #changes = new Map<string, Change>();
  #wake: (() => void) | undefined;

  put(change: Change): void {
    const key = `${change.about} ${change.thread_id ?? ''}`;
    const before = this.#changes.get(key);
    if (this.#changes.has('all ')) return;
    if (change.about === 'all' || this.#changes.size >= MOST_CHANGES)
      this.#changes = new Map([['all ', { about: 'all', thread_id: null, kinds: [] }]]);
    else
      this.#changes.set(key, before ? { ...change, kinds: [...new Set([...before.kinds, ...change.kinds])] } : change);
    this.#wake?.();
  }

  take(): Change[] {
    const taken = [...this.#changes.values()];
    this.#changes = new Map();
    return taken;
  }

  /** resolves when there is something to take, after `ms`, or when `signal` aborts */
  wait(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#changes.size > 0 || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', done);
        this.#wake = undefined;
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal.addEventListener('abort', done);
      this.#wake = done;
    });
  }
}

/** News are collected this long, so that a turn that streams costs four reads a second however many follow. */
const COLLECT_MS = 250;
/** The interval at which sources without events are read. */
const LOOK_MS = 2_000;
/** Threads whose place in the log is remembered; a forgotten one may be told of twice. */
const PLACES_KEPT = 10_000;

interface ChangesDeps {
  store: { db: Db };
  wakeups: Wakeups;
  config: Config;
  log?: Pick<Logger, 'warn'>;
}

/** One look at the store for all readers of the owner's events in a process. It works only while somebody reads. */
class Changes {
  readonly #deps: ChangesDeps;
  readonly #boxes = new Set<Mailbox>();
  readonly #news = new Set<string>();
  /** the newest `seq` of each thread that was passed on */
  readonly #places = new Map<string, number>();
  #begun = 0;
  #settled = 0;
  #known: (Digests & { settings: string }) | undefined;
  #stop: (() => void) | undefined;
  #work: Promise<void> = Promise.resolve();

  constructor(deps: ChangesDeps) {
    this.#deps = deps;
  }

  /** Where a stream that breaks now may go on. */
  get settled(): number {
    return this.#settled;
  }

  /** From now on, everything that changes comes into this mailbox. Close it. */
  async open(): Promise<{ box: Mailbox; close(): void }> {
    const box = new Mailbox();
    this.#boxes.add(box);
    this.#stop ??= this.#start();
    // the first reader waits for the first look: what changes after it is noticed
    await this.#work;
    return {
      box,
      close: () => {
        this.#boxes.delete(box);
        if (this.#boxes.size > 0) return;
        this.#stop?.();
        this.#stop = undefined;
      },
    };
  }

  #start(): () => void {
    this.#known = undefined;
    this.#places.clear();
    this.#news.clear();
    let collecting: NodeJS.Timeout | undefined;
    const unfollow = this.#deps.wakeups.followAll((threadId) => {
      if (threadId === null) return this.#tell({ about: 'all', thread_id: null, kinds: [] });
      this.#news.add(threadId);
      collecting ??= setTimeout(() => {
        collecting = undefined;
        this.#queue(() => this.#pass());
      }, COLLECT_MS);
    });
    this.#queue(() => this.#look());
    const looking = setInterval(() => this.#queue(() => this.#look()), LOOK_MS);
    return () => {
      clearInterval(looking);
      clearTimeout(collecting);
      unfollow();
    };
  }

  /** Reads run one at a time. After a failed one nobody knows what was missed. */
  #queue(work: () => Promise<void>): void {
    this.#work = this.#work.then(work).catch((error) => {
      this.#deps.log?.warn({ err: error }, 'changes could not be read; trying again');
      this.#known = undefined;
      this.#tell({ about: 'all', thread_id: null, kinds: [] });
    });
  }

  /** Passes on what threads told. */
  async #pass(): Promise<void> {
    const ids = [...this.#news];
    this.#news.clear();
    if (ids.length === 0) return;
    const changes = await changesOf(
      this.#deps.store.db,
      new Map(ids.map((id) => [id, this.#places.get(id) ?? this.#begun])),
    );
    if (this.#places.size > PLACES_KEPT) this.#places.clear();
    for (const { thread_id, seq, kinds } of changes) {
      this.#places.set(thread_id, seq);
      this.#tell({ about: 'thread', thread_id, kinds });
    }
  }

  /** Looks at what has no events. */
  async #look(): Promise<void> {
    const { db } = this.#deps.store;
    this.#settled = await settledSeq(db);
    if (!this.#known) this.#begun = this.#settled;
    const { config } = this.#deps;
    // what needs a restart changes only the file
    const now = {
      ...(await digests(db)),
      settings: `${fileStamp(join(config.FETCH_HOME, '.env'))} ${JSON.stringify(config)}`,
    };
    const before = this.#known;
    this.#known = now;
    if (!before) return;
    for (const about of Object.keys(now) as Array<keyof typeof now>)
      if (now[about] !== before[about]) this.#tell({ about, thread_id: null, kinds: [] });
  }

  #tell(change: Omit<OwnerEvent, 'seq'>): void {
    for (const box of this.#boxes) box.put(change);
  }
}
