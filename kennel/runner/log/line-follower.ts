import { type FSWatcher, statSync, watch } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename, dirname } from 'node:path';

/** ms between two looks at a file; file notifications make most of them unnecessary, but do not cross every mount */
const POLL = 300;
const CHUNK = 64 * 1024;
/** A longer line is skipped. */
const MAX_LINE = 1024 * 1024;

/**
 * Follows an NDJSON file that another process appends to, even before it exists; from its beginning, or from its
 * present end. An unfinished line waits for its end.
 */
export class LineFollower {
  private readonly path: string;
  private readonly onLine: (value: Record<string, unknown>) => void;
  private watcher: FSWatcher | null = null;
  private readonly timer: NodeJS.Timeout;
  private offset = 0;
  private rest: Buffer = Buffer.alloc(0);
  private skipping = false;
  private busy: Promise<void> | null = null;
  private again = false;
  private closed = false;

  constructor(path: string, onLine: (value: Record<string, unknown>) => void, from: 'begin' | 'end' = 'begin') {
    this.path = path;
    if (from === 'end') this.offset = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    this.onLine = onLine;
    this.timer = setInterval(() => this.look(), POLL);
    try {
      const name = basename(path);
      // watches the folder, because the file may not exist yet
      this.watcher = watch(dirname(path), (_event, changed) => {
        if (changed === null || changed === name) this.look();
      });
      this.watcher.on('error', () => this.watcher?.close());
    } catch {
      // polling is enough
    }
    this.look();
  }

  /** Resolves when all that is in the file now was passed on. */
  async settle(): Promise<void> {
    this.look();
    while (this.busy) await this.busy;
  }

  close(): void {
    this.closed = true;
    clearInterval(this.timer);
    this.watcher?.close();
  }

  private look(): void {
    if (this.busy) {
      this.again = true;
      return;
    }
    this.busy = this.read()
      .catch(() => undefined)
      .finally(() => {
        this.busy = null;
        if (this.again && !this.closed) {
          this.again = false;
          this.look();
        }
      });
  }

  private async read(): Promise<void> {
    let file: FileHandle;
    try {
      file = await open(this.path, 'r');
    } catch {
      return;
    }
    try {
      const chunk = Buffer.alloc(CHUNK);
      while (!this.closed) {
        const { bytesRead } = await file.read(chunk, 0, CHUNK, this.offset);
        if (bytesRead === 0) return;
        this.offset += bytesRead;
        this.take(Buffer.concat([this.rest, chunk.subarray(0, bytesRead)]));
      }
    } finally {
      await file.close();
    }
  }

  private take(data: Buffer): void {
    let from = 0;
    for (let end = data.indexOf(10); end >= 0; end = data.indexOf(10, from)) {
      if (this.skipping) this.skipping = false;
      else this.pass(data.subarray(from, end).toString());
      from = end + 1;
    }
    this.rest = Buffer.from(data.subarray(from));
    if (this.rest.length > MAX_LINE) {
      this.rest = Buffer.alloc(0);
      this.skipping = true;
    }
  }

  private pass(line: string): void {
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      return;
    }
    if (value && typeof value === 'object' && !Array.isArray(value)) this.onLine(value as Record<string, unknown>);
  }
}
