import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The state of a practice session, in a file under HOME that is replaced whole: after SIGKILL it is the state before or
 * after a change.
 */
export interface Session {
  id: string;
  goal: string;
  clauses: string[];
  /** clauses that are finished */
  done: number;
  answers: string[];
  /** how often it has repaired something */
  repairs?: number;
  /** what a person said last to its plan */
  change?: string;
  /** the clause at work, with what is needed to continue in the middle of it */
  begun: { size?: number; elapsed?: number; asked?: boolean } | null;
}

function path(id: string): string {
  return join(homeFolder(), `${id}.json`);
}

function homeFolder(): string {
  // biome-ignore lint/style/noProcessEnv: this program is an agent of its own; HOME is where agents keep sessions
  return join(process.env.HOME ?? '/tmp', '.practice');
}

/** Null when there is no such session. */
export function loadSession(id: string): Session | null {
  if (!/^[\w-]{1,100}$/.test(id)) return null;
  try {
    return JSON.parse(readFileSync(path(id), 'utf8')) as Session;
  } catch {
    return null;
  }
}

export function saveSession(session: Session): void {
  mkdirSync(homeFolder(), { recursive: true });
  const fresh = `${path(session.id)}.new`;
  const fd = openSync(fresh, 'w', 0o600);
  writeSync(fd, JSON.stringify(session));
  fsyncSync(fd);
  closeSync(fd);
  renameSync(fresh, path(session.id));
}
