import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  type TransactionSettings,
} from 'kysely';
import type pg from 'pg';
import { storableText } from '../../domain/text/storable.ts';
import type { PreparedStatements } from './prepared-statements.ts';

/** PostgreSQL for Kysely, over a driver of ours. */
export const postgresOver = (driver: Driver): Dialect => ({
  createAdapter: () => new PostgresAdapter(),
  createDriver: () => driver,
  createIntrospector: (db) => new PostgresIntrospector(db),
  createQueryCompiler: () => new PostgresQueryCompiler(),
});

/** PostgreSQL's code for a prepared `select *` on a table that has got more columns */
const PLAN_OUTDATED = '0A000';
const COUNTED = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE']);

/**
 * The connections of a pool for Kysely. Kysely has a driver for `pg`, too. It sends only text and parameters, so a
 * query could not say its name.
 * `statements` is null where nothing is prepared.
 */
export class PooledDriver implements Driver {
  readonly #pool: pg.Pool;
  readonly #statements: PreparedStatements | null;

  constructor(pool: pg.Pool, statements: PreparedStatements | null) {
    this.#pool = pool;
    this.#statements = statements;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<PooledConnection> {
    return new PooledConnection(await this.#pool.connect(), this.#statements);
  }

  async releaseConnection(connection: PooledConnection): Promise<void> {
    connection.release();
  }

  async beginTransaction(
    connection: PooledConnection,
    { isolationLevel, accessMode }: TransactionSettings,
  ): Promise<void> {
    await connection.send(
      ['begin', isolationLevel && `isolation level ${isolationLevel}`, accessMode].filter(Boolean).join(' '),
    );
  }

  async commitTransaction(connection: PooledConnection): Promise<void> {
    const { command } = await connection.send('commit');
    // this is how it ends when a statement failed and the caller caught the error
    if (command === 'ROLLBACK') throw new Error('The transaction was not committed: one of its statements had failed.');
  }

  async rollbackTransaction(connection: PooledConnection): Promise<void> {
    await connection.send('rollback').catch((error) => {
      connection.broken = true;
      throw error;
    });
  }

  async destroy(): Promise<void> {
    await this.#pool.end();
  }
}

class PooledConnection implements DatabaseConnection {
  readonly #client: pg.PoolClient;
  readonly #statements: PreparedStatements | null;
  /** in an unknown state; the pool replaces it */
  broken = false;

  constructor(client: pg.PoolClient, statements: PreparedStatements | null) {
    this.#client = client;
    this.#statements = statements;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    const { command, rowCount, rows } = await this.send(query);
    return { rows: rows as R[], ...(COUNTED.has(command) && { numAffectedRows: BigInt(rowCount ?? 0) }) };
  }

  /** Does not wait for earlier statements; the answers come in the same order. */
  async send(query: CompiledQuery | string): Promise<pg.QueryResult> {
    if (typeof query === 'string') return await this.#client.query(query);
    const values = query.parameters.map(storable);
    const name = this.#statements?.nameOf(query);
    try {
      return await this.#client.query({ name, text: query.sql, values });
    } catch (error) {
      // the next attempt prepares the new text
      if ((error as { code?: string }).code === PLAN_OUTDATED) this.#statements?.renew();
      throw error;
    }
  }

  // biome-ignore lint/correctness/useYield: nothing here reads rows one by one
  async *streamQuery(): AsyncIterableIterator<never> {
    throw new Error('streams of rows are not supported');
  }

  release(): void {
    this.#client.release(this.broken);
  }
}

/**
 * A parameter in a form that PostgreSQL accepts. Every text passes here: one that PostgreSQL refuses would fail on
 * every attempt and block what comes after it. JSON is already text with escapes here; `json` replaces what is refused
 * inside it.
 */
function storable(value: unknown): unknown {
  if (typeof value === 'string') return storableText(value);
  return Array.isArray(value) ? value.map(storable) : value;
}
