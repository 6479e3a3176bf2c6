import { createHash, createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { Logger } from 'pino';
import { issueReceipts } from '../../../store/home/receipts.ts';
import type { Db } from '../../../store/postgres/database.ts';
import { HomeError, keepSecret } from './home.ts';

/** The key that signs receipts: Ed25519 in a file of the home (0600), as PKCS #8 in base64. Backups have it. */
const FILE = 'receipt-key';

/** Makes it when the home has none yet. */
export function receiptKey(home: string): KeyObject {
  const kept = keepSecret(home, FILE, () =>
    generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64'),
  );
  try {
    return createPrivateKey({ key: Buffer.from(kept, 'base64'), type: 'pkcs8', format: 'der' });
  } catch {
    throw new HomeError(`${home}/${FILE} is damaged. Restore it from a backup: it signs receipts.`);
  }
}

/** By which people know a public key: SHA-256 of it in hex. */
export const fingerprintOf = (publicKey: string): string =>
  createHash('sha256').update(Buffer.from(publicKey, 'base64')).digest('hex');

/** How long something may have ended before it has a receipt. */
const ISSUED_WITHIN_MS = 2_000;

/** Issues receipts while this process runs. Several processes do not disturb each other. Returns a function that ends it. */
export function keepReceipts(db: Db, home: string, log?: Pick<Logger, 'warn'>): () => void {
  const key = receiptKey(home);
  let ended = false;
  let unknown = '';
  let timer: NodeJS.Timeout | undefined;
  const issue = async () => {
    try {
      while (!ended && (await issueReceipts(db, key)) > 0);
      unknown = '';
    } catch (error) {
      const { message } = error as Error;
      if (message !== unknown && !ended) log?.warn({ error: message }, 'receipts could not be issued');
      unknown = message;
    }
    if (!ended) timer = setTimeout(issue, ISSUED_WITHIN_MS).unref();
  };
  void issue();
  return () => {
    ended = true;
    clearTimeout(timer);
  };
}
