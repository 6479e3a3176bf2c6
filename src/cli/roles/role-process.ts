/** What a role child says to its supervisor over the IPC channel. */
export type RoleMessage = { type: 'ready'; address?: string } | { type: 'failed'; error: string };

export interface RoleProcess {
  /** the role serves now; `address` is shown by `fetch status` */
  ready(address?: string): void;
  /** the role cannot start; says why and ends the process with code 1 */
  failed(error: unknown): Promise<never>;
  /**
   * `stop` is called once, on SIGTERM, SIGINT or the death of the supervisor; the process ends when it settles, so it must
   * settle only when nothing is under way any more.
   */
  onStop(stop: () => Promise<void> | void): void;
}

/** What closing takes besides what a role waits for: a role that hangs longer would hold a stop up for ever. */
const CLOSE_MS = 8_000;

/** The one connection of a role with whatever started it: a supervisor, or a shell when the role runs singly. `graceMs`: how long its work may take to end. */
export function roleProcess(graceMs = 0): RoleProcess {
  const stops: Array<() => Promise<void> | void> = [];
  let stopping = false;
  const stop = async (): Promise<void> => {
    if (stopping) return;
    stopping = true;
    setTimeout(() => process.exit(1), graceMs + CLOSE_MS).unref();
    let code = 0;
    for (const each of stops) {
      try {
        await each();
      } catch (error) {
        code = 1;
        process.stderr.write(`${reason(error)}\n`);
      }
    }
    process.exit(code);
  };
  process.on('SIGTERM', () => void stop());
  // a second word ends it at once; what was under way is done again where that is safe
  process.on('SIGINT', () => (stopping ? process.exit(130) : void stop()));
  // a supervisor that was killed closes the channel: a role without one would hold ports and leases against the next start
  process.on('disconnect', () => void stop());
  return {
    ready: (address) => void tell({ type: 'ready', ...(address ? { address } : {}) }),
    failed: async (error) => {
      process.stderr.write(`${reason(error)}\n`);
      await tell({ type: 'failed', error: reason(error) });
      process.exit(1);
    },
    onStop: (each) => void stops.push(each),
  };
}

const reason = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const tell = (message: RoleMessage): Promise<void> =>
  new Promise((resolve) => {
    if (!process.send || !process.connected) return resolve();
    process.send(message, () => resolve());
  });
