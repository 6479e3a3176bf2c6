import { sql } from 'kysely';
import type { Db, Tx } from '../../postgres/database.ts';
import type { ImportKind } from '../../schema/tables/imports.ts';
import { trustPhone } from '../../whatsapp/trusted.ts';

/** The record of what was taken over. */

/** Empty in the database of an older release, which has no record. */
export async function importedKeys(db: Db, kind: ImportKind): Promise<Set<string>> {
  const { rows } = await sql<{ there: boolean }>`select to_regclass('imports') is not null as there`.execute(db);
  if (!rows[0]?.there) return new Set();
  return new Set(
    (await db.selectFrom('imports').select('key').where('kind', '=', kind).execute()).map(({ key }) => key),
  );
}

/** Records that this is taken over. True for the first caller. */
export async function claimImport(tx: Db | Tx, kind: ImportKind, key: string): Promise<boolean> {
  const row = await tx
    .insertInto('imports')
    .values({ kind, key })
    .onConflict((c) => c.doNothing())
    .returning('key')
    .executeTakeFirst();
  return row !== undefined;
}

/** Trusts a number, once: one that is distrusted later stays so. */
export const importTrusted = (db: Db, phone: string): Promise<void> =>
  db.transaction().execute(async (tx) => {
    if (await claimImport(tx, 'trusted number', phone)) await trustPhone(tx, phone);
  });
