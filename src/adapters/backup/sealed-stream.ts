import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto';
import { UserError } from '../../contracts/user-error.ts';

/**
 * The encrypted form of a backup. A header, then chunks of at most 1 MiB, each with its own AES-256-GCM tag. The nonce
 * of a chunk is its number and whether it is the last one, so a chunk that was moved, left out or repeated does not
 * open, and neither does a file whose end was cut off. Each file has a key of its own, made from the secret and a
 * random salt, so a nonce is never used twice with one key. The header is authenticated with every chunk.
 */

const MAGIC = Buffer.from('fetch-backup 1\n');
const SALT_BYTES = 32;
const TAG_BYTES = 16;
const LENGTH_BYTES = 4;
const HEADER_BYTES = MAGIC.length + SALT_BYTES;
/** The file is read in chunks of this size. A longer one is refused before memory is taken for it. */
export const CHUNK_BYTES = 1024 * 1024;
/** 64 MiB of memory and some tenths of a second for each guess at a passphrase */
const SCRYPT = { N: 2 ** 16, r: 8, p: 1, maxmem: 128 * 1024 * 1024 };

/**
 * The file was cut, changed, or encrypted with another secret. Which of them, an attacker is not told and we cannot
 * know.
 */
export class BackupUnreadable extends UserError {
  override readonly name = 'BackupUnreadable';
}

const refuse = (what: string): BackupUnreadable => new BackupUnreadable(`This backup cannot be read: ${what}.`);
const DAMAGED = 'it is damaged or incomplete, or the passphrase or key is another one';

const keyOf = (secret: string, salt: Buffer): Buffer => scryptSync(secret.normalize('NFC'), salt, 32, SCRYPT);

function nonceOf(number: number, last: boolean): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUIntBE(number, 2, 6);
  nonce[11] = Number(last);
  return nonce;
}

/** Encrypts. An empty content is one empty last chunk. */
export async function* seal(
  secret: string,
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Buffer> {
  const header = Buffer.concat([MAGIC, randomBytes(SALT_BYTES)]);
  const key = keyOf(secret, header.subarray(MAGIC.length));
  yield header;
  let number = 0;
  const chunk = (body: Buffer, last: boolean): Buffer => {
    const cipher = createCipheriv('aes-256-gcm', key, nonceOf(number++, last)).setAAD(header);
    const sealed = Buffer.concat([cipher.update(body), cipher.final()]);
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32BE(sealed.length);
    return Buffer.concat([length, cipher.getAuthTag(), sealed]);
  };
  const read = byteReader(content);
  // one chunk ahead: only the end of the content shows which chunk is the last
  for (let body = await read(CHUNK_BYTES); ; ) {
    const next = await read(CHUNK_BYTES);
    yield chunk(body, next.length === 0);
    if (next.length === 0) return;
    body = next;
  }
}

/** Decrypts. What it has yielded counts only when it ends without an error: until then the end may be missing. */
export async function* unseal(
  secret: string,
  file: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Buffer> {
  const read = byteReader(file);
  const header = await read(HEADER_BYTES);
  if (!header.subarray(0, MAGIC.length).equals(MAGIC))
    throw refuse('it is no backup of Fetch, or of another version of the format');
  if (header.length < HEADER_BYTES) throw refuse(DAMAGED);
  let head = await read(LENGTH_BYTES + TAG_BYTES);
  if (head.length < LENGTH_BYTES + TAG_BYTES) throw refuse(DAMAGED);
  const key = keyOf(secret, header.subarray(MAGIC.length));
  for (let number = 0; ; number += 1) {
    if (head.length < LENGTH_BYTES + TAG_BYTES) throw refuse(DAMAGED);
    const length = head.readUInt32BE(0);
    if (length > CHUNK_BYTES) throw refuse(DAMAGED);
    const sealed = await read(length);
    if (sealed.length < length) throw refuse(DAMAGED);
    const tag = head.subarray(LENGTH_BYTES);
    head = await read(LENGTH_BYTES + TAG_BYTES);
    const last = head.length === 0;
    yield openChunk(key, header, nonceOf(number, last), tag, sealed);
    if (last) return;
  }
}

function openChunk(key: Buffer, header: Buffer, nonce: Buffer, tag: Buffer, sealed: Buffer): Buffer {
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
      .setAAD(header)
      .setAuthTag(tag);
    return Buffer.concat([decipher.update(sealed), decipher.final()]);
  } catch {
    throw refuse(DAMAGED);
  }
}

/** Reads exactly so many bytes, or fewer at the end. */
function byteReader(source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): (bytes: number) => Promise<Buffer> {
  const parts = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  let kept: Buffer = Buffer.alloc(0);
  return async (bytes) => {
    const taken: Buffer[] = [kept];
    let length = kept.length;
    while (length < bytes) {
      const { value, done } = await parts.next();
      if (done) break;
      taken.push(Buffer.from(value));
      length += value.length;
    }
    const all = Buffer.concat(taken);
    kept = all.subarray(bytes);
    return all.subarray(0, bytes);
  };
}
