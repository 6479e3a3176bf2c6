/** Work of one key runs one at a time, in the order of asking. By hand: p-limit has no keys, and no way to give up while waiting. */
export class KeyedMutex {
  readonly #tails = new Map<string, Promise<unknown>>();

  /** Rejects with the signal's reason when it is aborted while waiting; that does not hold up the others. */
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
