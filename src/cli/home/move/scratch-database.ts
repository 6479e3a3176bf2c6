import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { UserError } from '../../../contracts/user-error.ts';
import { freePort } from '../../instance/servers/ports.ts';
import {
  acceptsConnections,
  clearStalePostmaster,
  clusterFolder,
  databaseUrl,
  placeCluster,
  preparePostgres,
  removeCluster,
} from '../../instance/servers/postgres.ts';
import { copyFolder } from '../backup/archive.ts';

const STARTS_MS = 60_000;
const STOPS_MS = 30_000;

/** The database of a stopped home, which must have been shut down in order. @throws UserError */
export function requireStoppedCluster(home: string): string {
  const cluster = clusterFolder(home);
  if (cluster === null || !existsSync(join(cluster, 'PG_VERSION')))
    throw new UserError(
      cluster === null
        ? `${home} has no database: it is no FETCH_HOME, or it used a DATABASE_URL of its own.`
        : `The database of ${home} lies in ${cluster}, which is not there: it was copied without it. Run \`fetch export-home\` where the home is, and import what that writes.`,
    );
  if (!existsSync(join(home, 'postgres-password')))
    throw new UserError(
      `${home} lacks the file postgres-password, without which its database cannot be opened. Copy it too.`,
    );
  if (existsSync(join(cluster, 'postmaster.pid')))
    throw new UserError(
      `The database of ${home} runs, was not stopped in order, or was copied while it ran. Where the home is: fetch up, then fetch stop. Then copy it again.`,
    );
  return cluster;
}

/**
 * Runs the server on a copy of a home's database, so that the home stays as it is. `scratch` is a folder that may be
 * removed; what a killed call left there is ended and removed first.
 */
export async function withScratchDatabase<T>(
  home: string,
  scratch: string,
  use: (url: string) => Promise<T>,
): Promise<T> {
  const cluster = requireStoppedCluster(home);
  await removeScratch(scratch);
  mkdirSync(scratch, { recursive: true, mode: 0o700 });
  let server: ChildProcess | undefined;
  try {
    copyFolder(cluster, join(scratch, 'copy'));
    // a start in this moment would have made a copy of a database at work
    requireStoppedCluster(home);
    copyFileSync(join(home, 'postgres-password'), join(scratch, 'postgres-password'));
    await placeCluster(scratch, join(scratch, 'copy'));
    rmSync(join(scratch, 'copy'), { recursive: true, force: true });
    const port = await freePort('127.0.0.1');
    const { file, args, env, uid, gid } = await preparePostgres(scratch, port);
    server = spawn(file, args, { env, stdio: 'ignore', ...(uid !== undefined && { uid, gid }) });
    await started(server, port);
    return await use(databaseUrl(scratch, port));
  } finally {
    if (server) await ended(server);
    await removeScratch(scratch);
  }
}

async function started(server: ChildProcess, port: number): Promise<void> {
  for (const end = Date.now() + STARTS_MS; !(await acceptsConnections(port)); await pause(50)) {
    if (server.exitCode !== null || server.signalCode !== null)
      throw new UserError('The copy of the database does not start: it is damaged.');
    if (Date.now() > end) throw new UserError('The copy of the database did not start within a minute.');
  }
}

async function ended(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const end = once(server, 'exit');
  // "stop now, cleanly"
  server.kill('SIGINT');
  const late = setTimeout(() => server.kill('SIGKILL'), STOPS_MS);
  await end;
  clearTimeout(late);
}

async function removeScratch(scratch: string): Promise<void> {
  await clearStalePostmaster(scratch);
  removeCluster(scratch);
  rmSync(scratch, { recursive: true, force: true });
}
