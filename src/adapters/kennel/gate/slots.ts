/** A number of places; who finds none waits in line. Not p-limit: there nobody can give up while waiting. */
export interface Slots {
  /** Resolves with how to give the place back. Rejects with the signal's reason when it is aborted first. */
  take(signal?: AbortSignal): Promise<() => void>;
}

export function createSlots(places: number): Slots {
  let free = places;
  const line = new Set<() => void>();
  const release = (): void => {
    free += 1;
    const [next] = line;
    next?.();
  };
  const place = (): (() => void) => {
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
      if (free > 0) return place();
      return await new Promise((resolve, reject) => {
        const next = (): void => {
          leave();
          resolve(place());
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
