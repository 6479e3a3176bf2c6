import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { chmod, copyFile, lstat, readlink, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'dotenv';
import { keepSettings } from '../../../adapters/env-file.ts';
import { settings } from '../../../config.ts';

/** Puts the files of a home into another one. Each step may be killed and done again. */

/**
 * Everything that was stored or handed out depends on these, so those of the home replace those of an installation that
 * nobody has used yet.
 */
const REPLACED = ['chat-key', 'encryption-key', 'receipt-key', 'runtime-token', 'admin-token'];
const PAYLOAD_KEYS = 'payload-keys';

/** Returns what stays as it is here, in sentences. */
export async function placeFiles(from: string, home: string): Promise<string[]> {
  for (const name of REPLACED)
    if (existsSync(join(from, name))) writeWhole(join(home, name), readFileSync(join(from, name), 'utf8'));
  addPayloadKeys(from, home);
  const { taken } = settingsIn(from, home);
  if (Object.keys(taken).length > 0) keepSettings(home, taken);
  const stays: string[] = [];
  for (const name of readdirSync(from))
    if (!REPLACED.includes(name) && name !== PAYLOAD_KEYS && name !== '.env')
      await place(join(from, name), join(home, name), stays);
  return stays;
}

/** What of the settings of the home holds here. */
export function settingsIn(from: string, home: string): ReturnType<typeof heldSettings> {
  const valuesIn = (folder: string) =>
    existsSync(join(folder, '.env')) ? parse(readFileSync(join(folder, '.env'))) : {};
  return heldSettings(valuesIn(from), valuesIn(home));
}

/**
 * The newest key here goes on encrypting: the Temporal server here knows no other one. Older ones open what may be
 * looked at later.
 */
function addPayloadKeys(from: string, home: string): void {
  const keysIn = (folder: string) =>
    existsSync(join(folder, PAYLOAD_KEYS))
      ? readFileSync(join(folder, PAYLOAD_KEYS), 'utf8')
          .split('\n')
          .map((line) => line.trim())
          .filter((line) => line !== '')
      : [];
  const [theirs, ours] = [keysIn(from), keysIn(home)];
  const all = [...new Set([...ours, ...theirs])];
  if (all.length > ours.length) writeWhole(join(home, PAYLOAD_KEYS), `${all.join('\n')}\n`);
}

/** A folder is merged; a file that is here with another content stays. */
async function place(from: string, to: string, stays: string[]): Promise<void> {
  const entry = await lstat(from);
  const there = await lstat(to).catch(() => null);
  if (entry.isDirectory()) {
    if (there && !there.isDirectory()) return void stays.push(`${to} is no folder here, and stays`);
    mkdirSync(to, { recursive: true, mode: 0o700 });
    for (const name of readdirSync(from)) await place(join(from, name), join(to, name), stays);
    return;
  }
  if (there) {
    const same = entry.isFile() && there.isFile() && readFileSync(from).equals(readFileSync(to));
    if (!same && !entry.isSymbolicLink()) stays.push(`${to} has another content here, which stays`);
    return;
  }
  // a device or a pipe belongs to the machine that it was made on
  if (!entry.isFile() && !entry.isSymbolicLink()) return;
  const half = `${to}.moving`;
  rmSync(half, { force: true });
  if (entry.isSymbolicLink()) await symlink(await readlink(from), half);
  else {
    await copyFile(from, half);
    // no program here runs as somebody else because it did so there
    await chmod(half, entry.mode & 0o777);
  }
  renameSync(half, to);
}

function writeWhole(file: string, text: string): void {
  writeFileSync(`${file}.new`, text, { mode: 0o600, flush: true });
  renameSync(`${file}.new`, file);
}

/** Which settings of a home hold on a server. */

/**
 * Where a home is, which servers and ports it has, and what it does with its machine: each installation has its own.
 */
const OWN =
  /^(FETCH_HOME|FETCH_HOST|FETCH_[A-Z_]*PORT|TEMPORAL_|DATABASE_|FETCH_PREPARE_STATEMENTS|FETCH_PAYLOAD_KEYS|FETCH_ENCRYPTION_KEY|FETCH_BUILD_ID|FETCH_WORKSPACES?$|FETCH_BACKUP_|FETCH_METRICS_|FETCH_HEALTH_FILE|FETCH_SEPARATE_PROCESSES|FETCH_ON_LEAVE|FETCH_KENNEL_(BASE|LOGINS|MIRRORS|MEMORY_MB|CPUS|PIDS|SLOTS|DISK_MB|FREE_MB)|FETCH_BROWSER_SLOTS|FETCH_MCP_CONFIG|DOCKER_HOST|WA_)/;
const THIS_MACHINE = /(^|[^\w.-])(localhost|127\.\d+\.\d+\.\d+|\[::1\])([^\w.-]|$)/i;

export interface HeldSettings {
  /** set from now on */
  taken: Record<string, string>;
  /** names, each with the reason */
  left: Array<{ name: string; why: string }>;
}

/** Pure: `theirs` are those of the home, `ours` those in the `.env` here, which stay. */
export function heldSettings(
  theirs: Readonly<Record<string, string>>,
  ours: Readonly<Record<string, string>>,
): HeldSettings {
  const held: HeldSettings = { taken: {}, left: [] };
  for (const [name, value] of Object.entries(theirs)) {
    if (value.trim() === '') continue;
    const why = whyNot(name, value, ours[name]);
    if (why === null) held.taken[name] = value;
    else if (why !== '') held.left.push({ name, why });
  }
  return held;
}

/** Null: it is taken. Empty: nothing needs to be said. */
function whyNot(name: string, value: string, here: string | undefined): string | null {
  if (here === value) return '';
  if (OWN.test(name)) return 'each installation has its own';
  const known = Object.hasOwn(settings, name);
  if (!known && name.endsWith('_FILE') && Object.hasOwn(settings, name.slice(0, -'_FILE'.length)))
    return `the secret is in ${value}, which is not moved: put it on the server, and set ${name} there`;
  if (!known) return 'it is no setting of Fetch';
  if (here?.trim()) return 'it has another value here, which stays';
  if (THIS_MACHINE.test(value)) return 'it names the machine of the home: set it to an address that the server reaches';
  if (/^(\/|~\/|[A-Za-z]:\\)/.test(value)) return 'it names a file of the machine of the home';
  const parsed = settings[name as keyof typeof settings].safeParse(value);
  return parsed.success ? null : parsed.error.issues.map(({ message }) => message).join('; ');
}
