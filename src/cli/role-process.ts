/** What a role child says to its supervisor over the IPC channel. */
export type RoleMessage = { type: 'ready'; address?: string } | { type: 'failed'; error: string };

export interface RoleProcess {
  /** the role serves now; `address` is shown by `fetch status` */
  ready(address?: string): void;
  /** the role cannot start; says why and ends the process with code 1 */
  failed(error: unknown): Promise<never>;
  /** `stop` is called once, on SIGTERM, SIGINT or the death of the supervisor; the process ends when it settles */
  onStop(stop: () => Promise<void> | void): void;
}

/** The supervisor gives the slowest role 4 s; a role that hangs longer than this would be killed anyway. */
const STOP_LIMIT_MS = 8_000;

/** The one connection of a role with whatever started it: a supervisor, or a shell when the role runs singly. */
export function roleProcess(): RoleProcess {
  const stops: Array<() => Promise<void> | void> = [];
  let stopping = false;
  const stop = async (): Promise<void> => {
    if (stopping) return;
    stopping = true;
    setTimeout(() => process.exit(1), STOP_LIMIT_MS).unref();
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
