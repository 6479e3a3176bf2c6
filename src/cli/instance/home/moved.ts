import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../../../contracts/user-error.ts';
import { explainFileError } from './home.ts';

/**
 * The mark of a home that was moved to other servers. With the mark it does not start: WhatsApp would be linked from
 * two places with the same keys, and crons and reminders would come twice.
 */
interface Moved {
  /** RFC 3339 */
  at: string;
  /** the servers that have it now, or the folder that it was exported to */
  to: string;
}

const FILE = 'moved.json';
/** The mark of a home that is moved in: its keys may be the new ones while its database is not. */
const INCOMING = 'moving-in.json';

/** This home must not start; `message` says why and what to do. */
export class HomeMoved extends UserError {
  override readonly name = 'HomeMoved';
  // a service must not start it again and again
  override readonly exitCode = 2;
}

export function movedMark(home: string): Moved | null {
  const file = join(home, FILE);
  if (!existsSync(file)) return null;
  try {
    const { at, to } = JSON.parse(readFileSync(file, 'utf8')) as Moved;
    return { at: String(at), to: String(to) };
  } catch {
    // a broken mark is a mark
    return { at: 'an unknown time', to: 'other servers' };
  }
}

export const markMoved = (home: string, to: string): void => write(home, FILE, { at: new Date().toISOString(), to });
export const markMovingIn = (home: string, from: string): void =>
  write(home, INCOMING, { at: new Date().toISOString(), from });
export const movedIn = (home: string): void => rmSync(join(home, INCOMING), { force: true });

/** @throws HomeMoved */
export function requireNotMoved(home: string): void {
  const moved = movedMark(home);
  if (moved)
    throw new HomeMoved(
      `${home} was moved to ${moved.to} (${moved.at}) and does not start here any more: WhatsApp, crons and reminders would work in two places. If nothing uses it there, remove ${join(home, FILE)} to go on here.`,
    );
  if (existsSync(join(home, INCOMING)))
    throw new HomeMoved(
      `A move into ${home} was not finished. Run the same fetch import-home again, or remove ${join(home, INCOMING)} if you gave it up.`,
    );
}

function write(home: string, name: string, content: object): void {
  try {
    writeFileSync(join(home, `${name}.new`), `${JSON.stringify(content)}\n`, { mode: 0o600, flush: true });
    renameSync(join(home, `${name}.new`), join(home, name));
  } catch (error) {
    throw explainFileError(home, error);
  }
}
