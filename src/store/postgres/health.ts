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

/** A time limit was reached: a lock that others hold, a slow statement, or an idle transaction */
const HELD_UP = ['55P03', '57014', '25P03'];
const AWAY = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOENT',
  'ETIMEDOUT',
  '57P01',
  '57P02',
  '57P03',
  '53300',
  '08006',
  '08001',
  '08003',
  ...HELD_UP,
]);

/** The server is down, starting, out of connections or blocked; the same request may work in a moment. */
export function isDatabaseAway(error: unknown): boolean {
  const { code, message, errors } = error as { code?: string; message?: string; errors?: unknown[] };
  if (Array.isArray(errors)) return errors.some(isDatabaseAway);
  return (
    AWAY.has(code ?? '') ||
    /connection terminated|timeout exceeded when trying to connect|client has encountered a connection error/i.test(
      message ?? '',
    )
  );
}

/** The server's disk is full (SQLSTATE 53100); the same request works once there is space. */
export const isDiskFull = (error: unknown): boolean => (error as { code?: string } | null)?.code === '53100';
