import { type Selectable, sql } from 'kysely';
import type { Told } from '../../domain/texts/say.ts';
import { sayTo } from '../chats/preferences.ts';
import type { Db } from '../postgres/database.ts';
import type { WaAccountTable, WhatsAppState } from '../schema/tables/whatsapp.ts';
import { recordNotice } from '../turns/complete-turn.ts';
import { type Queued, tellScreens } from '../turns/notices.ts';

export type WaAccount = Selectable<WaAccountTable>;

/** What the gateway reports about its connection; unset fields stay as they are. */
export interface AccountNews {
  state?: WhatsAppState;
  qr?: string | null;
  pairing_code?: string | null;
  last_error?: string | null;
  last_code?: number | null;
  needs?: string | null;
  blocked_until?: Date | null;
  jid?: string | null;
  lid?: string | null;
  name?: string | null;
  number_mode?: 'shared' | 'dedicated' | null;
  version?: string | null;
  connected_at?: Date | null;
}

/** What a person wants of the account. */
interface Wish {
  wanted: 'off' | 'on' | 'out';
  /** digits to pair with by code; null for a QR */
  pairPhone?: string | null;
  numberMode?: 'shared' | 'dedicated';
}

/** The row of an account, or null when nobody ever wanted it. */
export const readAccount = async (db: Db, account: string): Promise<WaAccount | null> =>
  (await db.selectFrom('wa_accounts').selectAll().where('account', '=', account).executeTakeFirst()) ?? null;

/** A person who makes a request has seen why sending was paused. */
const RESUMED = { sends_paused_until: null, sends_paused_why: null };

/** Records a request. The gateway looks every second and acts once for each. */
export async function wish(db: Db, account: string, { wanted, pairPhone, numberMode }: Wish): Promise<void> {
  const fields = {
    wanted,
    // a person who asks again has done what was needed, or wants to check
    needs: null,
    blocked_until: null,
    ...(pairPhone !== undefined && { pair_phone: pairPhone }),
    ...(numberMode && { number_mode: numberMode }),
  };
  await db.deleteFrom('wa_chat_pauses').where('account', '=', account).execute();
  await db
    .insertInto('wa_accounts')
    .values({ account, state: 'disconnected', request: 1, ...fields })
    .onConflict((c) =>
      c.column('account').doUpdateSet((e) => ({
        ...fields,
        ...RESUMED,
        request: e('wa_accounts.request', '+', 1),
        updated_at: new Date(),
      })),
    )
    .execute();
}

/** Stores what the gateway found out. A newer request is left alone. */
export async function report(db: Db, account: string, news: AccountNews): Promise<void> {
  await db
    .updateTable('wa_accounts')
    .set({ ...news, updated_at: new Date() })
    .where('account', '=', account)
    .execute();
}

/** Removes a request that is done or failed (a logout, a QR that nobody scanned), unless a newer one came. */
export async function dropWish(db: Db, account: string, request: number): Promise<void> {
  await db
    .updateTable('wa_accounts')
    .set({ wanted: 'off', pair_phone: null })
    .where('account', '=', account)
    .where('request', '=', request)
    .execute();
}

/** The phone itself was active; written at most every ten minutes. */
export async function phoneSeen(db: Db, account: string, at: Date): Promise<void> {
  await db
    .updateTable('wa_accounts')
    .set({ phone_seen_at: at })
    .where('account', '=', account)
    .where((e) => e.or([e('phone_seen_at', 'is', null), e('phone_seen_at', '<', new Date(at.getTime() - 600_000))]))
    .execute();
}

/**
 * Takes or renews the lease; false while another holder has it. `forceFrom`: a holder that is known to be dead. Times
 * are the database's.
 */
export async function holdLease(
  db: Db,
  account: string,
  holder: string,
  ttlMs: number,
  forceFrom: string | null = null,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('wa_accounts')
    .set({ lease_holder: holder, lease_until: sql<Date>`now() + ${ttlMs} * interval '1 millisecond'` })
    .where('account', '=', account)
    .where((e) =>
      e.or([
        e('lease_holder', 'is', null),
        e('lease_holder', '=', holder),
        e('lease_until', '<', sql<Date>`now()`),
        e('lease_holder', '=', forceFrom ?? holder),
      ]),
    )
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Gives the lease back, so that the next holder need not wait until it ends. */
export async function dropLease(db: Db, account: string, holder: string): Promise<void> {
  await db
    .updateTable('wa_accounts')
    .set({ lease_holder: null, lease_until: null })
    .where('account', '=', account)
    .where('lease_holder', '=', holder)
    .execute();
}

/** The lease of an account, as the gateway holds it. */
export const leaseOfAccount = (db: Db, account: string) => ({
  hold: (holder: string, ttlMs: number, forceFrom?: string) => holdLease(db, account, holder, ttlMs, forceFrom),
  drop: (holder: string) => dropLease(db, account, holder),
  holder: async () => (await readAccount(db, account))?.lease_holder ?? null,
});

/** Says something about the account on the other channels, once for a `key`. */
export const tellElsewhere = (db: Db, account: string, key: string, text: Told, needsPerson: boolean): Promise<void> =>
  tellScreens(db, `whatsapp-${account}-${key}`, text, needsPerson);

/**
 * Says something about the installation to its owner, once for each `key`: on the screens, and in the owner's WhatsApp
 * chat if there is one, whose message is returned. `phone`: digits of the owner, where the account has a number of its own.
 */
export async function tellOwner(
  db: Db,
  key: string,
  text: Told,
  phone: string | null,
  unheard = false,
): Promise<Queued[]> {
  await tellScreens(db, key, text, true, unheard);
  const queued = (await ownersChats(db, phone)).map((chatId) => ({ chatId, outboxId: `out_${key}-${chatId}` }));
  // the gateway finds it, and sends it when WhatsApp is connected
  for (const row of queued) {
    const said = text(await sayTo(db, row.chatId));
    await recordNotice(db, { ...row, text: said, kind: 'notice', unheard });
  }
  return queued;
}

/** The chat with oneself of a shared number, else the chat of the owner with the number of Fetch. */
async function ownersChats(db: Db, phone: string | null): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    with own as (
      select regexp_replace(each, ':[0-9]+@', '@') as jid from wa_accounts, unnest(array[jid, lid]) each
        where wanted <> 'off' and number_mode is distinct from 'dedicated' and each is not null
      union select ${phone}::text || '@s.whatsapp.net' where ${phone}::text is not null)
    select chats.id from chats where channel = 'whatsapp' and (address in (select jid from own)
      or address in (select chat_address from wa_contacts where pn in (select jid from own) or lid in (select jid from own)))
    order by chats.last_activity_at desc limit 1`.execute(db);
  return rows.map(({ id }) => id);
}
