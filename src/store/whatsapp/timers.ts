import { sql } from 'kysely';
import type { Db } from '../postgres/database.ts';

/** After how many seconds the messages of a chat disappear; 0: never. */
interface Timer {
  seconds: number;
  since: Date;
}

/** Notes the timer of a chat, by the chat's address. An older one never replaces a newer one. */
export async function learnTimer(db: Db, account: string, address: string, timer: Timer): Promise<void> {
  await db
    .insertInto('wa_timers')
    .values({ account, address, ...timer })
    .onConflict((c) =>
      c.columns(['account', 'address']).doUpdateSet(timer).where(sql<boolean>`excluded.since >= wa_timers.since`),
    )
    .execute();
}

/**
 * After how many seconds a message to this chat disappears; null when nothing is known. Of a group, WhatsApp says it
 * with the members, too: what is newer holds.
 */
export async function timerOf(db: Db, account: string, address: string): Promise<number | null> {
  const { rows } = await sql<{ seconds: number }>`
    select seconds from (
      select seconds, since from wa_timers where account = ${account} and address = ${address}
      union all
      select coalesce((metadata ->> 'ephemeralDuration')::int, 0), fetched_at from wa_groups
      where account = ${account} and jid = ${address}) as known
    order by since desc limit 1`.execute(db);
  return rows[0]?.seconds ?? null;
}
