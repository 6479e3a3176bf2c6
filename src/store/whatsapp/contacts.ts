import type { Selectable } from 'kysely';
import type { Db, Tx } from '../postgres/database.ts';
import type { WaContactTable } from '../schema/tables/whatsapp.ts';

/** The forms that a person's address has: JIDs without device suffix. */
export interface Forms {
  lid: string | null;
  pn: string | null;
}
export interface Contact extends Forms {
  id: number;
  name: string | null;
  /** address of the first chat of this person */
  chatAddress: string;
  /** the form to reply to */
  replyJid: string;
}

const toContact = (row: Selectable<WaContactTable>): Contact => ({
  id: row.id,
  lid: row.lid,
  pn: row.pn,
  name: row.name,
  chatAddress: row.chat_address,
  replyJid: row.reply_jid,
});

/** The linked account as known now; jid and lid are null before the first pairing. */
export async function ownIdentity(
  db: Db,
  account: string,
): Promise<{ jid: string | null; lid: string | null; number: 'shared' | 'dedicated' | null }> {
  const row = await db
    .selectFrom('wa_accounts')
    .select(['jid', 'lid', 'number_mode'])
    .where('account', '=', account)
    .executeTakeFirst();
  return { jid: row?.jid ?? null, lid: row?.lid ?? null, number: row?.number_mode ?? null };
}

/** The person with one of these addresses, or undefined. */
export async function findContact(db: Db | Tx, account: string, forms: Forms): Promise<Contact | undefined> {
  return (await matching(db, account, forms))[0];
}

/**
 * The person with these addresses, created if needed. Two rows that turn out to be one person are merged: the older one
 * stays, with its chat. A number can move to another person; the chats stay separate. `replyJid`: the form of a direct
 * chat; null for a person from a group.
 */
export async function keepContact(
  db: Db,
  account: string,
  person: Forms & { name: string | null; replyJid: string | null },
): Promise<Contact> {
  return await db.transaction().execute(async (tx) => {
    const forms = await joined(tx, account, person);
    if (!forms) {
      const address = person.lid ?? person.pn ?? person.replyJid;
      if (!address) throw new Error('a contact without any address cannot be kept');
      const row = await tx
        .insertInto('wa_contacts')
        .values({
          account,
          lid: person.lid,
          pn: person.pn,
          name: person.name,
          chat_address: address,
          reply_jid: person.replyJid ?? address,
        })
        .returningAll()
        .executeTakeFirstOrThrow();
      return toContact(row);
    }
    const row = await tx
      .updateTable('wa_contacts')
      .set((e) => ({ reply_jid: person.replyJid ?? e.ref('reply_jid'), ...(person.name && { name: person.name }) }))
      .where('id', '=', forms.id)
      .returningAll()
      .executeTakeFirstOrThrow();
    return toContact(row);
  });
}

/** Records that a LID and a number are one person, when one of the two is known. Strangers are not recorded. */
export async function learnMapping(db: Db, account: string, mapping: { lid: string; pn: string }): Promise<void> {
  await db.transaction().execute((tx) => joined(tx, account, mapping));
}

/**
 * Whether somebody who writes from the number of a person who may write is that person. The first LID with a number
 * holds it, because WhatsApp gives a number to somebody else one day, and never a LID. With another one, the number is
 * disputed: until `releaseNumber` it lets nobody in, and the former person's chat no longer goes to it.
 */
export async function holdsNumber(db: Db, account: string, { lid, pn }: Forms): Promise<boolean> {
  if (!pn) return true;
  const known = () =>
    db
      .selectFrom('wa_number_holders')
      .select(['lid', 'disputed'])
      .where('account', '=', account)
      .where('pn', '=', pn)
      .executeTakeFirst();
  let holder = await known();
  if (!lid) return !holder?.disputed;
  if (!holder) {
    const before = (await matching(db, account, { lid: null, pn })).find((contact) => contact.lid !== null);
    await db
      .insertInto('wa_number_holders')
      .values({ account, pn, lid: before?.lid ?? lid })
      .onConflict((c) => c.doNothing())
      .execute();
    holder = await known();
  }
  const holds = holder?.lid === lid;
  if (holder && holder.disputed === holds) await dispute(db, account, { lid, pn }, !holds);
  return holds;
}

