import type { IncomingHttpHeaders } from 'node:http';

/** Headers of RFC 9110 section 7.6.1, and some that clients also send. */
const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

/**
 * Not sent on: headers that are written again for the upstream, and the container's own credentials, cookies, accounts,
 * and origin of the request.
 */
const NOT_SENT = new Set([
  ...HOP_BY_HOP,
  ...['host', 'content-length', 'expect', 'accept-encoding', 'cookie', 'cookie2'],
  ...['authorization', 'x-api-key', 'api-key', 'x-goog-api-key', 'x-goog-user-project'],
  ...['openai-organization', 'openai-project', 'forwarded', 'via', 'x-real-ip'],
]);

/** Not passed back: cookies, and names of the account. */
const NOT_ANSWERED = new Set([
  ...HOP_BY_HOP,
  ...[
    'set-cookie',
    'set-cookie2',
    'anthropic-organization-id',
    'openai-organization',
    'openai-project',
    'alt-svc',
    'strict-transport-security',
  ],
]);

type Headers = Record<string, string | string[]>;

/**
 * Headers of a container's request as they are sent on. Compression is declined, because usage is read from the answer.
 */
export function sentHeaders(headers: IncomingHttpHeaders, credential: Record<string, string>): Headers {
  return {
    ...kept(headers, NOT_SENT, (name) => name.startsWith('x-forwarded-')),
    'accept-encoding': 'identity',
    ...credential,
  };
}

export function answeredHeaders(headers: IncomingHttpHeaders, redact: Redact): Headers {
  const out = kept(headers, NOT_ANSWERED);
  for (const [name, value] of Object.entries(out))
    out[name] = Array.isArray(value) ? value.map(redact.text) : redact.text(value);
  return out;
}

function kept(
  headers: IncomingHttpHeaders,
  dropped: ReadonlySet<string>,
  also: (name: string) => boolean = () => false,
): Headers {
  // headers that Connection names belong to this connection alone
  const named = new Set(
    String(headers.connection ?? '')
      .toLowerCase()
      .split(',')
      .map((name) => name.trim()),
  );
  const out: Headers = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !dropped.has(name) && !named.has(name) && !also(name)) out[name] = value;
  }
  return out;
}

/** Replaces secrets in a stream, byte for byte, so that a stated length stays right. */
export interface Redact {
  text(value: string): string;
  /** the part of the stream that is certain; the rest waits for the next chunk */
  chunk(bytes: Uint8Array): Buffer;
  /** the part that still waits, at the end of the stream */
  end(): Buffer;
}

/**
 * An endpoint that repeats the key it was given (for example in an error) must not pass it to a container. A secret
 * that is split over two chunks is found too: only bytes that may be the beginning of a secret are held back, so that
 * the stream keeps flowing.
 */
export function createRedact(secrets: readonly string[]): Redact {
  const needles = secrets.filter((secret) => secret.length >= 4).map((secret) => Buffer.from(secret));
  let held: Buffer = Buffer.alloc(0);
  return {
    text: (value) =>
      needles.reduce((text, needle) => text.replaceAll(needle.toString(), '*'.repeat(needle.length)), value),
    chunk(bytes) {
      if (!needles.length) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      const all = Buffer.concat([held, bytes]);
      for (const needle of needles) {
        for (let at = all.indexOf(needle); at >= 0; at = all.indexOf(needle, at + needle.length))
          all.fill('*', at, at + needle.length);
      }
      const keep = Math.max(...needles.map((needle) => beginning(all, needle)));
      held = all.subarray(all.length - keep);
      return all.subarray(0, all.length - keep);
    },
    end() {
      const rest = held;
      held = Buffer.alloc(0);
      return rest;
    },
  };
}

/** Number of bytes at the end of `all` that may begin `needle`. */
function beginning(all: Buffer, needle: Buffer): number {
  for (let length = Math.min(needle.length - 1, all.length); length > 0; length -= 1) {
    if (all.subarray(all.length - length).equals(needle.subarray(0, length))) return length;
  }
  return 0;
}
