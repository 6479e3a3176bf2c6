import { Client, Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import type { Config } from '../../config.ts';
import { openStore } from '../../store/postgres/database.ts';
import type { Connections } from './role-context.ts';
import { temporalEndpoint } from './temporal-connection.ts';

/** Opens what roles need of the outside. Both must be named: a role started alone starts neither. */
export async function openConnections(config: Config, pool: { application: string; max: number }): Promise<Connections & { close(): Promise<void> }> {
  if (!config.DATABASE_URL) throw new Error('DATABASE_URL is not set: a single role needs a PostgreSQL to use. `fetch start` brings its own.');
  const store = await openStore(config.DATABASE_URL, { ...pool, prepare: config.FETCH_PREPARE_STATEMENTS });
  const { temporal, close } = await connectTemporal(config).catch(async (error) => {
    await store.close();
    throw error;
  });
  const native = await NativeConnection.connect(temporalEndpoint(config));
  return {
    store,
    temporal,
    native,
    async close() {
      await native.close();
      await close();
      await store.close();
    },
  };
}

/** The Temporal server alone, for commands that need no records. */
export async function connectTemporal(config: Config): Promise<{ temporal: Client; close(): Promise<void> }> {
  const endpoint = temporalEndpoint(config);
  const connection = await Connection.connect({ ...endpoint, connectTimeout: 10_000 }).catch((error) => {
    throw new Error(`No Temporal server answers at ${endpoint.address}: ${error.message}. Set TEMPORAL_ADDRESS, or use \`fetch start\`, which brings its own.`);
  });
  return { temporal: new Client({ connection, namespace: config.TEMPORAL_NAMESPACE }), close: () => connection.close() };
}
