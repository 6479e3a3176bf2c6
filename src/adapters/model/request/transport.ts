import { type Dispatcher, request } from 'undici';

/** The parts of a response that the SDK and we use. Its body is read once, as chunks of bytes. */
class LeanResponse {
  readonly url: string;
  readonly status: number;
  readonly statusText = '';
  readonly headers: Headers;
  readonly body: AsyncIterable<Uint8Array>;

  constructor(url: string, status: number, headers: Headers, body: AsyncIterable<Uint8Array>) {
    this.url = url;
    this.status = status;
    this.headers = headers;
    this.body = body;
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  text(): Promise<string> {
    return textOf(this.body);
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text());
  }
}

export async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** Limits for reading the rest of a response behind the end of its event stream. */
const REST = { bytes: 4096, ms: 1000 };

/**
 * The bytes of a body. A reader leaves at the last event of a stream, before the response ends. A response that is left
 * before its end costs its connection, and the next request a new handshake. So a short rest is read.
 */
async function* bytesOf(body: Dispatcher.ResponseData['body']): AsyncGenerator<Uint8Array> {
  try {
    yield* body.iterator({ destroyOnReturn: false });
  } finally {
    if (!body.readableEnded && !body.destroyed)
      void body.dump({ limit: REST.bytes, signal: AbortSignal.timeout(REST.ms) }).catch(() => {});
  }
}

/**
 * `fetch` for a POST of text, with the connections and proxy settings of `fetch`. The platform's `fetch` copies the
 * body into web streams and back, which takes longer than all else that a model request costs here.
 */
export const leanFetch = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
  const { method = 'GET', body, signal } = init;
  if (method !== 'POST' || typeof body !== 'string') return await fetch(input, init);
  const url = String(input);
  const headers = { ...Object.fromEntries(new Headers(init.headers)), 'accept-encoding': 'identity' };
  const answer = await request(url, {
    method,
    headers,
    body,
    signal: signal ?? null,
    headersTimeout: 0,
    bodyTimeout: 0,
  }).catch((error) => {
    throw signal?.aborted ? error : new TypeError('fetch failed', { cause: error });
  });
  if (answer.statusCode >= 300 && answer.statusCode < 400) {
    // so rare that it may be read twice
    await answer.body.dump();
    return await fetch(input, init);
  }
  const told = new Headers();
  for (const [name, value] of Object.entries(answer.headers))
    for (const each of [value ?? []].flat()) told.append(name, each);
  return new LeanResponse(url, answer.statusCode, told, bytesOf(answer.body)) as unknown as Response;
};
