import { createCipheriv, createDecipheriv, createSecretKey, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config.ts';

const FORMAT = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = 1 + NONCE_BYTES + TAG_BYTES;

/** This was encrypted with another key than the one of this process. */
export class WrongKey extends Error {
  constructor() {
    super(
      'This was encrypted with another key than FETCH_ENCRYPTION_KEY, or FETCH_HOME/encryption-key, of this process.',
    );
    this.name = 'WrongKey';
  }
}

/** Encrypts and decrypts values with AES-256-GCM. Each is bound to where it is stored, so rows cannot be exchanged. */
export interface Sealer {
  seal(place: string, text: string): Buffer;
  /** @throws WrongKey */
  open(place: string, data: Buffer): string;
}

/** @param key 64 hex digits */
export function createSealer(key: string): Sealer {
  const bytes = Buffer.from(key, 'hex');
  if (bytes.length !== 32) throw new Error('The encryption key must be 64 hex digits.');
  const secret = createSecretKey(bytes);
  return {
    seal(place, text) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', secret, nonce).setAAD(Buffer.from(place));
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([Buffer.of(FORMAT), nonce, cipher.getAuthTag(), body]);
    },
    open(place, data) {
      if (data[0] !== FORMAT || data.length < HEAD_BYTES) throw new WrongKey();
      try {
        const decipher = createDecipheriv('aes-256-gcm', secret, data.subarray(1, 1 + NONCE_BYTES))
          .setAAD(Buffer.from(place))
          .setAuthTag(data.subarray(1 + NONCE_BYTES, HEAD_BYTES));
        return Buffer.concat([decipher.update(data.subarray(HEAD_BYTES)), decipher.final()]).toString('utf8');
      } catch {
        throw new WrongKey();
      }
    },
  };
}

export type KeyPlace = Pick<Config, 'FETCH_HOME' | 'FETCH_ENCRYPTION_KEY'>;

/** With the key of a home. Throws where it has none. */
export const sealerOf = ({ FETCH_HOME, FETCH_ENCRYPTION_KEY }: KeyPlace): Sealer =>
  createSealer(FETCH_ENCRYPTION_KEY ?? readFileSync(join(FETCH_HOME, 'encryption-key'), 'utf8').trim());
