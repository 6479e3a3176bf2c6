import { readFileSync } from 'node:fs';

/** Counters of this container's control group, in cgroup version 2 and version 1. */
const COUNTERS = ['/sys/fs/cgroup/memory.events', '/sys/fs/cgroup/memory/memory.oom_control'];
const LOOK_MS = 1_000;
/** A failure this soon after the kernel killed a process counts as caused by it. */
const RECENT_MS = 15_000;

/**
 * Watches for processes that the kernel kills because the container is out of memory. The parent of a killed process
 * sees only a SIGKILL; the cause shows only here.
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

  /** The reason of a failure, with the lack of memory as its cause if there was one. */
  explain(reason: string): string {
    this.look();
    return Date.now() - this.lastAt < RECENT_MS ? `The container ran out of memory. ${reason}` : reason;
  }

  /** Looks once more, because the last command may have been killed a moment ago. */
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

  /** 0 when the kernel does not report it. */
  private count(): number {
    for (const path of this.counters) {
      try {
        return Number(/^oom_kill (\d+)$/m.exec(readFileSync(path, 'utf8'))?.[1] ?? 0);
      } catch {
        // the other version, or neither
      }
    }
    return 0;
  }
}
