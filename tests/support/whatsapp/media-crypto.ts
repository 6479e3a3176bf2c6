import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { proto } from '@whiskeysockets/baileys';

/**
 * Encrypted media as WhatsApp keeps it: AES-256-CBC, then the first ten bytes of an HMAC; keys derived from the
 * message's media key.
 */

export type MediaKind = 'image' | 'video' | 'audio' | 'document' | 'history';
const INFO: Record<MediaKind, string> = {
  image: 'WhatsApp Image Keys',
  video: 'WhatsApp Video Keys',
  audio: 'WhatsApp Audio Keys',
  document: 'WhatsApp Document Keys',
  history: 'WhatsApp History Keys',
};
const MAC_BYTES = 10;

export interface EncryptedMedia {
  blob: Buffer;
  mediaKey: Buffer;
  fileSha256: Buffer;
  fileEncSha256: Buffer;
  fileLength: number;
}

const sha256 = (data: Uint8Array): Buffer => createHash('sha256').update(data).digest();

function keysOf(mediaKey: Uint8Array, kind: MediaKind): { iv: Buffer; cipher: Buffer; mac: Buffer } {
  const derived = Buffer.from(hkdfSync('sha256', mediaKey, '', INFO[kind], 112));
  return { iv: derived.subarray(0, 16), cipher: derived.subarray(16, 48), mac: derived.subarray(48, 80) };
}

const macOf = (key: Buffer, iv: Buffer, ciphertext: Uint8Array): Buffer =>
  createHmac('sha256', key).update(iv).update(ciphertext).digest().subarray(0, MAC_BYTES);

export function encryptMedia(plain: Uint8Array, kind: MediaKind, mediaKey: Buffer = randomBytes(32)): EncryptedMedia {
  const { iv, cipher, mac } = keysOf(mediaKey, kind);
  const aes = createCipheriv('aes-256-cbc', cipher, iv);
  const ciphertext = Buffer.concat([aes.update(plain), aes.final()]);
  const blob = Buffer.concat([ciphertext, macOf(mac, iv, ciphertext)]);
  return { blob, mediaKey, fileSha256: sha256(plain), fileEncSha256: sha256(blob), fileLength: plain.length };
}

/** The plain bytes. Throws when a hash, the MAC or the length differs from what the message says. */
export function decryptMedia(
  blob: Buffer,
  kind: MediaKind,
  said: {
    mediaKey: Uint8Array;
    fileSha256?: Uint8Array | null;
    fileEncSha256?: Uint8Array | null;
    fileLength?: number;
  },
): Buffer {
  const { iv, cipher, mac } = keysOf(said.mediaKey, kind);
  if (said.fileEncSha256 && !sha256(blob).equals(said.fileEncSha256))
    throw new Error('the encrypted file has another hash');
  const ciphertext = blob.subarray(0, blob.length - MAC_BYTES);
  if (!macOf(mac, iv, ciphertext).equals(blob.subarray(blob.length - MAC_BYTES)))
    throw new Error('the file has a wrong MAC');
  const aes = createDecipheriv('aes-256-cbc', cipher, iv);
  const plain = Buffer.concat([aes.update(ciphertext), aes.final()]);
  if (said.fileSha256 && !sha256(plain).equals(said.fileSha256)) throw new Error('the file has another hash');
  if (said.fileLength !== undefined && plain.length !== said.fileLength) throw new Error('the file has another length');
  return plain;
}

const retryKey = (mediaKey: Uint8Array): Buffer =>
  Buffer.from(hkdfSync('sha256', mediaKey, '', 'WhatsApp Media Retry Notification', 32));

/** The message id inside a request to upload a file again. Throws when it was not made with the message's media key. */
export function readMediaRetry(mediaKey: Uint8Array, messageId: string, iv: Buffer, sealed: Buffer): string {
  const gcm = createDecipheriv('aes-256-gcm', retryKey(mediaKey), iv)
    .setAAD(Buffer.from(messageId))
    .setAuthTag(sealed.subarray(-16));
  return (
    proto.ServerErrorReceipt.decode(Buffer.concat([gcm.update(sealed.subarray(0, -16)), gcm.final()])).stanzaId ?? ''
  );
}

export function sealMediaRetry(
  mediaKey: Uint8Array,
  messageId: string,
  answer: proto.IMediaRetryNotification,
): { iv: Buffer; sealed: Buffer } {
  const iv = randomBytes(12);
  const gcm = createCipheriv('aes-256-gcm', retryKey(mediaKey), iv).setAAD(Buffer.from(messageId));
  const sealed = Buffer.concat([
    gcm.update(proto.MediaRetryNotification.encode(answer).finish()),
    gcm.final(),
    gcm.getAuthTag(),
  ]);
  return { iv, sealed };
}
