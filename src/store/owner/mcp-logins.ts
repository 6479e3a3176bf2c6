import { type Selectable, sql } from 'kysely';
import type { Db } from '../postgres/database.ts';
import type { McpLoginTable } from '../schema/tables/owner.ts';

/** Logins at MCP servers. All processes share them, because a renewal may end the token that another process holds. */

export type LoginRow = Selectable<McpLoginTable>;
export type NewLogin = Pick<LoginRow, 'server' | 'url' | 'issuer' | 'sealed' | 'expires_at' | 'renewable'>;

export const listLogins = (db: Db): Promise<LoginRow[]> =>
  db.selectFrom('mcp_logins').selectAll().orderBy('server').execute();

export const findLogin = (db: Db, server: string): Promise<LoginRow | undefined> =>
  db.selectFrom('mcp_logins').selectAll().where('server', '=', server).executeTakeFirst();

/** Replaces an earlier login at this server. */
export async function storeLogin(db: Db, login: NewLogin): Promise<void> {
  const now = new Date();
  const row = { ...login, refused: null, logged_in_at: now, renewed_at: now };
  await db
    .insertInto('mcp_logins')
    .values(row)
    .onConflict((c) => c.column('server').doUpdateSet(row))
    .execute();
}

export async function removeLogin(db: Db, server: string): Promise<LoginRow | undefined> {
  return await db.deleteFrom('mcp_logins').where('server', '=', server).returningAll().executeTakeFirst();
}

export type LoginChange = Partial<Pick<LoginRow, 'sealed' | 'expires_at' | 'renewable' | 'refused'>>;

/** Longer than a renewal takes. */
const LOCK = '25s';

/**
 * Lets one process at a time change a login: a token that renews may be used once. `change` gets null when there is no
 * login, and returns what is new, or null. A process that is killed meanwhile lets go with its connection.
 */
export async function changeLogin(
  db: Db,
  server: string,
  change: (now: LoginRow | null) => Promise<LoginChange | null>,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await sql`select set_config('lock_timeout', ${LOCK}, true), set_config('idle_in_transaction_session_timeout', ${LOCK}, true)`.execute(
      tx,
    );
    const row = await tx
      .selectFrom('mcp_logins')
      .selectAll()
      .where('server', '=', server)
      .forUpdate()
      .executeTakeFirst();
    const changed = await change(row ?? null);
    if (!changed) return;
    await tx
      .updateTable('mcp_logins')
      .set({ ...changed, ...(changed.sealed && { renewed_at: new Date() }) })
      .where('server', '=', server)
      .execute();
  });
}
