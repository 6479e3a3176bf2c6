import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { UserError } from '../../contracts/user-error.ts';

/** PostgreSQL's codes for a prepared statement that the connection does not have, or has already */
const UNKNOWN_STATEMENT = '26000';
const KNOWN_STATEMENT = '42P05';
/** PgBouncer's for a startup parameter that it does not pass on */
const PROTOCOL_VIOLATION = '08P01';
const CONNECT_MS = 10_000;
/** A notification takes milliseconds; on a machine that is busy beyond measure, seconds. */
const NOTIFIED_MS = 10_000;

const host = (url: string): string => new URL(url).host;

/** An error of a first connection, in the words of the settings if a pooler gave it. */
export const ofPooler = (error: unknown, url: string): unknown =>
  (error as { code?: string }).code === PROTOCOL_VIOLATION && (error as Error).message.includes('startup parameter')
    ? new UserError(
        `A pooler answers at ${host(url)} (DATABASE_URL). Set DATABASE_DIRECT_URL to the address of its PostgreSQL server.`,
        { cause: error },
      )
    : error;

/**
 * Tries what a pooler in transaction mode may not let through: notifications, which readers of events wait for,
 * prepared statements, and the limits of time.
 * `direct`: the address without a pooler, where it is another one.
 */
export async function checkPooler(
  pool: pg.Pool,
  url: string,
  { direct, prepare }: { direct: string | undefined; prepare: boolean },
): Promise<void> {
  await checkNotifications(pool, url, direct);
  if (direct === undefined) return;
  await checkLimits(pool, url);
  if (prepare) await checkStatements(pool, url);
}

async function checkNotifications(pool: pg.Pool, url: string, direct: string | undefined): Promise<void> {
  const channel = `fetch_probe_${randomUUID().replaceAll('-', '')}`;
  const listener = new pg.Client({
    connectionString: direct ?? url,
    application_name: 'fetch-probe',
    connectionTimeoutMillis: CONNECT_MS,
  });
  const arrived = Promise.withResolvers<boolean>();
  listener.on('notification', () => arrived.resolve(true));
  // it ends with the answer that is waited for
  listener.on('error', () => {});
  let late: NodeJS.Timeout | undefined;
  try {
    await listener.connect();
    await listener.query(`listen ${channel}`);
    await pool.query(`notify ${channel}`);
    late = setTimeout(() => arrived.resolve(false), NOTIFIED_MS);
    if (await arrived.promise) return;
  } finally {
    clearTimeout(late);
    await listener.end().catch(() => {});
  }
  throw new UserError(
    direct === undefined
      ? `No notification arrives through ${host(url)} (DATABASE_URL), probably a pooler. Set DATABASE_DIRECT_URL to the address of its PostgreSQL server.`
      : `What is notified at ${host(url)} (DATABASE_URL) does not arrive at ${host(direct)} (DATABASE_DIRECT_URL). Both must lead to the same database, and DATABASE_DIRECT_URL to no pooler.`,
  );
}

/**
 * Through a pooler they cannot be set for each connection, and without them a process that hangs holds a chat for ever.
 */
async function checkLimits(pool: pg.Pool, url: string): Promise<void> {
  const { rows } = await pool.query<{ name: string; role: string; base: string }>(
    `select name, current_user as role, current_database() as base from pg_settings
      where name in ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout') and setting = '0' order by name`,
  );
  const [first] = rows;
  if (!first) return;
  const commands = rows.map(
    ({ name }) =>
      `alter role "${first.role}" in database "${first.base}" set ${name} = '${name === 'lock_timeout' ? '10s' : '30s'}';`,
  );
  throw new UserError(
    `Connections through ${host(url)} (DATABASE_URL) have no limit of time. Run this on the PostgreSQL server, and reconnect the pooler: ${commands.join(' ')}`,
  );
}

/**
 * The second connection takes the one to the server that the statement was prepared on, so the pooler gives the first
 * one another.
 */
async function checkStatements(pool: pg.Pool, url: string): Promise<void> {
  const [one, other] = [await pool.connect(), await pool.connect()];
  const named = { name: 'fetch_probe', text: 'select $1::int as probe', values: [1] };
  let broken = true;
  try {
    await one.query(named);
    await other.query('begin');
    await one.query(named);
    await other.query('rollback');
    broken = false;
  } catch (error) {
    const { code } = error as { code?: string };
    if (code !== UNKNOWN_STATEMENT && code !== KNOWN_STATEMENT) throw error;
    throw new UserError(
      `The pooler at ${host(url)} (DATABASE_URL) keeps no prepared statements. Set FETCH_PREPARE_STATEMENTS=false.`,
      { cause: error },
    );
  } finally {
    for (const client of [one, other]) client.release(broken);
  }
}
