import { statSync } from 'node:fs';

export const NO_FILE = 'none';

/** Another one for every change of a file, and for a file that is not there. */
export function fileStamp(file: string): string {
  try {
    const stats = statSync(file, { bigint: true, throwIfNoEntry: false });
    return stats ? `${stats.ino} ${stats.mtimeNs} ${stats.size}` : NO_FILE;
  } catch (error) {
    // its folder may not be read; that must not end what runs
    return (error as Error).message;
  }
}
