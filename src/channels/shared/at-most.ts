/** Runs what it is given, `count` at a time, in the order of the calls. */
export function atMost(count: number): <T>(work: () => Promise<T>) => Promise<T> {
  const queue: Array<() => void> = [];
  let running = 0;
  const next = () => {
    if (running < count) queue.shift()?.();
  };
  return async (work) => {
    if (running >= count) await new Promise<void>((resolve) => queue.push(resolve));
    running += 1;
    try {
      return await work();
    } finally {
      running -= 1;
      next();
    }
  };
}
