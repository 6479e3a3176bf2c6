/**
 * When a refused request may be repeated, as the endpoint says it: in headers, in the body, or in words. The forms come from the documentation of OpenAI,
 * Azure, Anthropic, Gemini and OpenRouter, and from answers that were seen.
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
}

/** The longest window of providers is a month, so anything beyond is a mistake. */
const LONGEST_MS = 32 * 86_400_000;

/** Milliseconds from `now` until the endpoint may be asked again; undefined when it names no plausible time. */
export function waitOf({ headers, error, text = '' }: Refusal, now: number = Date.now()): number | undefined {
  // an absolute time is by the server's clock
  const clock = Date.parse(headers?.get('date') ?? '');
  const their = Number.isFinite(clock) ? clock : now;
  const header = (name: string) => headers?.get(name)?.trim() || undefined;
  const named = [
    number(header('retry-after-ms')),
    seconds(header('retry-after')) ?? until(header('retry-after'), their),
    ...inBody(error, their),
    ...windows(header, their),
    inWords(text),
  ];
  const wait = named.find((ms) => ms !== undefined && ms > 0 && ms <= LONGEST_MS);
  return wait === undefined ? undefined : Math.ceil(wait);
}

/** OpenAI and Azure: the window with nothing left. Anthropic: the same, and the window of a subscription that was refused. */
function windows(header: (name: string) => string | undefined, their: number): Array<number | undefined> {
  const blocked = ['requests', 'tokens']
    .filter((what) => header(`x-ratelimit-remaining-${what}`) === '0')
    .map((what) => duration(header(`x-ratelimit-reset-${what}`)));
  const anthropic = ['requests', 'tokens', 'input-tokens', 'output-tokens']
    .filter((what) => header(`anthropic-ratelimit-${what}-remaining`) === '0')
    .map((what) => until(header(`anthropic-ratelimit-${what}-reset`), their));
  const subscription = header('anthropic-ratelimit-unified-status') === 'rejected' ? epoch(header('anthropic-ratelimit-unified-reset'), their) : undefined;
  return [subscription, latest([...blocked, ...anthropic]), header('x-ratelimit-remaining') === '0' ? epoch(header('x-ratelimit-reset'), their) : undefined];
}

/** When several windows are full, the one that opens last counts. */
const latest = (all: Array<number | undefined>): number | undefined => {
  const known = all.filter((ms) => ms !== undefined);
  return known.length > 0 ? Math.max(...known) : undefined;
};

type Any = Record<string, unknown>;
const part = (value: unknown): Any => (typeof value === 'object' && value !== null ? (value as Any) : {});
const list = (value: unknown): Any[] => (Array.isArray(value) ? value.map(part) : []);
const word = (value: unknown): string | undefined => (typeof value === 'string' || typeof value === 'number' ? String(value).trim() : undefined);

/** Gemini's details, Codex's reset times, and the headers that OpenRouter repeats in its body. */
function inBody(error: unknown, their: number): Array<number | undefined> {
  const { details, resets_at, resets_in_seconds, metadata } = part(error);
  const passedOn = Object.entries(part(part(metadata).headers)).map(([name, value]) => [name.toLowerCase(), word(value)] as const);
  const passed = (wanted: string) => passedOn.find(([name]) => name === wanted)?.[1];
  // the delay beside a daily quota is not that of the day
  const daily = list(details).some(({ violations }) => list(violations).some(({ quotaId }) => String(quotaId).includes('PerDay')));
  if (daily) return [untilMidnight('America/Los_Angeles', their)];
  return [
    ...list(details).map(({ retryDelay }) => duration(word(retryDelay))),
    epoch(word(resets_at), their),
    seconds(word(resets_in_seconds)),
    seconds(passed('retry-after')),
    epoch(passed('x-ratelimit-reset'), their),
  ];
}

/** "Please try again in 11.054s", "retry in 2h 15m", "in 5 days 22 hours 11 minutes". */
function inWords(text: string): number | undefined {
  const said = /\b(?:try again|retry|resets?|available)[^.\d]{0,20}(?:in|after) {0,2}(\d[\w., ]{0,80})/i.exec(text.slice(0, 2_000))?.[1];
  return said === undefined ? undefined : duration(said);
}

const UNITS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `1m30.5s`, `6m0s`, `12ms`, `2 hours 5 minutes`: the sum of these, up to the first thing that is no duration. */
function duration(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[\d.]+$/.test(text)) return seconds(text);
  let sum: number | undefined;
  const piece = /[\s,]{0,3}(?:and )?(\d{1,9}(?:\.\d{1,9})?) {0,2}(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)(?![a-z])/iy;
  for (let found = piece.exec(text); found; found = piece.exec(text)) {
    const unit = found[2]!.toLowerCase();
    sum = (sum ?? 0) + Number(found[1]) * UNITS[unit === 'ms' || unit.startsWith('milli') ? 'ms' : unit[0]!]!;
  }
  return sum;
}

const number = (text: string | undefined): number | undefined => {
  const value = text === undefined ? Number.NaN : Number(text);
  return Number.isFinite(value) ? value : undefined;
};

const seconds = (text: string | undefined): number | undefined => (text !== undefined && /^[\d.]+$/.test(text) ? scaled(number(text), 1_000) : undefined);
const scaled = (value: number | undefined, by: number): number | undefined => (value === undefined ? undefined : value * by);

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

/** By wall clock time, so it is an hour off on the two days a year when the clock changes. */
function untilMidnight(timeZone: string, now: number): number {
  const parts = new Intl.DateTimeFormat('en-GB', { timeZone, hourCycle: 'h23', hour: 'numeric', minute: 'numeric', second: 'numeric' }).formatToParts(now);
  const of = (type: string) => Number(parts.find((each) => each.type === type)?.value);
  return 86_400_000 - (of('hour') * 3_600 + of('minute') * 60 + of('second')) * 1_000;
}
