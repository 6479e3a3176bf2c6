import type { Config } from '../../../../config.ts';
import { type PriceBook, priceBook } from '../../../../domain/model/price-book.ts';
import { english } from '../../../../domain/texts/say.ts';
import { accountOf, endpointOf, isLocalEndpoint } from '../../../model/endpoint/endpoint.ts';
import type { Protocol } from './routes.ts';

export type UpstreamSettings = Pick<
  Config,
  | 'ANTHROPIC_API_KEY'
  | 'ANTHROPIC_BASE_URL'
  | 'GEMINI_API_KEY'
  | 'GOOGLE_GEMINI_BASE_URL'
  | 'OPENAI_BASE_URL'
  | 'OPENAI_API_KEY'
  | 'OPENROUTER_API_KEY'
  | 'AGENT_MODEL'
  | 'FETCH_FALLBACK_MODEL'
> &
  Partial<Pick<Config, 'FETCH_MODEL_PRICE'>>;

/** A model endpoint, with its credentials. */
export interface Upstream {
  /** scheme, host and port */
  origin: string;
  /** whom its limits belong to */
  account: string;
  /** path of the base URL, without a slash at its end */
  base: string;
  /** header with the key; empty when the endpoint needs none */
  credential: Record<string, string>;
  /** what a container must not see, whatever the endpoint answers */
  secrets: string[];
  /** prices of its calls */
  prices: PriceBook;
}

/** An upstream, or one sentence about the missing setting. */
export type UpstreamOrWhy = { upstream: Upstream } | { why: string };

const DEFAULT_HOSTS = new Set(['api.anthropic.com', 'generativelanguage.googleapis.com']);

/** The endpoint of each protocol, by the settings. */
export function upstreamsOf(settings: UpstreamSettings): Record<Protocol, UpstreamOrWhy> {
  const openai = endpointOf(settings);
  const book = (baseUrl: string, ours: boolean) =>
    priceBook(settings.FETCH_MODEL_PRICE, { ours, local: isLocalEndpoint(baseUrl) });
  return {
    anthropic: keyed(settings.ANTHROPIC_BASE_URL, settings.ANTHROPIC_API_KEY, 'x-api-key', 'ANTHROPIC_API_KEY', book),
    gemini: keyed(settings.GOOGLE_GEMINI_BASE_URL, settings.GEMINI_API_KEY, 'x-goog-api-key', 'GEMINI_API_KEY', book),
    openai: openai
      ? made(
          openai.baseUrl,
          openai.apiKey,
          openai.apiKey ? { authorization: `Bearer ${openai.apiKey}` } : {},
          book(openai.baseUrl, true),
        )
      : {
          why: english('agent.noModel'),
        },
  };
}

function keyed(
  baseUrl: string,
  key: string | undefined,
  header: string,
  setting: string,
  book: (baseUrl: string, ours: boolean) => PriceBook,
): UpstreamOrWhy {
  // one's own endpoint may need no key; the provider's always does
  if (!key && DEFAULT_HOSTS.has(new URL(baseUrl).hostname)) return { why: english('agent.noKey', { setting }) };
  return made(baseUrl, key, key ? { [header]: key } : {}, book(baseUrl, false));
}

function made(
  baseUrl: string,
  key: string | undefined,
  credential: Record<string, string>,
  prices: PriceBook,
): UpstreamOrWhy {
  const url = new URL(baseUrl);
  const login = url.username ? decodeURIComponent(`${url.username}:${url.password}`) : null;
  return {
    upstream: {
      prices,
      origin: url.origin,
      account: accountOf(baseUrl, key),
      base: url.pathname.replace(/(?<!\/)\/+$/, ''),
      credential: login && !key ? { authorization: `Basic ${Buffer.from(login).toString('base64')}` } : credential,
      secrets: [key, login && url.password ? decodeURIComponent(url.password) : null]
        .filter((secret) => !!secret)
        .map(String),
    },
  };
}
