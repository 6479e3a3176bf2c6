import { execFile } from 'node:child_process';
import { statfs } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Room that a folder takes on the disk, in MB; 0 when it cannot be told. Files come and go while it is counted, so errors of `du` are not ours. */
export async function folderMegabytes(folder: string): Promise<number> {
  const { stdout } = await run('du', ['-sm', folder], { timeout: 10_000 }).catch((error: { stdout?: string }) => ({ stdout: error.stdout ?? '' }));
  return Number.parseInt(stdout, 10) || 0;
}

/** Room that is left on the disk of a folder, in MB; null when it cannot be told. */
export async function freeMegabytes(folder: string): Promise<number | null> {
  const left = await statfs(folder).catch(() => null);
  return left && Math.floor((left.bavail * left.bsize) / 2 ** 20);
}
