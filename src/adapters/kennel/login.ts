import { type Stats, statSync } from 'node:fs';
import type { HarnessName } from '../../contracts/kennel.ts';
import { harnesses } from '../../domain/tasks/harnesses.ts';
import { containerUser } from './docker/engine.ts';

/** The runner reads it whole; no agent's log-in is near this. */
const MAX_BYTES = 1024 * 1024;

/** Why a log-in file cannot be used by containers of this host, as a sentence; null when it can. */
export function loginProblem(name: HarnessName, path: string, user = containerUser()): string | null {
  const problem = (why: string): string => `The log-in of ${harnesses[name].label} (FETCH_KENNEL_LOGINS) cannot be used: ${path} ${why}.`;
  let file: Stats;
  try {
    file = statSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return problem(code === 'ENOENT' || code === 'ENOTDIR' ? 'does not exist on this host' : `cannot be looked at (${code})`);
  }
  // a whole folder would take sessions and settings of the person along
  if (!file.isFile()) return problem('is not a file');
  if (file.size === 0) return problem('is empty');
  if (file.size > MAX_BYTES) return problem('is larger than 1 MB');
  // nothing inside of a container has the rights of root
  const mine = file.uid === user.uid ? 0o400 : file.gid === user.gid ? 0o040 : 0o004;
  if ((file.mode & mine) === 0) return problem(`cannot be read by user ${user.uid}, as whom containers run: give a copy to that user, and name that one`);
  return null;
}
