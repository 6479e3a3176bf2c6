import { opendir, rm, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { HOUR } from '../../../../domain/time.ts';

interface Kept {
  path: string;
  size: number;
  usedAt: number;
}

/** Below it are files that are being written. A process that was killed leaves them. */
const UNFINISHED = 'tmp';
const UNFINISHED_MS = HOUR;

/**
 * Removes the files of a cache that were not used for longest, until the rest takes no more than `bytes`. Entries of
 * its index count as files: looking one up writes it again. A file that is read is used; most systems note that once a
 * day.
 */
export async function sweepFolder(folder: string, bytes: number): Promise<void> {
  const all: Kept[] = [];
  for await (const path of filesBelow(folder)) {
    const found = await stat(path).catch(() => null);
    if (!found) continue;
    if (!path.startsWith(join(folder, UNFINISHED, sep)))
      all.push({ path, size: found.size, usedAt: Math.max(found.atimeMs, found.mtimeMs) });
    else if (Date.now() - found.mtimeMs > UNFINISHED_MS) await rm(path, { force: true });
  }
  let left = all.reduce((sum, { size }) => sum + size, 0);
  for (const { path, size } of all.sort((one, other) => one.usedAt - other.usedAt)) {
    if (left <= bytes) return;
    await rm(path, { force: true });
    left -= size;
  }
}

async function* filesBelow(folder: string): AsyncGenerator<string> {
  const entries = await opendir(folder, { recursive: true }).catch(() => null);
  if (!entries) return;
  for await (const entry of entries) if (entry.isFile()) yield join(entry.parentPath, entry.name);
}
