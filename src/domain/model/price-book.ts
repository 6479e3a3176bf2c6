import { english, type Say } from '../texts/say.ts';

/** US dollars per million tokens. */
type Price = readonly [input: number, cached: number, output: number];

/**
 * USD per million tokens: input, cached input, output. List prices as of 2026-10, without promotions and without
 * surcharges for prompts above 200,000 tokens. The longest entry that a model's name begins with counts, so that dated
 * versions are found.
 */
const prices: Record<string, Price> = {
  'gpt-4o': [2.5, 1.25, 10],
  'gpt-4o-mini': [0.15, 0.075, 0.6],
  'gpt-4.1': [2, 0.5, 8],
  'gpt-4.1-mini': [0.4, 0.1, 1.6],
  'gpt-4.1-nano': [0.1, 0.025, 0.4],
  o3: [2, 0.5, 8],
  'o4-mini': [1.1, 0.275, 4.4],
  'gpt-5': [1.25, 0.125, 10],
  'gpt-5-mini': [0.25, 0.025, 2],
  'gpt-5-nano': [0.05, 0.005, 0.4],
  'gpt-5.1': [1.25, 0.125, 10],
  'gpt-5.2': [1.75, 0.175, 14],
  'gpt-5.3-codex': [1.75, 0.175, 14],
  'gpt-5.4': [2.5, 0.25, 15],
  'gpt-5.4-mini': [0.75, 0.075, 4.5],
  'gpt-5.4-nano': [0.2, 0.02, 1.25],
  'gpt-5.5': [5, 0.5, 30],
  'gpt-5.6-sol': [5, 0.5, 30],
  'gpt-5.6-terra': [2, 0.2, 12],
  'gpt-5.6-luna': [0.2, 0.02, 1.2],
  'claude-haiku-4.5': [1, 0.1, 5],
  'claude-sonnet-4': [3, 0.3, 15],
  'claude-sonnet-4.5': [3, 0.3, 15],
  'claude-sonnet-4.6': [3, 0.3, 15],
  'claude-sonnet-5': [2, 0.2, 10],
  'claude-opus-4.5': [5, 0.5, 25],
  'claude-opus-4.6': [5, 0.5, 25],
  'claude-opus-4.7': [5, 0.5, 25],
  'claude-opus-4.8': [5, 0.5, 25],
  'claude-opus-5': [5, 0.5, 25],
  'claude-fable-5': [10, 1, 50],
  'gemini-3.1-pro': [2, 0.2, 12],
  'gemini-3.5-flash': [1.5, 0.15, 9],
  'gemini-3.6-flash': [1.5, 0.15, 7.5],
  'grok-4.3': [1.25, 0.2, 2.5],
  'grok-4.5': [2, 0.5, 6],
  'grok-4.6': [2, 0.5, 6],
  'deepseek-v4-pro': [0.435, 0.003625, 0.87],
  'deepseek-v4-flash': [0.14, 0.0028, 0.28],
  'kimi-k2.6': [0.95, 0.16, 4],
  'kimi-k3': [3, 0.3, 15],
  'glm-5.1': [1.4, 0.26, 4.4],
  'glm-5.2': [1.4, 0.26, 4.4],
};

/** The highest price of each kind of token: an upper bound for a model that is not in the list. */
export const DEAREST: Price = [0, 1, 2].map((kind) =>
  Math.max(...Object.values(prices).map((price) => price[kind]!)),
) as unknown as Price;

/** What may follow a known name: a date, `latest`, `preview` and the like. Anything else is another model. */
const SAME_MODEL =
  /^(-(\d{4}-?\d{2}-?\d{2}|latest|preview|exp|thinking|chat-latest|v\d))*(:(\d|online|nitro|floor|exacto|thinking))*$/;

/**
 * The list price of a model, or null when it is not in the list. A provider's prefix (`openai/`, `us.anthropic.`,
 * `models/`) and a date at the end do not count.
 */
export function listPrice(model: string): Price | null {
  const name = (model.split('/').at(-1) ?? '')
    .toLowerCase()
    .replace(/^([a-z]{2,6}\.)?(anthropic|openai|google|deepseek|moonshotai|zai|xai)\./, '')
    .replace('@', '-');
  return find(name) ?? find(name.replace(/(\d)-(\d)(?!\d)/, '$1.$2'));
}

function find(name: string): Price | null {
  const known = Object.keys(prices)
    .filter((key) => name.startsWith(key) && SAME_MODEL.test(name.slice(key.length)))
    .sort((a, b) => b.length - a.length)[0];
  return known === undefined ? null : prices[known]!;
}

/**
 * The prices of an endpoint. The first that applies: a price that the person gave (`FETCH_MODEL_PRICE`), the
 * list price, nothing on one's own machine or private network, or the highest price of any model in the list. The last
 * keeps a budget of money safe when the price is unknown.
 */
export interface PriceBook {
  /** by model name, in lower case */
  named: ReadonlyMap<string, Price>;
  /** for all other models of the endpoint */
  others: Price | null;
  /** the endpoint is on this machine or in a private network */
  local: boolean;
}

interface CallUsage {
  /** including cached tokens */
  inputTokens: number;
  /** including reasoning */
  outputTokens: number;
  cachedTokens?: number;
  /** what writing the cache cost beside that, as a number of input tokens */
  surchargeTokens?: number;
  /** US dollars, when the endpoint reports the cost */
  usd?: number | null;
}

export interface Cost {
  microUsd: number;
  /** the part that counts at the highest price, because the right price is unknown */
  unpriced: number;
}

