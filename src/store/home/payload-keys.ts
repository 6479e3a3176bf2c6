import type { Selectable } from 'kysely';
import type { Db } from '../postgres/database.ts';
import type { PayloadKeyTable } from '../schema/tables/home.ts';

/**
 * The ids of keys that have encrypted payloads in Temporal: a role without the newest one would stop every workflow
 * that it touches.
 */

/** Latest first. */
export const usedPayloadKeys = (db: Db): Promise<Array<Selectable<PayloadKeyTable>>> =>
  db.selectFrom('payload_keys').selectAll().orderBy('used_at', 'desc').orderBy('id').execute();

export async function notePayloadKey(db: Db, id: string): Promise<void> {
  const used_at = new Date();
  await db
    .insertInto('payload_keys')
    .values({ id, used_at })
    .onConflict((c) => c.column('id').doUpdateSet({ used_at }))
    .execute();
}

/** One of them, or all. False when there is none. */
export async function forgetPayloadKeys(db: Db, id?: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('payload_keys')
    .$if(id !== undefined, (each) => each.where('id', '=', id!))
    .executeTakeFirst();
  return numDeletedRows > 0n;
}
