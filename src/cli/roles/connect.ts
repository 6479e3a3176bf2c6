import { Client, Connection } from '@temporalio/client';
import { NativeConnection } from '@temporalio/worker';
import { dataConverter } from '../../adapters/payloads/codec.ts';
import type { Config } from '../../config.ts';
import { notePayloadKey, usedPayloadKeys } from '../../store/home/payload-keys.ts';
import { type Db, openStore } from '../../store/postgres/database.ts';
import { databaseProblem, temporalProblem } from '../instance/connections/problems.ts';
import { temporalEndpoint } from '../instance/connections/servers.ts';
import { readPayloadKeys } from '../instance/home/payload-keys.ts';
import type { Connections } from './process/role-context.ts';

interface TemporalClient extends Pick<Connections, 'temporal' | 'converter'> {
  close(): Promise<void>;
}

/** Opens what roles need of the outside. Both must be named: a role started alone starts neither. */
export async function openConnections(
  config: Config,
  pool: { application: string; max: number },
): Promise<Connections & { close(): Promise<void> }> {
  if (!config.DATABASE_URL)
    throw new Error('DATABASE_URL is not set: a single role needs a PostgreSQL to use. `fetch start` brings its own.');
  const { DATABASE_URL: url } = config;
  const store = await openStore(url, {
    ...pool,
    direct: config.DATABASE_DIRECT_URL,
    prepare: config.FETCH_PREPARE_STATEMENTS,
  }).catch(async (error) => {
    throw await databaseProblem(url, 'DATABASE_URL', error);
  });
  const [{ temporal, converter, close }] = await Promise.all([
    connectWithKey(config, store.db),
    store.checkPooler(),
  ]).catch(async (error) => {
    await store.close();
    throw error;
  });
  const native = await NativeConnection.connect(temporalEndpoint(config)).catch(async (error) => {
    await Promise.all([close(), store.close()]);
    throw await temporalProblem(config, error);
  });
  return {
    store,
    temporal,
    native,
    converter,
    async close() {
      await native.close();
      await close();
      await store.close();
    },
  };
}

/** A role that cannot read what the others write would stop every workflow that it touches, so it does not begin. */
async function connectWithKey(config: Config, db: Db): Promise<TemporalClient> {
  const { encrypts, known } = readPayloadKeys(config);
  const [newest] = await usedPayloadKeys(db);
  if (newest && !known.has(newest.id))
    throw new Error(
      `Payloads in Temporal are encrypted with the key ${newest.id}, which this home does not have. Copy the file payload-keys of the other home, or set FETCH_PAYLOAD_KEYS. If the key is lost: docs/running.md.`,
    );
  if (encrypts) await notePayloadKey(db, encrypts.id);
  return await connectTemporal(config);
}

/** The Temporal server alone, for commands that need no records. */
export async function connectTemporal(config: Config): Promise<TemporalClient> {
  const endpoint = temporalEndpoint(config);
  const connection = await Connection.connect({ ...endpoint, connectTimeout: 10_000 }).catch(async (error) => {
    throw await temporalProblem(config, error);
  });
  const converter = dataConverter(() => readPayloadKeys(config));
  const temporal = new Client({ connection, namespace: config.TEMPORAL_NAMESPACE, dataConverter: converter });
  return { temporal, converter, close: () => connection.close() };
}
