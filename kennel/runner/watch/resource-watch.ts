import { readFileSync, statfsSync } from 'node:fs';

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

/** Agents need at least this much free space. */
const ROOM_BYTES = 1024 * 1024;
/** How long an agent may take to free space itself, once one of its commands has failed for lack of it. */
const PATIENCE_MS = 20_000;
const REASON = 'No room is left on the disk of the run folder.';

/**
 * Watches the disk with the agent's HOME. An agent that cannot write its session may fail without knowing why, or be
 * silent for ever.
 */
export class DiskWatch {
  private readonly folder: string;
  private readonly onFull: (reason: string) => void;
  private readonly timer: NodeJS.Timeout;
  private fullSince: number | null = null;

  constructor(folder: string, onFull: (reason: string) => void) {
    this.folder = folder;
    this.onFull = onFull;
    this.timer = setInterval(() => this.look(), LOOK_MS);
    this.timer.unref();
  }

  /** The reason of a failure, with the full disk as its cause if there was one. */
  explain(reason: string): string {
    return this.isFull() ? `${REASON} ${reason}` : reason;
  }

  close(): void {
    clearInterval(this.timer);
  }

  private look(): void {
    this.fullSince = this.isFull() ? (this.fullSince ?? Date.now()) : null;
    if (this.fullSince !== null && Date.now() - this.fullSince >= PATIENCE_MS) this.onFull(REASON);
  }

  private isFull(): boolean {
    try {
      const { bavail, bsize } = statfsSync(this.folder);
      return bavail * bsize < ROOM_BYTES;
    } catch {
      return false;
    }
  }
}
