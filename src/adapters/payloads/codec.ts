import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { DataConverter, Payload, PayloadCodec } from '@temporalio/common';
import proto from '@temporalio/proto';
import { CODE_EXTENSION } from '../../installation.ts';
import type { PayloadKey, PayloadKeys } from './keys.ts';

/**
 * Encrypts what goes to the Temporal server, and decrypts what comes from it. A whole payload is encrypted, with its
 * metadata. It is bound to no workflow: a codec server is not told whose payloads it decrypts.
 */

const wire = proto.temporal.api.common.v1.Payload;
const ENCODING = Buffer.from('binary/encrypted');
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** No key of this process opens this payload. */
export class UnknownPayloadKey extends Error {
  override readonly name = 'UnknownPayloadKey';
  constructor(id: string) {
    super(
      `A payload in Temporal was encrypted with the key ${id}, which this process does not have. Add it to FETCH_PAYLOAD_KEYS: docs/running.md.`,
    );
  }
}

/**
 * Plain payloads pass through when they are decoded, because runs of earlier releases have them. `read` is asked again
 * for a key that is not known: a process that started after a rotation may have encrypted with it.
 */
export function createPayloadCodec(read: () => PayloadKeys): PayloadCodec {
  const { encrypts, known } = read();
  const keyOf = (id: string) => known.get(id) ?? read().known.get(id);
  return {
    encode: async (payloads) => (encrypts ? payloads.map((payload) => seal(payload, encrypts)) : payloads),
    decode: async (payloads) => payloads.map((payload) => (isSealed(payload) ? open(payload, keyOf) : payload)),
  };
}

const isSealed = ({ metadata }: Payload): boolean =>
  metadata?.encoding !== undefined && ENCODING.equals(metadata.encoding);

/** Whether a payload that goes through these codecs leaves encrypted. */
export async function encrypts(codecs: readonly PayloadCodec[]): Promise<boolean> {
  let probe: Payload[] = [{ metadata: {}, data: Buffer.from('probe') }];
  for (const codec of codecs) probe = await codec.encode(probe);
  return probe.every(isSealed);
}

function seal(payload: Payload, { id, secret }: PayloadKey): Payload {
  if (isSealed(payload)) return payload;
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', secret, nonce);
  const body = cipher.update(wire.encode(payload).finish());
  return {
    metadata: { encoding: ENCODING, 'encryption-key-id': Buffer.from(id) },
    data: Buffer.concat([nonce, body, cipher.final(), cipher.getAuthTag()]),
  };
}

function open({ metadata, data }: Payload, keyOf: (id: string) => PayloadKey | undefined): Payload {
  const id = Buffer.from(metadata?.['encryption-key-id'] ?? []).toString();
  const key = keyOf(id);
  if (!key || !data) throw new UnknownPayloadKey(id);
  const sealed = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (sealed.length < NONCE_BYTES + TAG_BYTES)
    throw new Error('An encrypted payload in Temporal is too short to be one.');
  const end = sealed.length - TAG_BYTES;
  const decipher = createDecipheriv('aes-256-gcm', key.secret, sealed.subarray(0, NONCE_BYTES)).setAuthTag(
    sealed.subarray(end),
  );
  const { metadata: inner, data: content } = wire.decode(
    Buffer.concat([decipher.update(sealed.subarray(NONCE_BYTES, end)), decipher.final()]),
  );
  return { metadata: inner, data: content };
}

/** Goes into the bundle of the workflows, too. */
export const FAILURE_CONVERTER = fileURLToPath(
  new URL(`../../workflows/shared/failure-converter${CODE_EXTENSION}`, import.meta.url),
);

/**
 * What every client, worker and replay uses. Workflow code knows nothing of the keys: the codec works outside of its
 * sandbox.
 */
export const dataConverter = (read: () => PayloadKeys): DataConverter => ({
  failureConverterPath: FAILURE_CONVERTER,
  payloadCodecs: [createPayloadCodec(read)],
});
