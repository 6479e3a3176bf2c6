import { Client, Connection } from '@temporalio/client';
import type { Config } from '../config.ts';
import { openStore, type Store } from '../store/database.ts';

/** What a role needs of the outside: both must be named, a role started alone starts neither. */
export async function openRole(
  config: Config,
  application: string,
  pool = 10,
): Promise<{ store: Store; temporal: Client; address: string; close(): Promise<void> }> {
  if (!config.DATABASE_URL) throw new Error('DATABASE_URL is not set: a single role needs a PostgreSQL to use. `fetch start` brings its own.');
  const store = await openStore(config.DATABASE_URL, { application, max: pool });
  const { temporal, address, close } = await connectTemporal(config).catch(async (error) => {
    await store.close();
    throw error;
  });
  return {
    store,
    temporal,
    address,
    async close() {
      await close();
      await store.close();
    },
  };
}

/** The Temporal server alone, for commands that need no records. */
export async function connectTemporal(config: Config): Promise<{ temporal: Client; address: string; close(): Promise<void> }> {
  const address = config.TEMPORAL_ADDRESS ?? `127.0.0.1:${config.FETCH_TEMPORAL_PORT}`;
  const connection = await Connection.connect({ address, connectTimeout: 10_000 }).catch((error) => {
    throw new Error(`No Temporal server answers at ${address}: ${error.message}. Set TEMPORAL_ADDRESS, or use \`fetch start\`, which brings its own.`);
  });
  return { temporal: new Client({ connection, namespace: config.TEMPORAL_NAMESPACE }), address, close: () => connection.close() };
}
