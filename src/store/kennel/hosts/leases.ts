import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/**
 * Which process serves a kennel host's name, and until when: one process of one home at a time. Times are the
 * database's.
 */
export interface HostClaim {
  host: string;
  /** id of the home with the host's containers and run folders; a restart keeps it */
  identity: string;
  /** the process */
  holder: string;
  ttlMs: number;
}

/**
 * Takes or renews the lease of a host's name. False while another process has it, or another home has unfinished tasks
 * under this name. `dead`: a holder that is known to be gone.
 */
export async function holdHost(
  db: Db,
  { host, identity, holder, ttlMs }: HostClaim,
  dead: string | null = null,
): Promise<boolean> {
  const { rows } = await sql`
    insert into kennel_hosts as own (host, slots, ready, identity, holder, lease_until, seen_at)
    values (${host}, 0, false, ${identity}, ${holder}, now() + ${ttlMs} * interval '1 millisecond', now())
    on conflict (host) do update set identity = excluded.identity, holder = excluded.holder, lease_until = excluded.lease_until, seen_at = excluded.seen_at
    where own.holder = excluded.holder or (
      (own.holder is null or own.lease_until < now() or own.holder = ${dead}::text)
      and (own.identity is null or own.identity = excluded.identity
        or not exists (select 1 from tasks where tasks.host = own.host and tasks.ended_at is null)))
    returning own.host`.execute(db);
  return rows.length > 0;
}

/** Gives the lease back, so that the next process need not wait until it ends. */
export async function releaseHost(db: Db, { host, holder }: Pick<HostClaim, 'host' | 'holder'>): Promise<void> {
  await db
    .updateTable('kennel_hosts')
    .set({ holder: null, lease_until: null })
    .where('host', '=', host)
    .where('holder', '=', holder)
    .execute();
}

interface HostHolder {
  identity: string | null;
  holder: string | null;
  /** the lease has not ended */
  live: boolean;
}

export const hostHolder = (db: Db, host: string): Promise<HostHolder | undefined> =>
  db
    .selectFrom('kennel_hosts')
    .select(['identity', 'holder', sql<boolean>`coalesce(lease_until > now(), false)`.as('live')])
    .where('host', '=', host)
    .executeTakeFirst();
