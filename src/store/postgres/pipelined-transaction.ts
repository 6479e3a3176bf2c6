import { type CompiledQuery, DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, type Transaction } from 'kysely';
import type pg from 'pg';
import type { Database } from './schema.ts';

/** The connections behind a `Db`: Kysely waits for each statement before it sends the next. */
const pools = new WeakMap<Kysely<Database>, pg.Pool>();

export const keepPool = (db: Kysely<Database>, pool: pg.Pool): void => void pools.set(db, pool);

/**
 * A transaction whose statements need nothing of each other's results, sent at once: one round trip where each statement, `begin`
 * and `commit` would wait for the answer to the last one. Rejects with the first error; nothing is stored then.
 */
export async function inOneFlight(db: Kysely<Database>, statements: readonly CompiledQuery[]): Promise<void> {
  const pool = pools.get(db);
  if (!pool) throw new Error('this database was not opened by openStore');
  const client = await pool.connect();
  try {
    // each statement ends with its own sync, so what follows an error is refused by the aborted transaction, `commit` rolls back, and all are answered
    const sent = [client.query('begin'), ...statements.map(({ sql, parameters }) => client.query(sql, [...parameters])), client.query('commit')];
    const failed = (await Promise.allSettled(sent)).find((outcome) => outcome.status === 'rejected');
    if (failed) throw failed.reason;
  } finally {
    client.release();
  }
}

class NoDriver extends DummyDriver {
  override acquireConnection(): Promise<never> {
    throw new Error('a draft is only written down: it reads nothing and sends nothing');
  }
}

const paper = new Kysely<Database>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new NoDriver(),
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

/** Looks like a transaction to what writes, and has no connection. */
export const newDraft = (): Transaction<Database> => paper.withoutPlugins() as Kysely<Database> as Transaction<Database>;
