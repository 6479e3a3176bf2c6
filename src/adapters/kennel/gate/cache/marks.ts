import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { labelsOf, type NamedBy, type Origin } from '../../../../domain/tasks/registries/registry-cache.ts';

/** Marks that only this gate can make: "this registry named that origin as the place of its files". */
export interface Marks {
  of(origin: Origin, by: Origin): string;
  isTrue(origin: Origin, named: NamedBy): boolean;
}

/** As many hexadecimal digits as a mark has in a name: 128 bits. */
const DIGITS = 32;

/** The key is in a file, so that a mark stays true when the gate restarts in the middle of an installation. */
export function marksOf(file: string): Marks {
  const key = keyIn(file);
  // no space is in a name
  const of = (origin: Origin, by: Origin): string =>
    createHmac('sha256', key)
      .update(`${labelsOf(origin)} ${labelsOf(by)}`)
      .digest('hex')
      .slice(0, DIGITS);
  return {
    of,
    isTrue: (origin, { mark, by }) =>
      mark.length === DIGITS && timingSafeEqual(Buffer.from(mark), Buffer.from(of(origin, by))),
  };
}

function keyIn(file: string): Buffer {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  try {
    writeFileSync(file, randomBytes(32), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const key = readFileSync(file);
  if (key.length === 32) return key;
  // a kill in the middle of the first write
  writeFileSync(file, randomBytes(32), { mode: 0o600 });
  return readFileSync(file);
}