type PriceSource = 'given' | 'list' | 'free' | 'unknown';

/** The price of a model. `names`: the name in the answer, then the name in the request; the first known one counts. */
export function priceFor(names: readonly string[], book: PriceBook): { price: Price; source: PriceSource } {
  const all = names.map((name) => name.toLowerCase());
  for (const name of all) {
    const given = book.named.get(name) ?? book.named.get(name.split('/').at(-1)!);
    if (given) return { price: given, source: 'given' };
  }
  if (book.others) return { price: book.others, source: 'given' };
  if (all.some((name) => name.endsWith(':free'))) return { price: FREE, source: 'free' };
  for (const name of all) {
    const price = listPrice(name);
    if (price) return { price, source: 'list' };
  }
  return book.local ? { price: FREE, source: 'free' } : { price: DEAREST, source: 'unknown' };
}

const FREE: Price = [0, 0, 0];

/** The cost of one call, in millionths of a US dollar, rounded up. */
export function costOf(names: readonly string[], usage: CallUsage, book: PriceBook): Cost {
  const { price, source } = priceFor(names, book);
  if (source !== 'given' && usage.usd) return { microUsd: roundUp(usage.usd * 1_000_000), unpriced: 0 };
  const cached = Math.min(usage.cachedTokens ?? 0, usage.inputTokens);
  const [input, cachedInput, output] = price;
  // USD per million tokens is micro-dollars per token
  const fresh = usage.inputTokens - cached + (usage.surchargeTokens ?? 0);
  const microUsd = roundUp(fresh * input + cached * cachedInput + usage.outputTokens * output);
  return { microUsd, unpriced: source === 'unknown' ? microUsd : 0 };
}

/**
 * Writing to Anthropic's cache costs a quarter more than a fresh token, and twice as much for an hour: the part beside
 * the price of a fresh token, as a number of input tokens.
 */
export const cacheSurcharge = (written: number, forAnHour = 0): number => Math.ceil(written / 4 + forAnHour);

/** Rounds off binary fractions before rounding up. */
const roundUp = (value: number): number => Math.ceil(Number(value.toFixed(6)));

/** A price in words, for a person. */
export function priceText(names: readonly string[], book: PriceBook): string {
  const { price, source } = priceFor(names, book);
  const [input, cached, output] = price;
  const figures = `$${input} in, $${output} out${cached === input ? '' : `, $${cached} cached`} per million tokens`;
  if (source === 'unknown')
    return `price not known: budgets count ${figures}, the highest known price; set the right one under Settings`;
  if (source === 'free') return 'no price known, so it counts as free; set one under Settings';
  return `${figures} (${source === 'given' ? 'set by you' : 'list price'})`;
}

/** A number of tokens for a person: `950`, `67k`, `1.2M`. */
export function tokensText(tokens: number): string {
  if (tokens < 1_000) return String(tokens);
  if (tokens < 10_000) return `${(tokens / 1_000).toFixed(1).replace(/\.0$/, '')}k`;
  return tokens < 999_500
    ? `${Math.round(tokens / 1_000)}k`
    : `${(tokens / 1_000_000).toFixed(1).replace(/\.0$/, '')}M`;
}

/** A spend in words, for a person. It always says when part of the price is unknown. */
export function moneyText(
  { tokens, microUsd, unpriced = 0 }: { tokens: number; microUsd: number; unpriced?: number },
  say: Say = english,
): string {
  const money = `$${(microUsd / 1_000_000).toFixed(microUsd > 0 && microUsd < 10_000 ? 4 : 2)}`;
  if (unpriced > 0) return say('money.atMost', { money });
  return tokens > 0 && microUsd === 0 ? say('money.unknown') : money;
}

interface GivenPrices {
  named: Map<string, Price>;
  /** without a name: for all models of the chat endpoint */
  others: Price | null;
}

const MOST_USD = 100_000;

/** Reads `FETCH_MODEL_PRICE`. When it cannot be read, returns a sentence that continues after the setting's name. */
export function readPrices(setting: string): GivenPrices | string {
  const prices: GivenPrices = { named: new Map(), others: null };
  for (const part of setting.split(';').map((text) => text.trim())) {
    if (part === '') continue;
    const at = part.lastIndexOf('=');
    const figures = part
      .slice(at + 1)
      .split(',')
      .map((text) => text.trim());
    const numbers = figures.map((text) => (/^\d{1,6}(\.\d{1,9})?$/.test(text) ? Number(text) : Number.NaN));
    if (numbers.length < 2 || numbers.length > 3 || numbers.some((value) => !(value <= MOST_USD)))
      return `"${part}" must be the price of input, output and perhaps cached input in US dollars per million tokens, such as 0.5,2 or some-model=0.5,2,0.05; more of them behind a ;`;
    const [input, output, cached = numbers[0]!] = numbers as [number, number, number?];
    const name = part.slice(0, Math.max(at, 0)).trim().toLowerCase();
    if (name) prices.named.set(name, [input, cached, output]);
    else prices.others = [input, cached, output];
  }
  return prices;
}

/** @param ours whether it is the chat endpoint, whose price needs no name */
export function priceBook(setting: string | undefined, { ours, local }: { ours: boolean; local: boolean }): PriceBook {
  const given = readPrices(setting ?? '');
  if (typeof given === 'string') throw new Error(`FETCH_MODEL_PRICE: ${given}`);
  return { named: given.named, others: ours ? given.others : null, local };
}
