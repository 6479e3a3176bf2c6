import { sql } from 'kysely';
import { type Db, json } from '../postgres/database.ts';
import type { GroupRecord } from '../schema/tables/whatsapp.ts';

export interface StoredGroup {
  metadata: GroupRecord;
  fetchedAt: Date;
}

export async function findGroup(db: Db, account: string, jid: string): Promise<StoredGroup | null> {
  const row = await db
    .selectFrom('wa_groups')
    .select(['metadata', 'fetched_at'])
    .where('account', '=', account)
    .where('jid', '=', jid)
    .executeTakeFirst();
  return row ? { metadata: row.metadata, fetchedAt: row.fetched_at } : null;
}

export async function saveGroups(
  db: Db,
  account: string,
  groups: readonly GroupRecord[],
  fetchedAt: Date,
): Promise<void> {
  if (groups.length === 0) return;
  await db
    .insertInto('wa_groups')
    .values(groups.map((group) => ({ account, jid: group.id, metadata: json(group), fetched_at: fetchedAt })))
    .onConflict((c) =>
      c
        .columns(['account', 'jid'])
        .doUpdateSet((e) => ({ metadata: e.ref('excluded.metadata'), fetched_at: e.ref('excluded.fetched_at') })),
    )
    .execute();
}

/** The stored data of a group are outdated, and are fetched before the next send. */
export async function outdateGroup(db: Db, account: string, jid: string): Promise<void> {
  await db
    .updateTable('wa_groups')
    .set({ fetched_at: new Date(0) })
    .where('account', '=', account)
    .where('jid', '=', jid)
    .execute();
}

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
