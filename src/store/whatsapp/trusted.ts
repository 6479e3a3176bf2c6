import type { Db, Tx } from '../postgres/database.ts';

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
