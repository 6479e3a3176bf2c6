import type { IncomingMessage } from 'node:http';
import { type Refusal, TooLarge } from './errors.ts';
import type { Wire } from './routes.ts';

/** Largest request in bytes; the providers' own limits are 20 to 32 MB. */
const MAX_REQUEST = 32 * 1024 * 1024;

type ReadBody = { bytes: Buffer | null; model: string | null } | { refusal: Refusal };

const said = (status: Refusal['status'], message: string): ReadBody => ({ refusal: { status, message } });

/**
 * Reads a whole request: it is small compared with its answer, and must be countable before it is sent. Throws
 * TooLarge.
 */
export async function readBody(request: IncomingMessage, wire: Wire | null): Promise<ReadBody> {
  if (request.method === 'GET') return { bytes: null, model: null };
  if ((request.headers['content-encoding'] ?? 'identity') !== 'identity')
    return said(415, 'Compressed requests are not passed on. Send it uncompressed.');
  const chunks: Buffer[] = [];
  let size = 0;
  const tooLarge = new TooLarge(`The request is larger than ${MAX_REQUEST / 1024 / 1024} MB.`);
  if (Number(request.headers['content-length'] ?? 0) > MAX_REQUEST) throw tooLarge;
  for await (const chunk of request) {
    size += (chunk as Buffer).length;
    if (size > MAX_REQUEST) throw tooLarge;
    chunks.push(chunk as Buffer);
  }
  return countable(Buffer.concat(chunks), wire);
}

/** Makes sure that the answer will report its usage. */
function countable(bytes: Buffer, wire: Wire | null): ReadBody {
  if (!wire) return { bytes, model: null };
  let body: Record<string, unknown>;
  try {
    body = JSON.parse(bytes.toString());
  } catch {
    return said(400, 'The request is not JSON.');
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    return said(400, 'The request is not a JSON object.');
  const model = typeof body.model === 'string' ? body.model : null;
  // its answer comes later, through another call, and nobody would count it
  if (wire === 'responses' && body.background === true)
    return said(400, 'Background responses are not passed on. Leave `background` out.');
  if (wire === 'chat' && body.stream === true) {
    const options = typeof body.stream_options === 'object' && body.stream_options !== null ? body.stream_options : {};
    if ((options as Record<string, unknown>).include_usage !== true) {
      return {
        bytes: Buffer.from(JSON.stringify({ ...body, stream_options: { ...options, include_usage: true } })),
        model,
      };
    }
  }
  return { bytes, model };
}
