import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  type TransactionSettings,
} from 'kysely';
import type pg from 'pg';
import { storableText } from '../../domain/text/storable.ts';
import type { Database } from '../schema/schema.ts';

/** A query with the name of its prepared statement. `compiled` creates them. */
export interface NamedQuery extends CompiledQuery {
  readonly name: string;
}

/**
 * Limit of prepared texts without their own name. A process sends a few dozen; only lists of ids of changing length
 * could make more.
 */
const LIMIT = 200;

/**
 * The names of the statements that connections to one database keep prepared: parsing and planning cost a short
 * statement more than running it. What `compiled` makes brings its name. Other texts get a number when they are sent
 * first, because the query builder makes them at run time: which filters apply and how many writes wait decides. A full
 * list takes no more instead of dropping the oldest, which connections would still hold.
 */
export class PreparedStatements {
  readonly #numbered = new Map<string, string>();
  #generation = 0;

  /** Undefined: this text is not prepared. */
  nameOf(query: CompiledQuery | NamedQuery): string | undefined {
    if ('name' in query) return this.#generation === 0 ? query.name : `${query.name}_${this.#generation}`;
    const { sql, parameters } = query;
    if (parameters.length === 0) return undefined;
    const known = this.#numbered.get(sql);
    if (known !== undefined || this.#numbered.size >= LIMIT) return known;
    const name = `built_${this.#numbered.size}_${this.#generation}`;
    this.#numbered.set(sql, name);
    return name;
  }

  /** Prepares all of them again under new names, after another version of this program has changed a table. */
  renew(): void {
    this.#generation += 1;
    this.#numbered.clear();
  }
}

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

class NoConnection extends DummyDriver {
  override acquireConnection(): Promise<never> {
    throw new Error('the query builder has no connection: it reads nothing and sends nothing');
  }
}

/** Builds and compiles statements that are sent later, on the connection of a transaction. */
export const queryBuilder = new Kysely<Database>({ dialect: postgresOver(new NoConnection()) });

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
