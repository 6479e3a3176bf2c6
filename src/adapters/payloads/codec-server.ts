import type { IncomingMessage } from 'node:http';
import type { Payload, PayloadCodec } from '@temporalio/common';

/** An answer of a codec server, for whatever serves HTTP. */
interface CodecAnswer {
  status: number;
  type: 'application/json' | 'text/plain; charset=utf-8';
  body: string;
}

const refused = (status: number, text: string): CodecAnswer => ({
  status,
  type: 'text/plain; charset=utf-8',
  body: `${text}\n`,
});

/**
 * Temporal's protocol for codec servers, without its HTTP: a list of payloads comes in and goes out, as JSON of
 * protobuf. The Web UI and the `temporal` program ask for it, so that people who may read payloads can.
 */

export type CodecAction = 'encode' | 'decode';
/**
 * What a path asks for. The namespace may stand in it, as templates of the `temporal` program have it: there is one
 * codec for all.
 */
export const codecAction = (path: string): CodecAction | null =>
  (/^\/codec(?:\/[^/]+)?\/(encode|decode)$/.exec(path)?.[1] as CodecAction | undefined) ?? null;

/** The Web UI sends all payloads of a page of a history at once. */
export const CODEC_BODY_LIMIT = 16 * 1024 * 1024;

/** This is not a list of payloads. */
class NoPayloads extends Error {
  override readonly name = 'NoPayloads';
}

/** A payload as JSON of protobuf: bytes are base64. */
export interface PayloadJson {
  metadata?: Record<string, string>;
  data?: string;
}

/** @throws NoPayloads, or what the codec throws, as for a payload whose key is not here */
async function codecAnswer(codec: PayloadCodec, action: CodecAction, body: string): Promise<string> {
  const payloads = payloadsIn(body).map(fromPayloadJson);
  return JSON.stringify({ payloads: (await codec[action](payloads)).map(toPayloadJson) });
}

function payloadsIn(body: string): PayloadJson[] {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw new NoPayloads('The body must be JSON.');
  }
  const payloads = (value as { payloads?: unknown } | null)?.payloads;
  if (!Array.isArray(payloads) || !payloads.every(isPayload))
    throw new NoPayloads('The body must be {"payloads": [{"metadata": {…}, "data": "…"}]}, in base64.');
  return payloads;
}

const isPayload = (value: unknown): value is PayloadJson => {
  const { metadata = {}, data = '' } = (value ?? {}) as PayloadJson;
  return (
    typeof value === 'object' &&
    typeof data === 'string' &&
    Object.values(metadata ?? {}).every((each) => typeof each === 'string')
  );
};

export const fromPayloadJson = ({ metadata, data }: PayloadJson): Payload => ({
  metadata: Object.fromEntries(
    Object.entries(metadata ?? {}).map(([name, value]) => [name, Buffer.from(value, 'base64')]),
  ),
  data: Buffer.from(data ?? '', 'base64'),
});

const base64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
export const toPayloadJson = ({ metadata, data }: Payload): PayloadJson => ({
  metadata: Object.fromEntries(Object.entries(metadata ?? {}).map(([name, value]) => [name, base64(value)])),
  ...(data && { data: base64(data) }),
});

/** The caller has seen to it that this request may read payloads. */
export async function answerCodec(
  codec: PayloadCodec,
  action: CodecAction,
  incoming: IncomingMessage,
): Promise<CodecAnswer> {
  if (incoming.method !== 'POST') return refused(405, 'A codec server is asked with POST.');
  const body = await bodyOf(incoming);
  if (body === null) return refused(413, `The body is longer than ${CODEC_BODY_LIMIT / 1024 / 1024} MB.`);
  try {
    return { status: 200, type: 'application/json', body: await codecAnswer(codec, action, body) };
  } catch (error) {
    // the reason of a failed decryption says nothing that is secret
    return refused(error instanceof NoPayloads ? 400 : 422, (error as Error).message);
  }
}

/** Null when it is too long. */
async function bodyOf(incoming: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming) {
    size += (chunk as Buffer).length;
    // what is too long is read to its end, so that the sender gets to read the refusal
    if (size <= CODEC_BODY_LIMIT) chunks.push(chunk as Buffer);
    else chunks.length = 0;
  }
  return size > CODEC_BODY_LIMIT ? null : Buffer.concat(chunks).toString('utf8');
}
