import type { OwnerEvent } from '../../../contracts/owner.ts';

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
