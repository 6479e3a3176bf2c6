import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Time up to which a terminal has shown a thread, by the server's clock, in ms since the epoch. */
export interface Seen {
  readonly before: number | null;
  /** everything up to then was shown */
  upTo(at: number): void;
  /** writes what is not written yet */
  save(): void;
}

const EVERY_MS = 2_000;

/**
 * Kept in a file of the home, so that the next terminal knows what came while none was open. If it cannot be read or
 * written, only the times are lost.
 */
export function seenOf(home: string, threadId: string): Seen {
  const file = join(home, 'chat-seen');
  let before: number | null = null;
  try {
    const kept = JSON.parse(readFileSync(file, 'utf8')) as { thread?: string; at?: number };
    if (kept.thread === threadId && typeof kept.at === 'number') before = kept.at;
  } catch {
    // nothing was shown yet
  }
  let at = before ?? 0;
  let written = at;
  let writtenAt = 0;
  const save = (): void => {
    if (at <= written) return;
    written = at;
    writtenAt = performance.now();
    try {
      writeFileSync(`${file}.${process.pid}`, `${JSON.stringify({ thread: threadId, at })}\n`, { mode: 0o600 });
      renameSync(`${file}.${process.pid}`, file);
    } catch {
      // as said above
    }
  };
  return {
    before,
    upTo(shown) {
      at = Math.max(at, shown);
      if (performance.now() - writtenAt > EVERY_MS) save();
    },
    save,
  };
}
