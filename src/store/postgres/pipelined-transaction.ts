import type { CompiledQuery, Kysely } from 'kysely';
import type { Database } from '../schema/schema.ts';
import type { PooledDriver } from './driver.ts';

/** Kysely waits for each statement before it sends the next, so statements that are sent at once bypass it. */
type Db = Kysely<Database>;
const drivers = new WeakMap<Db, PooledDriver>();

export const keepDriver = (db: Db, driver: PooledDriver): void => void drivers.set(db, driver);

/**
 * A transaction whose statements do not depend on each other's results. All are sent at once, in one round trip.
 * Rejects with the first error; then nothing is stored.
 */
export async function pipelinedTransaction(db: Db, statements: readonly CompiledQuery[]): Promise<void> {
  const driver = drivers.get(db);
  if (!driver) throw new Error('this database was not opened by openStore');
  const connection = await driver.acquireConnection();
  try {
    // each statement has its own sync: after an error the aborted transaction refuses the rest, `commit` rolls back,
    // and all are answered
    const sent = ['begin', ...statements, 'commit'].map((statement) => connection.send(statement));
    const failed = (await Promise.allSettled(sent)).find((outcome) => outcome.status === 'rejected');
    if (failed) throw failed.reason;
  } finally {
    connection.release();
  }
}
