import { type FSWatcher, mkdirSync, watch } from 'node:fs';

/** Entries come one after the other, such as those of a folder that is copied. */
const SETTLE_MS = 50;

/**
 * Calls `changed` soon after something was put into a folder or taken from it. A folder that cannot be watched is not
 * an error. Returns a function that stops it.
 */
export function watchEntries(folder: string, changed: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  let watcher: FSWatcher | undefined;
  try {
    mkdirSync(folder, { recursive: true });
    watcher = watch(folder, { persistent: false }, () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        changed();
      }, SETTLE_MS).unref();
    });
    watcher.on('error', () => watcher?.close());
  } catch {
    // the system has no more watches, or the disk is read-only: the caller looks again by itself
  }
  return () => {
    clearTimeout(timer);
    watcher?.close();
  };
}
