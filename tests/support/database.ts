import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  acceptsConnections,
  databaseUrl,
  preparePostgres,
  removeCluster,
} from '../../src/cli/instance/servers/postgres.ts';
import { openStore, type Store } from '../../src/store/postgres/database.ts';
import { freePorts } from './app.ts';
import { copyDatabaseTo } from './made-database.ts';
import { until } from './until.ts';

/** A PostgreSQL server of its own, migrated, without the rest of an instance. */
export interface TestDatabase {
  url: string;
  store: Store;
  close(): Promise<void>;
}

/** `settings` go to the server as `name=value`. */
export async function startTestDatabase(max = 5, settings: readonly string[] = []): Promise<TestDatabase> {
  const home = mkdtempSync(join(tmpdir(), 'fetch-db-'));
  await copyDatabaseTo(home);
  const [port] = await freePorts(1);
  const { file, args, env, uid, gid } = await preparePostgres(home, port!);
  const server: ChildProcess = spawn(file, [...args, ...settings.flatMap((setting) => ['-c', setting])], {
    env,
    stdio: 'ignore',
    ...(uid !== undefined && { uid, gid }),
  });
  await until('PostgreSQL takes connections', () => acceptsConnections(port!), 30_000);
  const url = databaseUrl(home, port!);
  const store = await openStore(url, { max, application: 'fetch-test' });
  return {
    url,
    store,
    async close() {
      await store.close();
      server.kill('SIGINT');
      await until('PostgreSQL has stopped', () => server.exitCode !== null || server.signalCode !== null, 15_000);
      removeCluster(home);
      rmSync(home, { recursive: true, force: true });
    },
  };
}
