import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

const LOOK_MS = 1_000;

export interface HostWatchOptions {
  /** served by the host's process as long as it lives and has its lease */
  socket: string;
  /** ms without it after which the host may have lost this task to another */
  aloneMs: number;
  /** stops every process of the agent, or lets them go on */
  hold(held: boolean): void;
}

/**
 * Holds the agent still while nobody outside can answer for this container. A host whose process is dead cannot freeze its containers itself; its
 * tasks go on elsewhere after a while, and on a common disk two agents would write in one folder. A restart of the process is far shorter than that.
 */
export class HostWatch {
  private readonly options: HostWatchOptions;
  private readonly timer: NodeJS.Timeout;
  private held = false;
  private looking = false;
  /** by the wall clock: a machine that slept was away as well */
  private seenAt = Date.now();

  constructor(options: HostWatchOptions) {
    this.options = options;
    this.timer = setInterval(() => void this.look(), Math.min(LOOK_MS, options.aloneMs / 4));
    this.timer.unref();
  }

  /** Resolves when the host is there: what ends the step is for the host that has the task now. */
  async answered(): Promise<void> {
    while (this.held) await pause(LOOK_MS / 4);
  }

  close(): void {
    clearInterval(this.timer);
    if (this.held) this.turn(false);
  }

  private async look(): Promise<void> {
    if (this.looking) return;
    this.looking = true;
    if (await answers(this.options.socket)) this.seenAt = Date.now();
    this.looking = false;
    const alone = Date.now() - this.seenAt >= this.options.aloneMs;
    // again and again: a process may have been started in the moment of the first time
    if (alone || this.held) this.turn(alone);
  }

  private turn(held: boolean): void {
    this.held = held;
    this.options.hold(held);
  }
}

const answers = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(path);
    const settle = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(LOOK_MS, () => settle(false));
    socket.once('error', () => settle(false));
    socket.once('connect', () => settle(true));
  });
