import type { CompiledQuery } from 'kysely';
import type { Db } from './database.ts';
import type { PooledDriver } from './driver.ts';

/** Kysely waits for each statement before it sends the next. What is sent at once goes past it. */
const drivers = new WeakMap<Db, PooledDriver>();

export const keepDriver = (db: Db, driver: PooledDriver): void => void drivers.set(db, driver);

/**
 * A transaction whose statements need nothing of each other's results, sent at once: one round trip where each statement, `begin`
 * and `commit` would wait for the answer to the last one. Rejects with the first error; nothing is stored then.
 */
export async function pipelinedTransaction(db: Db, statements: readonly CompiledQuery[]): Promise<void> {
  const driver = drivers.get(db);
  if (!driver) throw new Error('this database was not opened by openStore');
  const connection = await driver.acquireConnection();
  try {
    // each statement ends with its own sync, so what follows an error is refused by the aborted transaction, `commit` rolls back, and all are answered
    const sent = ['begin', ...statements, 'commit'].map((statement) => connection.send(statement));
    const failed = (await Promise.allSettled(sent)).find((outcome) => outcome.status === 'rejected');
    if (failed) throw failed.reason;
  } finally {
    connection.release();
  }
}