async function dispute(
  db: Db,
  account: string,
  { lid, pn }: { lid: string; pn: string },
  disputed: boolean,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await tx
      .updateTable('wa_number_holders')
      .set({ disputed })
      .where('account', '=', account)
      .where('pn', '=', pn)
      .execute();
    for (const former of await matching(tx, account, { lid: null, pn }))
      if (disputed && former.lid !== lid) await takeNumber(tx, former);
  });
}

/** The next person who writes from this number holds it: the owner says so. `phone`: digits. */
export async function releaseNumber(tx: Tx, phone: string): Promise<void> {
  const pn = `${phone}@s.whatsapp.net`;
  await tx.deleteFrom('wa_number_holders').where('pn', '=', pn).execute();
  await tx.updateTable('wa_contacts').set({ pn: null }).where('pn', '=', pn).where('lid', 'is not', null).execute();
}

/** The number of a contact belongs to somebody else now, so what waits for the contact must not go there. */
async function takeNumber(tx: Tx, former: Contact): Promise<void> {
  await tx
    .updateTable('wa_contacts')
    .set({ pn: null, ...(former.lid && { reply_jid: former.lid }) })
    .where('id', '=', former.id)
    .execute();
}

async function matching(db: Db | Tx, account: string, forms: Forms): Promise<Contact[]> {
  if (!forms.lid && !forms.pn) return [];
  const rows = await db
    .selectFrom('wa_contacts')
    .selectAll()
    .where('account', '=', account)
    .where((e) =>
      e.or([...(forms.lid ? [e('lid', '=', forms.lid)] : []), ...(forms.pn ? [e('pn', '=', forms.pn)] : [])]),
    )
    .orderBy('id')
    .execute();
  return rows.map(toContact);
}

/**
 * Merges the rows of these addresses; undefined when there are none. A known number with another LID than before
 * belongs to another person, who gets nothing of the former one.
 */
async function joined(tx: Tx, account: string, forms: Forms): Promise<Contact | undefined> {
  const [first, second] = await matching(tx, account, forms);
  if (!first) return undefined;
  if (!second && forms.lid && first.lid && first.lid !== forms.lid) {
    await takeNumber(tx, first);
    return undefined;
  }
  const lid = forms.lid ?? first.lid;
  const pn = forms.pn ?? first.pn;
  const set = (id: number, values: Partial<Forms>) =>
    tx.updateTable('wa_contacts').set(values).where('id', '=', id).execute();
  if (!second) {
    if (lid !== first.lid || pn !== first.pn) await set(first.id, { lid, pn });
    return { ...first, lid, pn };
  }
  const byLid = first.lid === forms.lid ? first : second;
  const byPn = byLid === first ? second : first;
  if ((byLid.pn === null || byLid.pn === forms.pn) && (byPn.lid === null || byPn.lid === forms.lid)) {
    await tx.deleteFrom('wa_contacts').where('id', '=', second.id).execute();
    await set(first.id, { lid, pn });
    return { ...first, lid, pn, name: first.name ?? second.name };
  }
  await takeNumber(tx, byPn);
  await set(byLid.id, { pn });
  return { ...byLid, pn };
}

/** Numbers that the owner trusts besides those of TRUSTED_PHONE_NUMBERS, as digits. */
export const trustedPhones = async (db: Db | Tx): Promise<string[]> =>
  (await db.selectFrom('wa_trusted').select('phone').orderBy('phone').execute()).map(({ phone }) => phone);

export async function trustPhone(tx: Tx, phone: string): Promise<void> {
  await tx
    .insertInto('wa_trusted')
    .values({ phone })
    .onConflict((c) => c.doNothing())
    .execute();
}

/** False when it was not trusted. */
export async function distrustPhone(tx: Tx, phone: string): Promise<boolean> {
  return (
    (await tx.deleteFrom('wa_trusted').where('phone', '=', phone).returning('phone').executeTakeFirst()) !== undefined
  );
}
