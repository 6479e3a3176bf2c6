import { createHash, createSecretKey, type KeyObject } from 'node:crypto';

/** A key of AES-256-GCM. Its id is stored with what it encrypts, and says nothing about it. */
export interface PayloadKey {
  id: string;
  /** a key object: a cipher of bytes takes Node five times as long */
  secret: KeyObject;
}

/** The keys of this process. */
export interface PayloadKeys {
  /** null: new payloads stay readable for everybody who reaches the Temporal server */
  encrypts: PayloadKey | null;
  /** all that decrypt, by id */
  known: ReadonlyMap<string, PayloadKey>;
}

export const NO_PAYLOAD_KEYS: PayloadKeys = { encrypts: null, known: new Map() };
/** The value of FETCH_PAYLOAD_KEYS that encrypts nothing more. */
const PLAIN = 'off';

/** @param hex 64 hex digits */
export function payloadKey(hex: string): PayloadKey {
  const secret = Buffer.from(hex, 'hex');
  if (secret.length !== 32) throw new Error('A payload key must be 64 hex digits.');
  const id = createHash('sha256').update('payload key ').update(secret).digest('hex').slice(0, 12);
  return { id, secret: createSecretKey(secret) };
}

/**
 * @param setting FETCH_PAYLOAD_KEYS: keys, newest first, or `off`
 * @param kept the keys of the home, newest first: they count after those of the setting, so that what they have
 * encrypted stays readable
 */
export function payloadKeys(setting: string | undefined, kept: readonly string[] = []): PayloadKeys {
  const set = setting === undefined || setting === PLAIN ? [] : setting.split(',').map((each) => each.trim());
  const keys = [...set, ...kept].map(payloadKey);
  return { encrypts: setting === PLAIN ? null : (keys[0] ?? null), known: new Map(keys.map((key) => [key.id, key])) };
}
