import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { createPayloadCodec } from '../../src/adapters/payloads/codec.ts';
import { NO_PAYLOAD_KEYS } from '../../src/adapters/payloads/keys.ts';
import { listen } from '../../src/api/http/listen.ts';
import { createRuntimeApi } from '../../src/api/runtime-api.ts';
import { createStatusApi } from '../../src/api/status/status-api.ts';
import { ensureToken } from '../../src/cli/instance/home/home.ts';
import { freePort } from '../../src/cli/instance/servers/ports.ts';
import { databaseUrl, preparePostgres, removeCluster } from '../../src/cli/instance/servers/postgres.ts';
import { ownerInstance } from '../../src/cli/roles/owner-instance.ts';
import { type Config, loadConfig, reloadConfig } from '../../src/config.ts';
import { createIntake } from '../../src/gateway/intake/intake.ts';
import { openStore, type Store } from '../../src/store/postgres/database.ts';
import { copyDatabaseTo } from '../support/made-database.ts';

export interface ApiStack {
  port: number;
  statusPort: number;
  store: Store;
  databaseUrl: string;
  /** what a process says before it closes its servers; streams end */
  stop(): void;
  workspace: string;
  config: Config;
  /** another runtime API on the same store, set up from these variables as a start would do it; returns its port */
  another(variables: Record<string, string>): Promise<number>;
  close(): Promise<void>;
}

/**
 * Both HTTP servers on a real database. No Temporal server runs: an acknowledgement only needs the stored row, and a
 * turn that nobody works on stays in progress, which is what conflicts, steering and interrupts need.
 */
export async function startApi(options: {
  token: string;
  adminToken?: string;
  model: string;
  corsOrigins: string;
  stream?: { keepaliveMs: number; pollMs: number };
  /** gets the rows of every answer of the database to the runtime API itself */
  watch?: (rows: readonly unknown[]) => void;
}): Promise<ApiStack> {
  const home = mkdtempSync(join(tmpdir(), 'fetch-api-'));
  await copyDatabaseTo(home);
  const workspace = '/tmp/fetch-workspace';
  const config = loadConfig(
    {
      FETCH_HOME: home,
      AGENT_MODEL: options.model,
      FETCH_WORKSPACE: workspace,
      DEEPSEEK_CORS_ORIGINS: options.corsOrigins,
    },
    {},
  );
  const port = await freePort('127.0.0.1');
  const command = await preparePostgres(home, port);
  const postgres = spawn(command.file, command.args, {
    env: command.env,
    uid: command.uid,
    gid: command.gid,
    stdio: 'ignore',
  });
  const store = await whenReady(() => openStore(databaseUrl(home, port)));
  const connection = Connection.lazy({ address: '127.0.0.1:1', connectTimeout: 50 });
  // a closed connection refuses at once, where an unreachable server lets each signal wait for its deadline
  await connection.close();
  const temporal = new Client({ connection });
  const intake = createIntake({ db: store.db, temporal, config, secret: 'secret' });
  const stopping = new AbortController();
  const deps = {
    config,
    token: options.token,
    adminToken: options.adminToken,
    store,
    intake,
    codec: createPayloadCodec(() => NO_PAYLOAD_KEYS),
    version: '0.0.0',
    startedAt: new Date(),
    stopping: stopping.signal,
    stream: options.stream,
    reload: () => reloadConfig(config),
    instance: ownerInstance(config),
  };
  const runtime = await listen(createRuntimeApi({ ...deps, store: watched(store, options.watch) }), '127.0.0.1', 0);
  const status = await listen(createStatusApi(deps), '127.0.0.1', 0);
  const others: Array<Awaited<ReturnType<typeof listen>>> = [];
  return {
    port: runtime.port,
    statusPort: status.port,
    store,
    databaseUrl: databaseUrl(home, port),
    workspace,
    config,
    another: async (variables) => {
      const own = loadConfig({ FETCH_HOME: home }, variables);
      const other = await listen(
        createRuntimeApi({
          ...deps,
          config: own,
          reload: () => reloadConfig(own),
          token: ensureToken(home, 'runtime-token', own.runtimeToken),
        }),
        '127.0.0.1',
        0,
      );
      others.push(other);
      return other.port;
    },
    stop: () => stopping.abort(),
    close: async () => {
      stopping.abort();
      await Promise.all([runtime, status, ...others].map((server) => server.close(100)));
      await store.close();
      await ended(postgres);
      removeCluster(home);
      rmSync(home, { recursive: true, force: true });
    },
  };
}

const watched = (store: Store, watch?: (rows: readonly unknown[]) => void): Store =>
  watch
    ? {
        ...store,
        db: store.db.withPlugin({
          transformQuery: ({ node }) => node,
          transformResult: async ({ result }) => {
            watch(result.rows);
            return result;
          },
        }),
      }
    : store;

async function whenReady<T>(attempt: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

const ended = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once('exit', () => resolve());
    child.kill('SIGINT');
  });
