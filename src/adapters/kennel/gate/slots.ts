/** A limited number of slots. Who finds none free waits in line. p-limit has no way to give up while waiting. */
export interface Slots {
  /** Resolves with a function that gives the slot back. Rejects with the signal's reason when it is aborted first. */
  take(signal?: AbortSignal): Promise<() => void>;
}

export function createSlots(count: number): Slots {
  let free = count;
  const line = new Set<() => void>();
  const release = (): void => {
    free += 1;
    const [next] = line;
    next?.();
  };
  const taken = (): (() => void) => {
    free -= 1;
    let held = true;
    return () => {
      if (held) release();
      held = false;
    };
  };
  return {
    async take(signal) {
      signal?.throwIfAborted();
      if (free > 0) return taken();
      return await new Promise((resolve, reject) => {
        const next = (): void => {
          leave();
          resolve(taken());
        };
        const gone = (): void => {
          leave();
          reject(signal!.reason);
        };
        const leave = (): void => {
          line.delete(next);
          signal?.removeEventListener('abort', gone);
        };
        line.add(next);
        signal?.addEventListener('abort', gone);
      });
    },
  };
}
