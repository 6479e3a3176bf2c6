import { closeSync, copyFileSync, fstatSync, openSync, readSync, renameSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import type { RoleName } from '../home/state-file.ts';

/** What PostgreSQL tells its clients while it is away follows from the reason and is not the reason. */
const CONSEQUENCE = /FATAL: +(the database system is |terminating connection)/;

const ROTATE_BYTES = 10 * 1024 * 1024;

/**
 * `fetch`: the process that runs the roles, where no terminal shows what it says. `roles`: the process that several
 * roles share.
 */
export type LogName = RoleName | 'fetch' | 'roles';
/** The logs in which a role may have written: its own, and that of the process that it shares. */
export const logsOf = (role: LogName): LogName[] =>
  ['gateway', 'api', 'kennel'].includes(role) ? [role, 'roles'] : [role];
export const logFile = (home: string, name: LogName): string => join(home, 'logs', `${name}.log`);

/**
 * The file of the home that the output of this process goes to: there when `fetch up` or a service manager started it,
 * else null.
 */
export function ownLog(home: string): string | null {
  try {
    const [file, output] = [statSync(logFile(home, 'fetch')), fstatSync(1)];
    return file.dev === output.dev && file.ino === output.ino ? logFile(home, 'fetch') : null;
  } catch {
    return null;
  }
}

/**
 * As `openRoleLog` does, for a file that the parent of this process holds open: the file keeps its place and is
 * emptied.
 */
export function rotateOwnLog(file: string): void {
  if (statSync(file).size <= ROTATE_BYTES) return;
  copyFileSync(file, `${file}.1`);
  truncateSync(file);
}

/** Opens a log for appending; one that grew large becomes `<name>.log.1`, in place of an older one. */
export function openRoleLog(home: string, name: LogName): { fd: number; offset: number } {
  const file = logFile(home, name);
  try {
    if (statSync(file).size > ROTATE_BYTES) renameSync(file, `${file}.1`);
  } catch {
    // not there yet
  }
  const fd = openSync(file, 'a', 0o600);
  return { fd, offset: fstatSync(fd).size };
}

/**
 * The line of a dead program's log that most likely says why: the last error, else the last line. At most 300
 * characters.
 */
export function lastErrorLine(home: string, name: LogName, offset: number): string | null {
  let text = '';
  try {
    const fd = openSync(logFile(home, name), 'r');
    const size = fstatSync(fd).size;
    const from = Math.max(offset, size - 16_384);
    const buffer = Buffer.alloc(Math.max(0, size - from));
    readSync(fd, buffer, 0, buffer.length, from);
    closeSync(fd);
    text = buffer.toString('utf8');
  } catch {
    return null;
  }
  const lines = text
    .split('\n')
    .filter((line) => line.trim() && !/^\s+at |^Node\.js v/.test(line) && !CONSEQUENCE.test(line));
  const errors = lines.filter((line) => /"level":("(error|fatal)"|[56]0)|\b(FATAL|PANIC|ERROR|\w*Error):/.test(line));
  return readable(errors.at(-1) ?? lines.at(-1) ?? '') || null;
}

function readable(line: string): string {
  try {
    const entry = JSON.parse(line) as Record<string, unknown>;
    const error = entry.error ?? (entry.err as { message?: string } | undefined)?.message;
    return (
      [entry.msg ?? entry.message, error]
        .filter((part) => typeof part === 'string')
        .join(': ')
        .slice(0, 300) || line.slice(0, 300)
    );
  } catch {
    return line.trim().slice(0, 300);
  }
}
