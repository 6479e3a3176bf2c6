import { duration, LONGEST_WAIT_MS, seconds, untilClock, waitInWords } from '../../../domain/model/reset-words.ts';

/**
 * When a refused request may be repeated, as the endpoint says it: in headers, in the body, or in words. The forms come
 * from the documentation of OpenAI, Azure, Anthropic, Gemini and OpenRouter, and from answers that were seen.
 */

interface Headers {
  get(name: string): string | null;
}

export interface Refusal {
  headers?: Headers;
  /** the `error` of the body */
  error?: unknown;
  /** the error text */
  text?: string;
  /** for clock times in the text that name no zone */
  zone?: string;
}

/** Milliseconds from `now` until the endpoint may be asked again; undefined when it names no plausible time. */
export function waitOf({ headers, error, text = '', zone }: Refusal, now: number = Date.now()): number | undefined {
  // an absolute time is by the server's clock
  const clock = Date.parse(headers?.get('date') ?? '');
  const their = Number.isFinite(clock) ? clock : now;
  const header = (name: string) => headers?.get(name)?.trim() || undefined;
  const named = [
    number(header('retry-after-ms')),
    lengthOf(header('retry-after')) ?? until(header('retry-after'), their),
    ...inBody(error, their),
    ...windows(header, their),
    waitInWords(text, now, zone),
  ];
  const wait = named.find((ms) => ms !== undefined && ms > 0 && ms <= LONGEST_WAIT_MS);
  return wait === undefined ? undefined : Math.ceil(wait);
}

/**
 * OpenAI and Azure: the window with nothing left. Anthropic: the same, and the window of a subscription that was
 * refused.
 */
function windows(header: (name: string) => string | undefined, their: number): Array<number | undefined> {
  const blocked = ['requests', 'tokens']
    .filter((what) => header(`x-ratelimit-remaining-${what}`) === '0')
    .map((what) => duration(header(`x-ratelimit-reset-${what}`)));
  const anthropic = ['requests', 'tokens', 'input-tokens', 'output-tokens']
    .filter((what) => header(`anthropic-ratelimit-${what}-remaining`) === '0')
    .map((what) => until(header(`anthropic-ratelimit-${what}-reset`), their));
  const subscription =
    header('anthropic-ratelimit-unified-status') === 'rejected'
      ? epoch(header('anthropic-ratelimit-unified-reset'), their)
      : undefined;
  return [
    subscription,
    latest([...blocked, ...anthropic]),
    ...['x-ratelimit', 'ratelimit', 'x-rate-limit'].map((name) =>
      header(`${name}-remaining`) === '0' ? epoch(header(`${name}-reset`), their) : undefined,
    ),
    seconds(header('x-ratelimit-reset-after')),
    seconds(EMPTY_WINDOW.exec(header('ratelimit') ?? '')?.[1]),
  ];
}

/** The window with nothing left, as IETF's drafts write it: `"default";r=0;t=12`, `limit=10, remaining=0, reset=12`. */
const EMPTY_WINDOW = /\b(?:r|remaining)=0\b[;,]\s*(?:t|reset)=(\d{1,9})\b/;

/** When several windows are full, the one that opens last counts. */
const latest = (all: Array<number | undefined>): number | undefined => {
  const known = all.filter((ms) => ms !== undefined);
  return known.length > 0 ? Math.max(...known) : undefined;
};

type Any = Record<string, unknown>;
const part = (value: unknown): Any => (typeof value === 'object' && value !== null ? (value as Any) : {});
const list = (value: unknown): Any[] => (Array.isArray(value) ? value.map(part) : []);
const word = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' ? String(value).trim() : undefined;

/** Gemini's details, Codex's reset times, and the headers that OpenRouter repeats in its body. */
function inBody(error: unknown, their: number): Array<number | undefined> {
  const { details, resets_at, resets_in_seconds, metadata, ...told } = part(error);
  const passedOn = Object.entries(part(part(metadata).headers)).map(
    ([name, value]) => [name.toLowerCase(), word(value)] as const,
  );
  const passed = (wanted: string) => passedOn.find(([name]) => name === wanted)?.[1];
  // the delay beside a daily quota is not that of the day
  const daily = list(details).some(({ violations }) =>
    list(violations).some(({ quotaId }) => String(quotaId).includes('PerDay')),
  );
  if (daily) return [untilClock('12am', their, 'America/Los_Angeles')];
  return [
    ...list(details).map(({ retryDelay }) => duration(word(retryDelay)) ?? seconds(word(part(retryDelay).seconds))),
    ...['retry_after', 'retryAfter', 'retry_after_seconds'].map((name) => lengthOf(word(told[name]))),
    ...['retry_after_ms', 'retryAfterMs'].map((name) => number(word(told[name]))),
    epoch(word(resets_at), their),
    seconds(word(resets_in_seconds)),
    seconds(passed('retry-after')),
    epoch(passed('x-ratelimit-reset'), their),
  ];
}

const lengthOf = (text: string | undefined) => seconds(text) ?? duration(text);

const number = (text: string | undefined): number | undefined => {
  const value = text === undefined ? Number.NaN : Number(text);
  return Number.isFinite(value) ? value : undefined;
};

/** An HTTP date or an RFC 3339 time. For anything else, `Date.parse` would guess. */
function until(text: string | undefined, their: number): number | undefined {
  if (text === undefined || !/^(?:[A-Z][a-z]{2}, |\d{4}-\d\d-\d\dT)/.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isFinite(at) ? at - their : undefined;
}

/** Seconds or milliseconds since 1970; a small number is a duration in seconds. */
function epoch(text: string | undefined, their: number): number | undefined {
  const value = number(text);
  if (value === undefined) return undefined;
  if (value >= 1e12) return value - their;
  return value >= 1e9 ? value * 1_000 - their : value * 1_000;
}
