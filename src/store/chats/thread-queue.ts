import { perDatabase } from '../postgres/per-database.ts';

/** As long as the database lets a transaction wait for a lock, plus a little for those before it. */
const PATIENCE_MS = 20_000;

/** Too many transactions wait for one thread; the same call may work in a moment. */
export class ThreadBusy extends Error {
  /** lock_not_available, the database's own code for it */
  readonly code = '55P03';
  constructor(threadId: string) {
    super(`Another transaction has held thread ${threadId} for ${PATIENCE_MS / 1000} s.`);
    this.name = 'ThreadBusy';
  }
}

/**
 * Runs the transactions of one thread one after the other within this process. In the database they would wait for each
 * other's lock anyway, each with a connection. So a blocked thread would take all connections, and every other thread
 * would wait.
 */
export class ThreadQueue {
  /** the last transaction of each thread that has begun or waits */
  readonly #last = new Map<string, Promise<void>>();

  /** @throws ThreadBusy */
  async run<T>(threadId: string, act: () => Promise<T>, patienceMs = PATIENCE_MS): Promise<T> {
    const before = this.#last.get(threadId) ?? Promise.resolve();
    let over!: () => void;
    const mine = before.then(() => new Promise<void>((resolve) => (over = resolve)));
    this.#last.set(threadId, mine);
    void mine.then(() => this.#last.get(threadId) === mine && this.#last.delete(threadId));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(resolve, patienceMs, 'late');
    });
    try {
      if ((await Promise.race([before, late])) === 'late') throw new ThreadBusy(threadId);
      return await act();
    } finally {
      clearTimeout(timer);
      // a transaction that gave up passes its turn on when it is reached
      void before.then(() => over());
    }
  }
}

export const threadQueue = perDatabase(() => new ThreadQueue());
