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
  const address = config.TEMPORAL_ADDRESS ?? `127.0.0.1:${config.FETCH_TEMPORAL_PORT}`;
  const store = await openStore(config.DATABASE_URL, { application, max: pool });
  const connection = await Connection.connect({ address, connectTimeout: 10_000 }).catch(async (error) => {
    await store.close();
    throw new Error(`No Temporal server answers at ${address}: ${error.message}. Set TEMPORAL_ADDRESS, or use \`fetch start\`, which brings its own.`);
  });
  const temporal = new Client({ connection, namespace: config.TEMPORAL_NAMESPACE });
  return {
    store,
    temporal,
    address,
    async close() {
      await connection.close();
      await store.close();
    },
  };
}
