/** Waits that can be ended early, all together. */
export class Sleepers {
  private readonly sleepers = new Set<() => void>();

  /** Also ends when `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.sleepers.delete(done);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.sleepers.add(done);
      signal?.addEventListener('abort', done);
      if (signal?.aborted) done();
    });
  }

  wake(): void {
    for (const done of [...this.sleepers]) done();
  }
}
