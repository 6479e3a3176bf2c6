import { sql } from 'kysely';
import type { Db } from '../postgres/database.ts';

/** Who serves a kennel host's name, and until when: one process at a time, of one home. Times are the database's own. */
export interface HostClaim {
  host: string;
  /** of the home that the host's containers and run folders lie in; a restart keeps it */
  identity: string;
  /** the process */
  holder: string;
  ttlMs: number;
}

/**
 * Takes the lease of a host's name or renews it; false while another process has it, or another home has tasks under this name that are
 * not over. `dead`: a holder that is known to be gone.
 */
export async function holdHost(db: Db, { host, identity, holder, ttlMs }: HostClaim, dead: string | null = null): Promise<boolean> {
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

/** Gives the lease back, so that the next process need not wait for its end. */
export async function releaseHost(db: Db, { host, holder }: Pick<HostClaim, 'host' | 'holder'>): Promise<void> {
  await db.updateTable('kennel_hosts').set({ holder: null, lease_until: null }).where('host', '=', host).where('holder', '=', holder).execute();
}

export interface HostHolder {
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
