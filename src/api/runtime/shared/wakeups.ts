import type { Store } from '../../../store/postgres/database.ts';

/** One waiting reader. Call `arm` before reading the store: a later commit then ends the next `wait` at once. */
interface Wakeup {
  arm(): void;
  /** resolves when the thread has news, after `ms`, or when `signal` aborts */
  wait(ms: number, signal: AbortSignal): Promise<void>;
  close(): void;
}

interface Waiter {
  news: boolean;
  wake: (() => void) | undefined;
}

/** One database listener for all event streams of a process. It passes on thread ids, never rows. */
export class Wakeups {
  readonly #store: Pick<Store, 'listen'>;
  readonly #waiters = new Map<string, Set<Waiter>>();
  readonly #followers = new Set<(threadId: string | null) => void>();
  #listening: Promise<() => Promise<void>> | undefined;

  constructor(store: Pick<Store, 'listen'>) {
    this.#store = store;
  }

  subscribe(threadId: string): Wakeup {
    this.#listen();
    const waiter: Waiter = { news: false, wake: undefined };
    const waiters = this.#waiters.get(threadId) ?? new Set();
    this.#waiters.set(threadId, waiters.add(waiter));
    return {
      arm: () => {
        waiter.news = false;
      },
      wait: (ms, signal) => waitFor(waiter, ms, signal),
      close: () => {
        waiters.delete(waiter);
        if (waiters.size === 0 && this.#waiters.get(threadId) === waiters) this.#waiters.delete(threadId);
        this.#stopUnused();
      },
    };
  }

  /** Calls back with the id of each thread that has news; null: of any thread. Returns a function that ends it. */
  followAll(onNews: (threadId: string | null) => void): () => void {
    this.#listen();
    this.#followers.add(onNews);
    return () => {
      this.#followers.delete(onNews);
      this.#stopUnused();
    };
  }

  /** If the listener cannot start, the next stream tries again; until then streams only poll. */
  #listen(): void {
    this.#listening ??= this.#store.listen((id) => this.#notify(id));
    this.#listening.catch(() => {
      this.#listening = undefined;
    });
  }

  /** Nobody follows anything, so the connection is given back. */
  #stopUnused(): void {
    if (this.#waiters.size === 0 && this.#followers.size === 0) void this.stop();
  }

  async stop(): Promise<void> {
    const listening = this.#listening;
    this.#listening = undefined;
    const end = await listening?.catch(() => undefined);
    await end?.();
  }

  /** null: something may have been missed, so every reader looks again */
  #notify(threadId: string | null): void {
    for (const follower of this.#followers) follower(threadId);
    const sets = threadId === null ? [...this.#waiters.values()] : [this.#waiters.get(threadId) ?? []];
    for (const waiters of sets) {
      for (const waiter of waiters) {
        waiter.news = true;
        waiter.wake?.();
      }
    }
  }
}

function waitFor(waiter: Waiter, ms: number, signal: AbortSignal): Promise<void> {
  if (waiter.news || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      waiter.wake = undefined;
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
    waiter.wake = done;
  });
}
