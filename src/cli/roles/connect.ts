import { Client, Connection } from '@temporalio/client';
import type { Config } from '../../config.ts';
import { openStore, type Store } from '../../store/postgres/database.ts';
import { type TemporalEndpoint, temporalEndpoint } from './temporal-connection.ts';

/** What a role needs of the outside: both must be named, a role started alone starts neither. */
export async function openRole(
  config: Config,
  application: string,
  pool = 10,
): Promise<{ store: Store; temporal: Client; endpoint: TemporalEndpoint; close(): Promise<void> }> {
  if (!config.DATABASE_URL) throw new Error('DATABASE_URL is not set: a single role needs a PostgreSQL to use. `fetch start` brings its own.');
  const store = await openStore(config.DATABASE_URL, { application, max: pool, prepare: config.FETCH_PREPARE_STATEMENTS });
  const { temporal, endpoint, close } = await connectTemporal(config).catch(async (error) => {
    await store.close();
    throw error;
  });
  return {
    store,
    temporal,
    endpoint,
    async close() {
      await close();
      await store.close();
    },
  };
}

/** The Temporal server alone, for commands that need no records. */
export async function connectTemporal(config: Config): Promise<{ temporal: Client; endpoint: TemporalEndpoint; close(): Promise<void> }> {
  const endpoint = temporalEndpoint(config);
  const connection = await Connection.connect({ ...endpoint, connectTimeout: 10_000 }).catch((error) => {
    throw new Error(`No Temporal server answers at ${endpoint.address}: ${error.message}. Set TEMPORAL_ADDRESS, or use \`fetch start\`, which brings its own.`);
  });
  return { temporal: new Client({ connection, namespace: config.TEMPORAL_NAMESPACE }), endpoint, close: () => connection.close() };
}
