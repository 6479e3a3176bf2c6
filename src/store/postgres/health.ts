import { sql } from 'kysely';
import type { Db } from './database.ts';

/** Does the database answer within `ms`? */
export async function ping(db: Db, ms = 2_000): Promise<boolean> {
  const answer = sql`select 1`.execute(db).then(
    () => true,
    () => false,
  );
  const late = new Promise<boolean>((resolve) => setTimeout(resolve, ms, false).unref());
  return await Promise.race([answer, late]);
}

/** Messages of people that were stored since `since`. */
export async function messagesSince(db: Db, since: Date): Promise<number> {
  const row = await db
    .selectFrom('inbox')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('received_at', '>=', since)
    .executeTakeFirstOrThrow();
  return Number(row.count);
}

/** Gave up after a limit of time: a lock that others hold, a statement that took too long, a transaction that stood still */
const HELD_UP = ['55P03', '57014', '25P03'];
const AWAY = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ENOENT', 'ETIMEDOUT', '57P01', '57P02', '57P03', '53300', '08006', '08001', '08003', ...HELD_UP]);

/** The server is down, starting, out of connections or held up: the same request can work in a moment. */
export function isDatabaseAway(error: unknown): boolean {
  const { code, message, errors } = error as { code?: string; message?: string; errors?: unknown[] };
  if (Array.isArray(errors)) return errors.some(isDatabaseAway);
  return AWAY.has(code ?? '') || /connection terminated|timeout exceeded when trying to connect|client has encountered a connection error/i.test(message ?? '');
}

/** The server has no room left to write (SQLSTATE 53100): the same request works once there is room. */
export const isDiskFull = (error: unknown): boolean => (error as { code?: string } | null)?.code === '53100';
