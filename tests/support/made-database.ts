import { execFileSync, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  appendFileSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  acceptsConnections,
  clusterFolder,
  databaseUrl,
  preparePostgres,
  removeCluster,
  SERVER_PACKAGE,
} from '../../src/cli/instance/servers/postgres.ts';
import { openStore } from '../../src/store/postgres/database.ts';
import { freePorts } from './app.ts';
import { until } from './until.ts';

/**
 * A database takes seconds to make, and a hundred test files begin with one. So it is made and migrated once for each
 * state of the migrations, and the others get a copy. What is about the first start of a home brings a home of its own,
 * and makes its own.
 */

const MIGRATIONS = fileURLToPath(new URL('../../src/store/schema/migrations', import.meta.url));
const PASSWORD = 'postgres-password';
/** A test kills processes and no machine: nothing is lost that was not written through to the disk. */
const SETTINGS = 'fsync = off\n';

/** The same for the same server and the same migrations. */
function stamp(): string {
  const hash = createHash('sha256')
    .update(fileURLToPath(import.meta.resolve(SERVER_PACKAGE)))
    .update(SETTINGS);
  for (const name of readdirSync(MIGRATIONS).sort()) hash.update(name).update(readFileSync(join(MIGRATIONS, name)));
  return hash.digest('hex').slice(0, 16);
}

let made: Promise<string> | null = null;

/** Puts a migrated database into a fresh home. */
export async function copyDatabaseTo(home: string): Promise<void> {
  made ??= makeOnce();
  const template = await made;
  const cluster = clusterFolder(template)!;
  cpSync(join(template, PASSWORD), join(home, PASSWORD));
  if (process.getuid?.() !== 0) return copyTree(cluster, join(home, 'postgres'));
  // as the product does: the server's user cannot enter a home of root
  const parent = join(dirname(dirname(cluster)), randomBytes(6).toString('hex'));
  mkdirSync(parent, { mode: 0o700 });
  const { uid, gid } = statSync(cluster);
  chownSync(parent, uid, gid);
  copyTree(cluster, join(parent, 'data'));
  symlinkSync(join(parent, 'data'), join(home, 'postgres'));
}

function copyTree(from: string, to: string): void {
  execFileSync('cp', ['-a', from, to]);
}

const isWhole = (template: string): boolean => existsSync(join(template, 'postgres', 'PG_VERSION'));

/** Several processes may make it at once: the first that is ready counts. */
async function makeOnce(): Promise<string> {
  const template = join(tmpdir(), `fetch-made-database-${stamp()}`);
  if (isWhole(template)) return template;
  // its cluster lies elsewhere, and may have been removed alone
  rmSync(template, { recursive: true, force: true });
  const home = mkdtempSync(join(tmpdir(), 'fetch-db-'));
  const [port] = await freePorts(1);
  const { file, args, env, uid, gid } = await preparePostgres(home, port!);
  const server = spawn(file, args, { env, stdio: 'ignore', ...(uid !== undefined && { uid, gid }) });
  await until('PostgreSQL takes connections', () => acceptsConnections(port!), 30_000);
  await (await openStore(databaseUrl(home, port!), { max: 1, application: 'fetch-test' })).close();
  server.kill('SIGINT');
  await until('PostgreSQL has stopped', () => server.exitCode !== null || server.signalCode !== null, 15_000);
  appendFileSync(join(clusterFolder(home)!, 'postgresql.conf'), SETTINGS);
  try {
    renameSync(home, template);
  } catch (error) {
    if (!isWhole(template)) throw error;
    removeCluster(home);
    rmSync(home, { recursive: true, force: true });
  }
  return template;
}
