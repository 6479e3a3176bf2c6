import { execFile } from 'node:child_process';
import { statfs } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Disk space that a folder uses, in MB; 0 when unknown. Files change while `du` counts, so its errors are ignored. */
export async function folderMegabytes(folder: string): Promise<number> {
  const { stdout } = await run('du', ['-sm', folder], { timeout: 10_000 }).catch((error: { stdout?: string }) => ({
    stdout: error.stdout ?? '',
  }));
  return Number.parseInt(stdout, 10) || 0;
}

/** Free disk space at a folder, in MB; null when unknown. */
export async function freeMegabytes(folder: string): Promise<number | null> {
  const left = await statfs(folder).catch(() => null);
  return left && Math.floor((left.bavail * left.bsize) / 2 ** 20);
}
