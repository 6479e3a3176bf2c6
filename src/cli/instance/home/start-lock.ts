import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { explainFileError } from './home.ts';
import { isAlive, type ProcessIdentity, startTimeOf } from './process-identity.ts';

/**
 * One start for each home, also of two in the same instant. Claims are files `<home>/start.lock/<number>`, each made
 * with its content by one `link`, and the newest stays: numbers only grow, so a process that acts on an old look at the
 * folder either fails to make its claim or finds a newer one beside it. A claim counts while its process lives; nothing
 * has to be removed.
 */

/** Another process has claimed this home. */
export class HeldError extends Error {
  override readonly name = 'HeldError';
  readonly holder: ProcessIdentity;
  constructor(holder: ProcessIdentity) {
    super(`Process ${holder.pid} has claimed this home.`);
    this.holder = holder;
  }
}

const folderOf = (home: string): string => join(home, 'start.lock');

/**
 * Claims the home for this process; the claim ends with the process, or with `release`. Throws HeldError, or HomeError
 * when it cannot be written.
 */
export async function claimHome(home: string): Promise<{ release(): void }> {
  const folder = folderOf(home);
  const self = { pid: process.pid, startTime: (await startTimeOf(process.pid)) ?? 'unknown' };
  const draft = join(folder, `draft-${process.pid}`);
  for (;;) {
    const newest = claims(folder)[0] ?? 0;
    const holder = newest > 0 ? await holderOf(folder, newest) : null;
    if (holder) throw new HeldError(holder);
    const mine = join(folder, String(newest + 1));
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      writeFileSync(draft, JSON.stringify(self), { mode: 0o600 });
      const first = tryLink(draft, mine);
      rmSync(draft);
      if (!first) continue;
    } catch (error) {
      throw explainFileError(home, error);
    }
    const [last, ...older] = claims(folder);
    if (last !== newest + 1) {
      rmSync(mine, { force: true });
      continue;
    }
    for (const number of older) rmSync(join(folder, String(number)), { force: true });
    return { release: () => writeFileSync(mine, '') };
  }
}

/** Who holds this home now, or null. */
export async function homeHolder(home: string): Promise<ProcessIdentity | null> {
  const newest = claims(folderOf(home))[0];
  return newest === undefined ? null : await holderOf(folderOf(home), newest);
}

/** False when another start made this claim first. */
function tryLink(draft: string, claim: string): boolean {
  try {
    linkSync(draft, claim);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Numbers of the claims, newest first. */
function claims(folder: string): number[] {
  try {
    return readdirSync(folder)
      .map(Number)
      .filter(Number.isInteger)
      .sort((a, b) => b - a);
  } catch {
    return [];
  }
}

async function holderOf(folder: string, number: number): Promise<ProcessIdentity | null> {
  try {
    const holder = JSON.parse(readFileSync(join(folder, String(number)), 'utf8')) as ProcessIdentity;
    return Number.isInteger(holder.pid) && (await isAlive(holder)) ? holder : null;
  } catch {
    // released, or not one of ours
    return null;
  }
}
