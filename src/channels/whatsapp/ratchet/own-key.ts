import type { Db } from '../../../store/postgres/database.ts';
import { readCreds } from '../../../store/whatsapp/auth.ts';
import { placeOf, type Sealer, WrongKey } from './encryption.ts';

/**
 * False when this gateway's key does not open the stored credentials: without the key of the machine that linked WhatsApp, a machine creates its own, and could
 * never take over. True while nothing is stored.
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
