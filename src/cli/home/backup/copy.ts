import { constants, copyFileSync, lstatSync, mkdirSync, readdirSync, readlinkSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Copies a folder that somebody may be writing to. `skip` is asked with the path below the folder. Sockets and files
 * that vanish are left out.
 */
export function copyFolder(from: string, to: string, skip: (path: string) => boolean = () => false, below = ''): void {
  mkdirSync(to, { recursive: true, mode: 0o700 });
  for (const name of readdirSync(from)) {
    const path = below ? `${below}/${name}` : name;
    if (!skip(path)) copyEntry(join(from, name), join(to, name), skip, path);
  }
}

function copyEntry(from: string, to: string, skip: (path: string) => boolean, path: string): void {
  try {
    const entry = lstatSync(from);
    if (entry.isDirectory()) copyFolder(from, to, skip, path);
    else if (entry.isSymbolicLink()) symlinkSync(readlinkSync(from), to);
    else if (entry.isFile()) copyFileSync(from, to, constants.COPYFILE_FICLONE);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
