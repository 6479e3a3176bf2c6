import type { IncomingMessage } from 'node:http';
import type { PayloadCodec } from '@temporalio/common';
import { CODEC_BODY_LIMIT, type CodecAction, codecAnswer, NoPayloads } from './remote-codec.ts';

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
