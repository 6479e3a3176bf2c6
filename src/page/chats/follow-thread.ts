import { useEffect, useState } from 'preact/hooks';
import type { EventEnvelope } from '../../contracts/records.ts';
import { call, reasonOf } from '../shared/server/http.ts';
import { follow } from '../shared/server/sse.ts';
import { Store } from '../shared/store.ts';
import { fold, type ThreadDetail, type ThreadView, viewOf, withOlder } from './thread-state.ts';

const PAGE_TURNS = 25;

interface FollowedThread {
  view: ThreadView | null;
  problem: string | null;
  /** reads the turns before the first one */
  older(): Promise<void>;
}

const pathOf = (id: string): string => `/v1/threads/${encodeURIComponent(id)}`;

/** The thread as it changes. Events are drawn together, at most once a frame. */
export function useThread(id: string): FollowedThread {
  const [followed, setFollowed] = useState<Followed | null>(null);
  const [, draw] = useState({});
  useEffect(() => {
    const made = new Followed(id);
    setFollowed(made);
    const unwatch = made.changed.watch(() => draw({}));
    void made.start();
    return () => {
      unwatch();
      made.stop();
    };
  }, [id]);
  const mine = followed?.id === id ? followed : null;
  return { view: mine?.view ?? null, problem: mine?.problem ?? null, older: async () => await mine?.older() };
}

class Followed {
  readonly id: string;
  readonly changed = new Store(0);
  view: ThreadView | null = null;
  problem: string | null = null;
  readonly #ended = new AbortController();
  #stream = new AbortController();
  #frame = false;

  constructor(id: string) {
    this.id = id;
  }

  /** Reads the end of the thread, then follows it. A server that is away is asked again. */
  async start(): Promise<void> {
    for (let attempt = 1; !this.#ended.signal.aborted; attempt++) {
      try {
        this.view = viewOf(
          await call<ThreadDetail>(`${pathOf(this.id)}?last_turns=${PAGE_TURNS}`, { signal: this.#ended.signal }),
        );
        this.problem = null;
        break;
      } catch (error) {
        if (this.#ended.signal.aborted) return;
        this.problem = reasonOf(error);
        this.#draw();
        await new Promise((resolve) => setTimeout(resolve, Math.min(5_000, 500 * attempt)));
      }
    }
    this.#draw();
    document.addEventListener('visibilitychange', this.#look);
    this.#look();
  }

  stop(): void {
    document.removeEventListener('visibilitychange', this.#look);
    this.#ended.abort();
    this.#stream.abort();
  }

  async older(): Promise<void> {
    const before = this.view?.before;
    if (!before) return;
    const page = await call<ThreadDetail>(
      `${pathOf(this.id)}?last_turns=${PAGE_TURNS}&before=${encodeURIComponent(before)}`,
    );
    if (this.view?.before === before) this.view = withOlder(this.view, page);
    this.#draw();
  }

  /** A browser opens six connections to a server, for all of its tabs: one in the background gives this one back. */
  readonly #look = (): void => {
    this.#stream.abort();
    if (document.hidden || this.#ended.signal.aborted) return;
    this.#stream = new AbortController();
    void follow({
      address: () => `${pathOf(this.id)}/events?since_seq=${this.view?.seq ?? 0}`,
      onData: (data) => {
        if (this.view) this.view = fold(this.view, data as EventEnvelope);
        this.#draw();
      },
      signal: this.#stream.signal,
    }).catch((error) => {
      this.problem = reasonOf(error);
      this.#draw();
    });
  };

  #draw(): void {
    if (this.#frame) return;
    this.#frame = true;
    // a tab in the background draws no frames
    const next = document.hidden ? (work: () => void) => setTimeout(work, 50) : requestAnimationFrame;
    next(() => {
      this.#frame = false;
      this.changed.set(this.changed.value + 1);
    });
  }
}
