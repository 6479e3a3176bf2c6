import { type Selectable, sql } from 'kysely';
import { type Db, json } from '../postgres/database.ts';
import type { BrowserLoginTable } from '../schema/tables/kennel.ts';

/** Log-ins of the browser of a chat. No chat sees those of another one. */

export type BrowserLogin = Selectable<BrowserLoginTable>;

/** More of them in one chat are not stored. */
const MOST_LOGINS = 20;

export const browserLogins = (db: Db, chatId: string): Promise<BrowserLogin[]> =>
  db.selectFrom('browser_logins').selectAll().where('chat_id', '=', chatId).orderBy('name').execute();

/** Replaces an earlier one of this name. Whether there was room for it. */
export async function saveBrowserLogin(db: Db, login: Omit<BrowserLogin, 'saved_at'>): Promise<boolean> {
  return await db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(hashtextextended(${`browser logins ${login.chat_id}`}, 0))`.execute(tx);
    const others = await tx
      .selectFrom('browser_logins')
      .select('name')
      .where('chat_id', '=', login.chat_id)
      .where('name', '!=', login.name)
      .execute();
    if (others.length >= MOST_LOGINS) return false;
    const row = { ...login, hosts: json(login.hosts), saved_at: new Date() };
    await tx
      .insertInto('browser_logins')
      .values(row)
      .onConflict((c) => c.columns(['chat_id', 'name']).doUpdateSet(row))
      .execute();
    return true;
  });
}

/** Whether there was one. */
export const dropBrowserLogin = async (db: Db, chatId: string, name: string): Promise<boolean> =>
  (await db.deleteFrom('browser_logins').where('chat_id', '=', chatId).where('name', '=', name).executeTakeFirst())
    .numDeletedRows > 0n;
