import { statfsSync } from 'node:fs';

/** Agents need at least this much free space. */
const ROOM_BYTES = 1024 * 1024;
const LOOK_MS = 1_000;
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
