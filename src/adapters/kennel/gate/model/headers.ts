import type { IncomingHttpHeaders } from 'node:http';
import type { Redact } from './redact.ts';

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
