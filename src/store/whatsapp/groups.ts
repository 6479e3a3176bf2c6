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
