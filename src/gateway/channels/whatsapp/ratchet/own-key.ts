import { type Sealer, WrongKey } from '../../../../adapters/encryption.ts';
import type { Db } from '../../../../store/postgres/database.ts';
import { readCreds } from '../../../../store/whatsapp/auth.ts';

/** Where a value is stored; its ciphertext is bound to that. */
export const placeOf = (account: string, key: string): string => `${account}/${key}`;

/** The message when the key of this gateway cannot read the stored credentials. */
export const OTHER_KEY =
  'The stored WhatsApp credentials were written with another encryption key than the one of this gateway. Copy the file encryption-key from the FETCH_HOME of the machine that linked WhatsApp, ' +
  'or set the same FETCH_ENCRYPTION_KEY on every machine, and start this gateway again. Where that key is lost, log WhatsApp out and pair it again.';

/**
 * False when this gateway's key does not open the stored credentials: without the key of the machine that linked
 * WhatsApp, a machine creates its own, and could never take over. True while nothing is stored.
 */
export async function opensCredentials(db: Db, account: string, sealer: Sealer): Promise<boolean> {
  const stored = await readCreds(db, account);
  if (!stored) return true;
  try {
    sealer.open(placeOf(account, 'creds'), stored.data);
    return true;
  } catch (error) {
    if (error instanceof WrongKey) return false;
    throw error;
  }
}
