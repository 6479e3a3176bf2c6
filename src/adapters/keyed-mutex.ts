/**
 * Runs the work of one key one at a time, in the order of the calls. p-limit has no keys, and no way to give up while
 * waiting.
 */
export class KeyedMutex {
  readonly #tails = new Map<string, Promise<unknown>>();

  /** Rejects with the signal's reason when aborted while waiting. That does not delay the others. */
  async run<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const mine = Promise.withResolvers<void>();
    const tail = before.then(() => mine.promise);
    this.#tails.set(key, tail);
    const aborted = Promise.withResolvers<never>();
    const onAbort = () => aborted.reject(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      signal?.throwIfAborted();
      await Promise.race([before, aborted.promise]);
      return await work();
    } finally {
      signal?.removeEventListener('abort', onAbort);
      mine.resolve();
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    }
  }
}
