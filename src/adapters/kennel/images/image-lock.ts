import { closeSync, openSync, rmSync, statSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const BEAT_MS = 5_000;
const STALE_MS = 30_000;

/**
 * Runs in one process of this machine at a time. The lock of a killed process is ignored after 30 s. Rarely, two
 * processes ignore it at once and both continue, which only costs a second build.
 */
export async function withLock<T>(
  name: string,
  onWait: () => void,
  signal: AbortSignal | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const file = join(tmpdir(), `${name}-${process.getuid?.() ?? 0}.lock`);
  for (let told = false; !take(file); ) {
    if (!told) onWait();
    told = true;
    await pause(500, undefined, { signal });
  }
  const beat = setInterval(() => {
    try {
      utimesSync(file, new Date(), new Date());
    } catch {
      // somebody deleted it by hand
    }
  }, BEAT_MS);
  beat.unref();
  try {
    return await work();
  } finally {
    clearInterval(beat);
    rmSync(file, { force: true });
  }
}

function take(file: string): boolean {
  try {
    closeSync(openSync(file, 'wx'));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    const touched = statSync(file, { throwIfNoEntry: false })?.mtimeMs;
    if (touched !== undefined && Date.now() - touched > STALE_MS) rmSync(file, { force: true });
    return false;
  }
}
