import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { UserError } from '../../../contracts/user-error.ts';

/** The state folder cannot be used; `message` says why and what to do. */
export class HomeError extends UserError {
  override readonly name = 'HomeError';
}

/** Less than this and PostgreSQL would stop in the middle of a write. */
const NEEDED_BYTES = 300 * 1024 * 1024;
/** two segments of PostgreSQL's log */
const LOW_BYTES = 32 * 1024 * 1024;

const causes: Record<string, string> = {
  EROFS: 'is on a read-only file system',
  EACCES: 'cannot be written by this user',
  EPERM: 'cannot be written by this user',
  ENOTDIR: 'is not a folder',
  EEXIST: 'is not a folder',
  ENOENT: 'cannot be made there',
  ENOSPC: 'is on a full disk',
  EDQUOT: 'is over its disk quota',
};

/** `HomeError` for the system errors that a person can mend; any other error is returned as it is. */
export function explainFileError(home: string, error: unknown): Error {
  if (error instanceof HomeError) return error;
  const cause = causes[(error as NodeJS.ErrnoException)?.code ?? ''];
  if (!cause) return error instanceof Error ? error : new Error(String(error));
  return new HomeError(
    `The state folder ${home} ${cause} (${(error as Error).message}). Fix that, or choose another one with --home or FETCH_HOME.`,
  );
}

/** By hand, because the recursive `mkdirSync` of Node never returns below a folder such as /proc. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  if (dirname(folder) !== folder) makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // another start made it in this moment
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

/** State of one user that another one writes to is closed to the first from then on. */
export function requireOwner(home: string): void {
  const self = process.getuid?.();
  // a container's root may be given a folder of any owner, as long as nothing lives in it
  const judged = self === 0 ? join(home, 'chat-key') : home;
  const owner = statSync(judged, { throwIfNoEntry: false })?.uid;
  if (self === undefined || owner === undefined || owner === self) return;
  throw new HomeError(
    `The state folder ${home} belongs to another user (id ${owner}, you are ${self}). Start Fetch as that user, or choose another folder with --home or FETCH_HOME.`,
  );
}

/** Makes the folder (0700) with its `logs`, and proves by writing that it can be used. */
export function ensureHome(home: string, neededBytes = NEEDED_BYTES): void {
  try {
    requireOwner(home);
    makeFolder(join(home, 'logs'));
    chmodSync(home, 0o700);
    const probe = join(home, `.probe-${process.pid}`);
    writeFileSync(probe, randomBytes(4096), { mode: 0o600 });
    rmSync(probe);
  } catch (error) {
    throw explainFileError(home, error);
  }
  requireDiskSpace(home, neededBytes);
}

/** Throws HomeError when a start would soon stop in the middle of a write. */
export function requireDiskSpace(home: string, neededBytes = NEEDED_BYTES): void {
  const free = freeBytes(home);
  if (free >= neededBytes) return;
  throw new HomeError(
    `The state folder ${home} is on a disk with ${megabytes(free)} MB left; ${megabytes(neededBytes)} MB are needed. Make room, or choose another one with --home or FETCH_HOME.`,
  );
}

/** What a person should know about the disk below a running instance, or null while there is room. */
export function diskWarning(folder: string): string | null {
  const free = freeBytes(folder);
  if (free >= LOW_BYTES) return null;
  return `The disk of ${folder} is ${free === 0 ? 'full' : `nearly full (${megabytes(free)} MB left)`}: what cannot be stored is refused until there is room; nothing that was taken is lost.`;
}

const megabytes = (bytes: number): number => Math.floor(bytes / 1024 / 1024);

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** A secret kept in a file of the home (0600): read when it is there, else made once. */
export function keepSecret(home: string, name: string, make: () => string): string {
  const file = join(home, name);
  try {
    if (!existsSync(file)) writeFileSync(file, `${make()}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // a start makes the folder; other commands only look
    if (code === 'ENOENT')
      throw new HomeError(`Nothing was started with ${home} yet. Start it: fetch start, or name another --home.`);
    // another role made it in this moment: that one counts
    if (code !== 'EEXIST') throw explainFileError(home, error);
  }
  try {
    const secret = readFileSync(file, 'utf8').trim();
    if (secret) return secret;
  } catch (error) {
    throw explainFileError(home, error);
  }
  throw new HomeError(`${file} is empty. Remove it and start again: rm ${file}`);
}

/** Bearer token of an HTTP API: the configured one, else `fetch_` and 64 hex digits kept in `<home>/<name>` (0600). */
export const ensureToken = (
  home: string,
  name: 'runtime-token' | 'admin-token' | 'ui-token',
  configured?: string,
): string => configured ?? keepSecret(home, name, () => `fetch_${randomBytes(32).toString('hex')}`);

/**
 * 32 random bytes as hex; `chat-key` keys the hashes that stand for addresses in workflow ids, `encryption-key` the
 * stored WhatsApp credentials.
 */
export const ensureSecret = (home: string, name: 'chat-key' | 'encryption-key'): string =>
  keepSecret(home, name, () => randomBytes(32).toString('hex'));
