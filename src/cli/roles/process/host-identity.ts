import { randomUUID } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The id of a home as a kennel host: made once, kept beside its run folders. Two homes never have the same one,
 * whatever their hosts are called.
 */
export async function hostIdentity(home: string): Promise<string> {
  const folder = join(home, 'kennel');
  const file = join(folder, 'host-id');
  await mkdir(folder, { recursive: true });
  await writeFile(file, `${randomUUID()}\n`, { flag: 'wx' }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  const id = (await readFile(file, 'utf8')).trim();
  if (id === '') throw new Error(`${file} is empty. Remove it, and a new id is made.`);
  return id;
}
