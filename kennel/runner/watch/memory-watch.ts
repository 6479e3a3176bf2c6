import { readFileSync } from 'node:fs';

/** Counters of this container's control group, of the second version and of the first. */
const COUNTERS = ['/sys/fs/cgroup/memory.events', '/sys/fs/cgroup/memory/memory.oom_control'];
const LOOK_MS = 1_000;
/** What ends so soon after a process was ended for want of memory has ended because of it. */
const RECENT_MS = 15_000;

/**
 * Watches for processes that the kernel ends because the container has no memory left. A process that is ended learns only of a SIGKILL, and so
 * does who waits for it: that memory was the cause is known here alone.
 */
export class MemoryWatch {
  private readonly counters: readonly string[];
  private readonly onKill: () => void;
  private readonly timer: NodeJS.Timeout;
  private kills: number;
  private lastAt = Number.NEGATIVE_INFINITY;

  constructor(onKill: () => void, counters = COUNTERS) {
    this.onKill = onKill;
    this.counters = counters;
    this.kills = this.count();
    this.timer = setInterval(() => this.look(), LOOK_MS);
    this.timer.unref();
  }

  /** The reason of a failure, with the want of memory that it came from. */
  explain(reason: string): string {
    this.look();
    return Date.now() - this.lastAt < RECENT_MS ? `The container ran out of memory. ${reason}` : reason;
  }

  /** Looks once more: the last command may have been ended a moment ago. */
  close(): void {
    this.look();
    clearInterval(this.timer);
  }

  private look(): void {
    const kills = this.count();
    if (kills <= this.kills) return;
    this.kills = kills;
    this.lastAt = Date.now();
    this.onKill();
  }

  /** 0 where the kernel does not tell. */
  private count(): number {
    for (const path of this.counters) {
      try {
        return Number(/^oom_kill (\d+)$/m.exec(readFileSync(path, 'utf8'))?.[1] ?? 0);
      } catch {
        // the other version, or none
      }
    }
    return 0;
  }
}
