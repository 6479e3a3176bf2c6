import type { OwnRole } from '../home/state-file.ts';

type Speaker = OwnRole | 'prepare';
/** Messages of a role to its supervisor over the IPC channel. `waits`: it lacks something and tries again by itself. */
export type RoleMessage =
  | { role: Speaker; type: 'ready'; address?: string }
  | { role: Speaker; type: 'waits'; error: string }
  | { role: Speaker; type: 'failed'; error: string };

export interface Role {
  /** the role serves now; `address` is shown by `fetch status` */
  ready(address?: string): void;
  /** the role cannot start yet; it goes on trying, and the other roles of this process are not held up */
  waits(error: Error): void;
  /** the role cannot go on; says why and ends the process with code 1 */
  failed(error: unknown): Promise<never>;
  /**
   * `stop` is called once, on SIGTERM, SIGINT or the death of the supervisor; the process ends when all of them have
   * settled, so it must settle only when nothing is under way any more.
   */
  onStop(stop: () => Promise<void> | void): void;
}

/**
 * What the whole process says. `loaded`: it waits for the supervisor's word. `stopping`: it has ended after `withinMs`,
 * or hangs. `restart`: a person wants all roles to start again, with the settings of now.
 */
export type ProcessMessage =
  | { type: 'loaded' }
  | { type: 'restart' }
  | { type: 'stopping'; withinMs: number }
  | RoleMessage;
export const RELEASE = 'release';

interface RoleProcess {
  /** Resolves when the servers are there; until then nothing is connected. */
  released(): Promise<void>;
  role(name: Speaker): Role;
  /** what the roles share is closed after all of them have stopped */
  afterStop(close: () => Promise<void>): void;
}

/** What closing takes besides what a role waits for: a role that hangs longer would hold a stop up for ever. */
const CLOSE_MS = 8_000;

/**
 * The connection of a process with whatever started it: a supervisor, or a shell when it runs singly. `graceMs`: how
 * long the work of its roles may take to end.
 */
export function roleProcess(graceMs = 0): RoleProcess {
  const stops: Array<() => Promise<void> | void> = [];
  const closes: Array<() => Promise<void>> = [];
  let stopping = false;
  const stop = async (): Promise<void> => {
    if (stopping) return;
    stopping = true;
    const withinMs = graceMs + CLOSE_MS;
    void tell({ type: 'stopping', withinMs });
    setTimeout(() => process.exit(1), withinMs).unref();
    let code = 0;
    for (const group of [stops, closes])
      for (const result of await Promise.allSettled(group.map(async (each) => each()))) {
        if (result.status === 'fulfilled') continue;
        code = 1;
        process.stderr.write(`${messageOf(result.reason)}\n`);
      }
    process.exit(code);
  };
  process.on('SIGTERM', () => void stop());
  // a second word ends it at once; what was under way is done again where that is safe
  process.on('SIGINT', () => (stopping ? process.exit(130) : void stop()));
  // a supervisor that was killed closes the channel: a role without one would hold ports and leases against the next
  // start
  process.on('disconnect', () => void stop());
  return {
    role: (role) => ({
      ready: (address) => void tell({ role, type: 'ready', ...(address ? { address } : {}) }),
      waits: (error) => {
        process.stderr.write(`${error.message}\n`);
        void tell({ role, type: 'waits', error: error.message });
      },
      failed: async (error) => {
        process.stderr.write(`${messageOf(error)}\n`);
        await tell({ role, type: 'failed', error: messageOf(error) });
        process.exit(1);
      },
      onStop: (each) => void stops.push(each),
    }),
    afterStop: (close) => void closes.push(close),
    released: () =>
      new Promise((resolve) => {
        process.on('message', (word) => word === RELEASE && resolve());
        void tell({ type: 'loaded' });
      }),
  };
}

/** Whether something started this process that can start it again. */
export const isSupervised = (): boolean => process.connected === true;

/** Has the supervisor start all roles again, with the settings of now. */
export const askForRestart = (): Promise<void> => tell({ type: 'restart' });

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const tell = (message: ProcessMessage): Promise<void> =>
  new Promise((resolve) => {
    if (!process.send || !process.connected) return resolve();
    process.send(message, () => resolve());
  });
