import { Kysely, NoResultError, PostgresDialect, sql, type Transaction } from 'kysely';
import pg from 'pg';
import { storableJson } from '../../domain/text/storable.ts';
import { migrate } from '../schema/migrations.ts';
import type { Database } from '../schema/schema.ts';
import { keepDriver, PooledDriver, PreparedStatements, postgresOver } from './driver.ts';
import { checkPooler, ofPooler } from './pooler.ts';

// int8 arrives as a string by default; sequence numbers and micro-dollars stay far below 2^53
pg.types.setTypeParser(pg.types.builtins.INT8, Number);

export type Db = Kysely<Database>;
export type Tx = Transaction<Database>;

export interface Store {
  readonly db: Db;
  /**
   * calls back with the thread id of every committed event; returns a function that stops it. It misses nothing: after
   * a reconnect it calls back with null ("look again").
   */
  listen(onThread: (threadId: string | null) => void): Promise<() => Promise<void>>;
  /** throws a `UserError` if a pooler in front of the database does not let through what this needs */
  checkPooler(): Promise<void>;
  /** of the pool, now; `waiting`: queries that wait for one */
  connections(): { used: number; idle: number; waiting: number };
  close(): Promise<void>;
}

/** An expected row is missing: it was deleted, or the database was restored to an earlier time. */
export class NoThread extends Error {
  constructor(id: string) {
    super(`Thread not found: ${id}`);
    this.name = 'NoThread';
  }
}

/** PostgreSQL's code for a row that names a missing row */
const FOREIGN_KEY = '23503';

/** A retry cannot help, because the statement needs something that is gone. */
export const isGone = (error: unknown): boolean =>
  error instanceof NoThread ||
  error instanceof NoResultError ||
  (error as { code?: string } | null)?.code === FOREIGN_KEY;

/** PostgreSQL majors that the queries were run against. */
const SUPPORTED_POSTGRES = { min: 14, max: 18 } as const;
export const EVENTS_CHANNEL = 'fetch_events';

/** A value for a column of jsonb. */
export const json = storableJson;

/**
 * How long the database lets our connections block. A transaction whose process hangs must not hold a chat for ever,
 * and a statement whose client is gone must not hold the disk. Longer work sets its own limit in its transaction.
 */
const TIME_LIMITS = { statement_timeout: 30_000, lock_timeout: 10_000, idle_in_transaction_session_timeout: 15_000 };

/** In front of the limits that the role may have for a pooler. */
const NO_LIMITS = Object.keys(TIME_LIMITS)
  .map((name) => `-c ${name}=0`)
  .join(' ');

export interface StoreOptions {
  /** connections of the pool */
  max?: number;
  application?: string;
  /** false: the schema is as it should be */
  migrate?: boolean;
  /** the same database without the pooler that `url` leads to */
  direct?: string | undefined;
  /** false: no statement is prepared, for a pooler that gives each transaction another connection */
  prepare?: boolean;
}

export async function openStore(url: string, options: StoreOptions = {}): Promise<Store> {
  const { direct, prepare = true } = options;
  if (options.migrate !== false) await migrated(direct ?? url);
  const pool = new pg.Pool({
    pipeline: true,
    connectionString: url,
    max: options.max ?? 10,
    application_name: options.application ?? 'fetch',
    connectionTimeoutMillis: 10_000,
    // only probes detect a server whose machine has gone
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    // a pooler refuses them; `checkPooler` then sees that the server has them
    ...(direct === undefined && TIME_LIMITS),
  });
  // an idle connection that dies with its server must not end the process; the pool replaces it
  pool.on('error', () => {});
  // nor must one in use, between two queries of a transaction, when the pool does not listen; its next query rejects
  pool.on('connect', (client) => client.on('error', () => {}));
  const driver = new PooledDriver(pool, prepare ? new PreparedStatements() : null);
  const db: Db = new Kysely<Database>({ dialect: postgresOver(driver) });
  keepDriver(db, driver);
  try {
    await checkVersion(db);
  } catch (error) {
    await db.destroy();
    throw ofPooler(error, url);
  }
  return {
    db,
    listen: (onThread) => listen(direct ?? url, onThread),
    checkPooler: () => checkPooler(pool, url, { direct, prepare }),
    connections: () => ({ used: pool.totalCount - pool.idleCount, idle: pool.idleCount, waiting: pool.waitingCount }),
    close: () => db.destroy(),
  };
}

/** On its own connection: an index over years of messages takes longer than any statement of a turn may. */
async function migrated(url: string): Promise<void> {
  const pool = new pg.Pool({
    connectionString: url,
    max: 2,
    application_name: 'fetch-migrate',
    connectionTimeoutMillis: 10_000,
    options: NO_LIMITS,
  });
  pool.on('error', () => {});
  const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) });
  try {
    await checkVersion(db);
    await migrate(db as unknown as Kysely<never>);
  } finally {
    await db.destroy();
  }
}

async function checkVersion(db: Db): Promise<void> {
  const { rows } = await sql<{ version: string }>`select current_setting('server_version_num') as version`.execute(db);
  const major = Math.floor(Number(rows[0]?.version ?? 0) / 10_000);
  if (major < SUPPORTED_POSTGRES.min || major > SUPPORTED_POSTGRES.max) {
    throw new Error(
      `PostgreSQL ${major} is not supported (need ${SUPPORTED_POSTGRES.min} to ${SUPPORTED_POSTGRES.max}). Point DATABASE_URL at another server, or unset it to use the embedded one.`,
    );
  }
}

async function listen(url: string, onThread: (threadId: string | null) => void): Promise<() => Promise<void>> {
  let stopped = false;
  let client: pg.Client | undefined;
  const connect = async (): Promise<void> => {
    const next = new pg.Client({ connectionString: url, application_name: 'fetch-listen', keepAlive: true });
    next.on('notification', (message) => onThread(message.payload ?? null));
    const again = () => {
      if (client === next && !stopped) {
        client = undefined;
        setTimeout(() => void connect().catch(again), 500).unref();
      }
    };
    client = next;
    next.on('error', again);
    next.on('end', again);
    try {
      await next.connect();
      await next.query(`listen ${EVENTS_CHANNEL}`);
    } catch (error) {
      next.removeAllListeners('end');
      client = undefined;
      if (!stopped) setTimeout(() => void connect().catch(() => {}), 500).unref();
      void next.end().catch(() => {});
      void error;
      return;
    }
    // finds what was committed while nobody listened
    onThread(null);
  };
  await connect();
  return async () => {
    stopped = true;
    await client?.end().catch(() => {});
  };
}

/** For the rejection of a change that a unique index refuses. Throws every other error. */
export function nullIfTaken(error: unknown): null {
  if ((error as { code?: string }).code === '23505') return null;
  throw error;
}

/** What a process keeps in memory for a database: created on first use, and removed with the database. */
export function perDatabase<T>(make: () => T): (db: Db) => T {
  const known = new WeakMap<Db, T>();
  return (db) => {
    const found = known.get(db) ?? make();
    known.set(db, found);
    return found;
  };
}
