import { sql } from 'kysely';
import type { Db, Tx } from '../postgres/database.ts';
import { type NewReceived, storeReceived } from './inbox.ts';

/** A key of the Signal store; `data` null deletes it. */
export interface KeyChange {
  type: string;
  id: string;
  data: Buffer | null;
}
interface AuthChange {
  keys: KeyChange[];
  /** encrypted credentials with their revision, when they changed */
  creds?: { data: Buffer; rev: number };
  /** messages that were decrypted with this ratchet state */
  received?: NewReceived[];
}

/** Another gateway has the lease: this one may write nothing. */
export class LeaseLost extends Error {
  constructor() {
    super('Another gateway holds the lease of this WhatsApp account.');
    this.name = 'LeaseLost';
  }
}

export const readCreds = async (db: Db, account: string): Promise<{ data: Buffer; rev: number } | null> =>
  (await db.selectFrom('wa_creds').select(['data', 'rev']).where('account', '=', account).executeTakeFirst()) ?? null;

export const readKeys = (
  db: Db,
  account: string,
  type: string,
  ids: readonly string[],
): Promise<Array<{ id: string; data: Buffer }>> =>
  db
    .selectFrom('wa_keys')
    .select(['id', 'data'])
    .where('account', '=', account)
    .where('type', '=', type)
    .where('id', '=', sql<string>`any(${[...ids]}::text[])`)
    .execute();

/**
 * Writes a change completely or not at all, and only for the holder of the lease. The row is locked, so a successor
 * takes over before or after this transaction, never during it. `timeoutMs` limits each statement, and each pause
 * between two: the database ends the transaction of a gateway that hangs or is cut off, because its lock would keep the
 * successor waiting. @throws LeaseLost
 */
export async function writeAuth(
  db: Db,
  account: string,
  change: AuthChange,
  options: { holder: string | null; timeoutMs: number },
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const limit = String(options.timeoutMs);
    // one round trip for all of it, because this runs for every message
    const { rows } = await sql<{
      held: boolean;
    }>`with lease as (select 1 from wa_accounts where account = ${account} and lease_holder = ${options.holder} for share)
      select set_config('statement_timeout', ${limit}, true), set_config('idle_in_transaction_session_timeout', ${limit}, true),
        exists (select 1 from lease) as held`.execute(tx);
    if (options.holder !== null && !rows[0]?.held) throw new LeaseLost();
    if (change.creds) await writeCreds(tx, account, change.creds);
    await writeKeys(tx, account, change.keys);
    if (change.received && change.received.length > 0) await storeReceived(tx, change.received);
  });
}

const writeCreds = (tx: Tx, account: string, { data, rev }: { data: Buffer; rev: number }) =>
  sql`insert into wa_creds (account, data, rev) values (${account}, ${data}, ${rev})
    on conflict (account) do update set data = excluded.data, rev = excluded.rev, updated_at = now() where wa_creds.rev < excluded.rev`.execute(
    tx,
  );

async function writeKeys(tx: Tx, account: string, keys: KeyChange[]): Promise<void> {
  // all writers use one order, so that two transactions cannot deadlock
  const sorted = [...keys].sort((a, b) => (a.type === b.type ? (a.id < b.id ? -1 : 1) : a.type < b.type ? -1 : 1));
  const kept = sorted.filter((key) => key.data !== null);
  const gone = sorted.filter((key) => key.data === null);
  const column = (rows: KeyChange[], name: 'type' | 'id' | 'data') => rows.map((row) => row[name]);
  if (kept.length > 0)
    await sql`insert into wa_keys (account, type, id, data)
      select ${account}, * from unnest(${column(kept, 'type')}::text[], ${column(kept, 'id')}::text[], ${column(kept, 'data')}::bytea[])
      on conflict (account, type, id) do update set data = excluded.data`.execute(tx);
  if (gone.length > 0)
    await sql`delete from wa_keys using unnest(${column(gone, 'type')}::text[], ${column(gone, 'id')}::text[]) as gone (type, id)
      where wa_keys.account = ${account} and wa_keys.type = gone.type and wa_keys.id = gone.id`.execute(tx);
}

/** Name of stored credentials after a logout. The ciphertext stays bound to the account's own name. */
const archived = (account: string): string => `${account}~archived`;

/** Puts credentials and keys aside, replacing earlier ones there. The next pairing begins with new ones. */
export async function archiveAuth(db: Db, account: string): Promise<void> {
  const to = archived(account);
  await db.transaction().execute(async (tx) => {
    for (const table of ['wa_creds', 'wa_keys'] as const) {
      await tx.deleteFrom(table).where('account', '=', to).execute();
      await tx.updateTable(table).set({ account: to }).where('account', '=', account).execute();
    }
  });
}
