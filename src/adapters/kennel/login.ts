import { type Stats, statSync } from 'node:fs';
import { factsOf } from '../../../kennel/agents/registry.ts';
import type { AgentName } from '../../contracts/kennel.ts';
import { containerUser } from './docker/engine.ts';

/** The runner reads the file whole; log-in files of agents are much smaller. */
const MAX_BYTES = 1024 * 1024;

/** Why containers of this host cannot use a log-in file, as a sentence; null when they can. */
export function loginProblem(name: AgentName, path: string, user = containerUser()): string | null {
  const problem = (why: string): string =>
    `The log-in of ${factsOf(name).label} (FETCH_KENNEL_LOGINS) cannot be used: ${path} ${why}.`;
  let file: Stats;
  try {
    file = statSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return problem(
      code === 'ENOENT' || code === 'ENOTDIR' ? 'does not exist on this host' : `cannot be looked at (${code})`,
    );
  }
  // a whole folder would include sessions and settings of the person
  if (!file.isFile()) return problem('is not a file');
  if (file.size === 0) return problem('is empty');
  if (file.size > MAX_BYTES) return problem('is larger than 1 MB');
  // nothing inside a container has root's rights
  const mine = file.uid === user.uid ? 0o400 : file.gid === user.gid ? 0o040 : 0o004;
  if ((file.mode & mine) === 0)
    return problem(
      `cannot be read by user ${user.uid}, which containers run as: give that user a copy, and name the copy`,
    );
  return null;
}
