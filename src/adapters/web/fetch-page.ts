import { Agent, fetch, type Response } from 'undici';
import {
  type AddressRule,
  BlockedAddressError,
  guardedLookup,
  isPublicAddress,
  literalAddress,
  type Resolver,
  systemResolver,
} from './address-guard.ts';
import { decodePage } from './page-encoding.ts';

export interface FetchOptions {
  signal: AbortSignal;
  /** which addresses may be connected to; public ones by default */
  allows?: AddressRule;
  resolve?: Resolver;
  /** for the whole exchange with redirects and body, in ms */
  timeoutMs?: number;
  /** of the decompressed body; the rest is not read */
  maxBytes?: number;
}

interface FetchedPage {
  /** after redirects */
  url: string;
  status: number;
  statusText: string;
  /** media type in lower case without parameters; empty when the server sent none */
  type: string;
  text: string;
  /** the body was longer than `maxBytes` */
  cut: boolean;
  /** many of its characters are lost, because its encoding is not the one that it declares */
  unreadable: boolean;
}

/** An expected failure of a fetch; `message` is written for the model. */
export class FetchError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'FetchError';
  }
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const MAX_REDIRECTS = 5;
export const FETCH_TIMEOUT_MS = 30_000;
const MAX_BODY_BYTES = 5 * 1024 * 1024;

/** Fetches a text page. Throws FetchError for expected failures, and the signal's reason when aborted. */
export async function fetchPage(address: string, options: FetchOptions): Promise<FetchedPage> {
  const allows = options.allows ?? isPublicAddress;
  const timeout = AbortSignal.timeout(options.timeoutMs ?? FETCH_TIMEOUT_MS);
  const signal = AbortSignal.any([options.signal, timeout]);
  // one agent for each fetch: a pooled connection would outlive the check that allowed it
  const agent = new Agent({
    connect: { lookup: guardedLookup(options.resolve ?? systemResolver, allows) },
    connections: 1,
    pipelining: 1,
  });
  try {
    const { response, url } = await followRedirects(address, agent, signal, allows);
    return await readText(response, url, options.maxBytes ?? MAX_BODY_BYTES);
  } catch (error) {
    if (options.signal.aborted) throw options.signal.reason;
    if (timeout.aborted)
      throw new FetchError(
        `${hostOf(address)} took longer than ${(options.timeoutMs ?? FETCH_TIMEOUT_MS) / 1000} seconds.`,
      );
    throw readable(error, address);
  } finally {
    await agent.destroy().catch(() => {});
  }
}

async function followRedirects(
  address: string,
  dispatcher: Agent,
  signal: AbortSignal,
  allows: AddressRule,
): Promise<{ response: Response; url: URL }> {
  let url = checkedUrl(address, allows);
  for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
    const response = await fetch(url, {
      dispatcher,
      signal,
      redirect: 'manual',
      headers: {
        accept: 'text/html,application/xhtml+xml,application/json;q=0.9,text/*;q=0.8,*/*;q=0.1',
        'accept-language': 'en,*;q=0.5',
        'user-agent': 'Mozilla/5.0 (compatible; fetch-durable/0.1)',
      },
    });
    const location = REDIRECTS.has(response.status) ? response.headers.get('location') : null;
    if (!location) return { response, url };
    await response.body?.cancel();
    url = checkedUrl(location, allows, url);
  }
  throw new FetchError(`${hostOf(address)} redirected more than ${MAX_REDIRECTS} times.`);
}

/**
 * Parses the URL and checks all that needs no DNS: a socket never looks up a literal address, so the guard would not
 * see it.
 */
function checkedUrl(text: string, allows: AddressRule, base?: URL): URL {
  const url = URL.parse(text, base?.href);
  if (!url) throw new FetchError(`"${text.slice(0, 200)}" is not a valid URL.`);
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new FetchError(`Only http and https can be fetched, not ${url.protocol}`);
  if (url.username || url.password) throw new FetchError('URLs with a user name or password in them are not fetched.');
  const literal = literalAddress(url.hostname);
  if (literal && !allows(literal)) throw new BlockedAddressError(url.hostname);
  return url;
}

async function readText(response: Response, url: URL, maxBytes: number): Promise<FetchedPage> {
  const header = response.headers.get('content-type') ?? '';
  const type = header.split(';', 1)[0]!.trim().toLowerCase();
  if (!isText(type)) {
    await response.body?.cancel();
    throw new FetchError(`${url.href} is ${type}, which cannot be read as text.`);
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  let cut = false;
  for await (const chunk of response.body ?? []) {
    const room = maxBytes - size;
    if (chunk.byteLength > room) {
      chunks.push(chunk.subarray(0, room));
      cut = true;
      break;
    }
    chunks.push(chunk);
    size += chunk.byteLength;
  }
  const bytes = Buffer.concat(chunks);
  const text = await decodePage(bytes, header, cut);
  if (!type && bytes.subarray(0, 1024).includes(0)) throw new FetchError(`${url.href} is not text.`);
  return {
    url: url.href,
    status: response.status,
    statusText: response.statusText,
    type,
    text,
    cut,
    unreadable: isUnreadable(text),
  };
}

const TEXT_APPLICATIONS =
  /^application\/(json|xml|xhtml\+xml|javascript|ecmascript|yaml|x-yaml|toml|x-ndjson|ld\+json|sql|graphql|[\w.-]+\+(json|xml|yaml))$/;
const isText = (type: string): boolean => type === '' || type.startsWith('text/') || TEXT_APPLICATIONS.test(type);

/**
 * Whether more than one character in 200 could not be read, or more than one in 20 is in a row of accented letters, as
 * no language has them: another alphabet that was read as Latin 1.
 */
function isUnreadable(text: string): boolean {
  const lost = text.match(/\ufffd/g)?.length ?? 0;
  const rows = text.match(/[À-ÖØ-öø-ÿ]{4,}/g)?.reduce((sum, row) => sum + row.length, 0) ?? 0;
  return lost * 200 > text.length || rows * 20 > text.length;
}

const hostOf = (address: string): string => URL.parse(address)?.host ?? 'The server';

function readable(error: unknown, address: string): Error {
  if (error instanceof FetchError || error instanceof BlockedAddressError) return new FetchError(error.message);
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof BlockedAddressError) return new FetchError(cause.message);
    const code = (cause as NodeJS.ErrnoException).code;
    if (code && code in REASONS) return new FetchError(`${hostOf(address)} ${REASONS[code]}.`);
    if (!(cause.cause instanceof Error))
      return new FetchError(`${hostOf(address)} could not be read: ${cause.message}.`);
  }
  return new FetchError(`${hostOf(address)} could not be read.`);
}

const REASONS: Record<string, string> = {
  ENOTFOUND: 'does not exist (no such host name)',
  EAI_AGAIN: 'could not be looked up just now',
  ECONNREFUSED: 'refused the connection',
  ECONNRESET: 'closed the connection',
  ETIMEDOUT: 'did not answer',
  UND_ERR_CONNECT_TIMEOUT: 'did not answer',
  UND_ERR_SOCKET: 'closed the connection',
  UND_ERR_HEADERS_OVERFLOW: 'sent headers that are too large',
  CERT_HAS_EXPIRED: 'has an expired certificate',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'has a certificate that is not trusted',
  SELF_SIGNED_CERT_IN_CHAIN: 'has a certificate that is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'has a certificate that is not trusted',
  ERR_TLS_CERT_ALTNAME_INVALID: 'has a certificate for another name',
};
