import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

const LOOK_MS = 1_000;

export interface HostWatchOptions {
  /** served by the host's process while it lives and has its lease */
  socket: string;
  /** ms without the socket after which another host may have taken this task */
  freezeAfterMs: number;
  /** freezes every process of the agent, or lets them go on */
  freeze(frozen: boolean): void;
}

/**
 * Freezes the agent while no host can answer for this container. A dead host process cannot freeze its containers
 * itself. Its tasks later continue elsewhere, and on a common disk two agents would then write in one folder. A restart
 * of the process is far shorter than that.
 */
export class HostWatch {
  private readonly options: HostWatchOptions;
  private readonly timer: NodeJS.Timeout;
  private frozen = false;
  private looking = false;
  /** by wall clock time, because a machine that slept was away too */
  private seenAt = Date.now();

  constructor(options: HostWatchOptions) {
    this.options = options;
    this.timer = setInterval(() => void this.look(), Math.min(LOOK_MS, options.freezeAfterMs / 4));
    this.timer.unref();
  }

  /** Resolves when the host is there: the host that has the task now decides how the run ends. */
  async answered(): Promise<void> {
    while (this.frozen) await pause(LOOK_MS / 4);
  }

  close(): void {
    clearInterval(this.timer);
    if (this.frozen) this.turn(false);
  }

  private async look(): Promise<void> {
    if (this.looking) return;
    this.looking = true;
    if (await answers(this.options.socket)) this.seenAt = Date.now();
    this.looking = false;
    const alone = Date.now() - this.seenAt >= this.options.freezeAfterMs;
    // repeated, because a process may have been started during the first time
    if (alone || this.frozen) this.turn(alone);
  }

  private turn(frozen: boolean): void {
    this.frozen = frozen;
    this.options.freeze(frozen);
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
