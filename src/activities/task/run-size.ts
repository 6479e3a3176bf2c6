import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Room that a folder takes on the disk, in MB; 0 when it cannot be told. Files come and go while it is counted, so errors of `du` are not ours. */
export async function folderMegabytes(folder: string): Promise<number> {
  const { stdout } = await run('du', ['-sm', folder], { timeout: 10_000 }).catch((error: { stdout?: string }) => ({ stdout: error.stdout ?? '' }));
  return Number.parseInt(stdout, 10) || 0;
}
