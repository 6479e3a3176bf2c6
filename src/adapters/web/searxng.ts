import { Agent, fetch, type Response } from 'undici';
import { z } from 'zod';

/**
 * A search through a SearXNG instance. The owner names the instance, so it may be on this machine or a private network.
 * Redirects are not followed: they would lead to an address that the owner did not name.
 */
interface Search {
  query: string;
  category: string;
  signal: AbortSignal;
  /** for the whole exchange, in ms */
  timeoutMs?: number;
}

interface Found {
  results: Array<{ title: string; url: string; snippet: string; engine: string }>;
  /** engines that the instance asked in vain, with its reason */
  silent: string[];
}

/** An expected failure of a search; `message` is written for the model and the owner. */
export class SearchError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SearchError';
  }
}

export const SEARCH_TIMEOUT_MS = 15_000;
const MAX_ANSWER_BYTES = 2 * 1024 * 1024;
/** A longer address is no use in a context. */
const LONGEST_URL = 2000;

/** @throws SearchError; the signal's reason when aborted */
export async function searchWeb(
  instance: string,
  { query, category, signal, timeoutMs = SEARCH_TIMEOUT_MS }: Search,
): Promise<Found> {
  const base = new URL(instance);
  const shown = `${base.origin}${base.pathname}`.replace(/\/$/, '');
  const timeout = AbortSignal.timeout(timeoutMs);
  const agent = new Agent({ connections: 1, pipelining: 1 });
  try {
    const response = await fetch(addressOf(base, query, category), {
      dispatcher: agent,
      signal: AbortSignal.any([signal, timeout]),
      redirect: 'manual',
      headers: headersOf(base),
    });
    requireAnswer(response, shown);
    return readAnswer(await readBody(response, shown), shown);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (timeout.aborted)
      throw new SearchError(
        `SearXNG at ${shown} took longer than ${timeoutMs / 1000} seconds. Try again, or with fewer words.`,
      );
    if (error instanceof SearchError) throw error;
    throw new SearchError(
      `No SearXNG answers at ${shown} (${causeOf(error)}). Start it, or correct FETCH_SEARXNG_URL.`,
    );
  } finally {
    await agent.destroy().catch(() => {});
  }
}

function addressOf(base: URL, query: string, category: string): URL {
  const address = new URL(`${base.pathname.replace(/\/$/, '')}/search`, base.origin);
  address.search = new URLSearchParams({ q: query, categories: category, format: 'json' }).toString();
  return address;
}

/** The limiter of SearXNG refuses requests that accept no HTML or name no language. */
function headersOf(base: URL): Record<string, string> {
  const login = `${decodeURIComponent(base.username)}:${decodeURIComponent(base.password)}`;
  return {
    accept: 'application/json,text/html;q=0.5',
    'accept-language': 'en,*;q=0.5',
    'user-agent': 'Mozilla/5.0 (compatible; fetch-durable/0.1)',
    ...(login !== ':' && { authorization: `Basic ${Buffer.from(login).toString('base64')}` }),
  };
}

const ENABLE_JSON =
  'In its settings.yml, "search:" needs "formats:" with the lines "- html" and "- json"; then restart it.';

function requireAnswer({ status, headers }: Response, shown: string): void {
  const html = /html/i.test(headers.get('content-type') ?? '');
  if (status === 429)
    throw new SearchError(
      `SearXNG at ${shown} says that there were too many requests (429). Try again later. In the settings.yml of an instance of your own, "server:" may have "limiter: false".`,
    );
  if (status === 401)
    throw new SearchError(
      `SearXNG at ${shown} wants a log-in (401): put it into FETCH_SEARXNG_URL as https://NAME:PASSWORD@host.`,
    );
  // it answers 403 to a format that is not enabled
  if (status === 403 || (status === 200 && html))
    throw new SearchError(`SearXNG at ${shown} does not answer in JSON. ${ENABLE_JSON}`);
  if (status >= 300 && status < 400)
    throw new SearchError(
      `${shown} sends searches elsewhere (${status}). Set FETCH_SEARXNG_URL to the address of SearXNG itself.`,
    );
  if (status === 404) throw new SearchError(`There is no SearXNG at ${shown} (404). Correct FETCH_SEARXNG_URL.`);
  if (status !== 200) throw new SearchError(`SearXNG at ${shown} failed (${status}). Its own log says why.`);
}

async function readBody(response: Response, shown: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_ANSWER_BYTES)
      throw new SearchError(
        `SearXNG at ${shown} answered with more than ${MAX_ANSWER_BYTES / 1024 / 1024} MB, which is no list of results.`,
      );
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

const text = z.string().nullish().catch(null);
const answerSchema = z.object({ results: z.array(z.unknown()), unresponsive_engines: z.array(z.unknown()).catch([]) });
const resultSchema = z.object({ url: z.string(), title: text, content: text, engine: text });

/** The results of an instance. A result that cannot be used is left out, and the others stay. */
export function readAnswer(body: string, shown: string): Found {
  const parsed = answerSchema.safeParse(jsonOf(body));
  if (!parsed.success)
    throw new SearchError(
      `What answers at ${shown} is no SearXNG, or a broken one: this is no list of results. Look at FETCH_SEARXNG_URL.`,
    );
  const results = new Map<string, Found['results'][number]>();
  for (const each of parsed.data.results) {
    const result = resultSchema.safeParse(each);
    const url = result.success ? publicForm(result.data.url) : null;
    if (!result.success || url === null || results.has(url)) continue;
    results.set(url, {
      title: result.data.title ?? '',
      url,
      snippet: result.data.content ?? '',
      engine: result.data.engine ?? '',
    });
  }
  const silent = parsed.data.unresponsive_engines.flatMap((each) =>
    Array.isArray(each) ? [each.filter((part) => typeof part === 'string').join(': ')] : [],
  );
  return { results: [...results.values()], silent };
}

function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}

/** Null for an address that web_fetch would refuse. */
function publicForm(address: string): string | null {
  const url = URL.parse(address.trim());
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.href.length > LONGEST_URL)
    return null;
  return url.href;
}

function causeOf(error: unknown): string {
  let cause = error;
  while (cause instanceof Error && cause.cause instanceof Error) cause = cause.cause;
  return (cause as NodeJS.ErrnoException).code ?? (cause as Error).message;
}
