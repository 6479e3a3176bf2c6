import { DEAREST, listPrice, type Price } from './prices.ts';

/**
 * What a call costs where it was made: a price that the person gave (`FETCH_MODEL_PRICE`), the list price, nothing on a machine or in a
 * network of one's own, and otherwise the dearest price that any model of the list has: a budget of money holds, whatever the price turns out to be.
 */
export interface PriceBook {
  /** by the name of a model, in small letters */
  named: ReadonlyMap<string, Price>;
  /** for the other models of the endpoint */
  others: Price | null;
  /** the endpoint is on this machine, or in a private network */
  local: boolean;
}

export interface CallUsage {
  /** with the cached ones */
  inputTokens: number;
  /** with reasoning */
  outputTokens: number;
  cachedTokens?: number;
  /** US dollars, where the endpoint says what the call has cost */
  usd?: number | null;
}

export interface Cost {
  microUsd: number;
  /** the part of it that counts at the dearest price, because the right one is not known */
  unpriced: number;
}

export type PriceSource = 'given' | 'list' | 'free' | 'unknown';

/** Which price a model has. `names`: as the answer names it, then as the request did; the first one that is known counts. */
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

/** What one call costs, in millionths of a US dollar, rounded up. */
export function costOf(names: readonly string[], usage: CallUsage, book: PriceBook): Cost {
  const { price, source } = priceFor(names, book);
  if (source !== 'given' && usage.usd) return { microUsd: roundUp(usage.usd * 1_000_000), unpriced: 0 };
  const cached = Math.min(usage.cachedTokens ?? 0, usage.inputTokens);
  const [input, cachedInput, output] = price;
  // USD per million tokens is micro-dollars per token
  const microUsd = roundUp((usage.inputTokens - cached) * input + cached * cachedInput + usage.outputTokens * output);
  return { microUsd, unpriced: source === 'unknown' ? microUsd : 0 };
}

/** Rounded to hide binary fractions before it is rounded up. */
const roundUp = (value: number): number => Math.ceil(Number(value.toFixed(6)));

/** What is known of a price, for a person. */
export function priceText(names: readonly string[], book: PriceBook): string {
  const { price, source } = priceFor(names, book);
  const [input, cached, output] = price;
  const figures = `$${input} in, $${output} out${cached === input ? '' : `, $${cached} cached`} per million tokens`;
  if (source === 'unknown') return `price not known: budgets count ${figures}, the dearest known; FETCH_MODEL_PRICE gives the right one`;
  if (source === 'free') return 'no price: counts as free; FETCH_MODEL_PRICE gives one';
  return `${figures} (${source === 'given' ? 'FETCH_MODEL_PRICE' : 'list price'})`;
}

/** What was spent, for a person: no price that is not known is passed over in silence. */
export function moneyText({ tokens, microUsd, unpriced = 0 }: { tokens: number; microUsd: number; unpriced?: number }): string {
  const money = `$${(microUsd / 1_000_000).toFixed(microUsd < 10_000 || unpriced > 0 ? 4 : 2)}`;
  if (unpriced > 0) return `at most ${money} (the price of a model is not known, so the dearest known one counts; FETCH_MODEL_PRICE gives the right one)`;
  return tokens > 0 && microUsd === 0 ? 'counted as free (a model of your own or one without a charge; FETCH_MODEL_PRICE gives a price)' : money;
}

export interface GivenPrices {
  named: Map<string, Price>;
  /** without a name: of all models of the endpoint of chats */
  others: Price | null;
}

const MOST_USD = 100_000;

/** Reads `FETCH_MODEL_PRICE`; a sentence, to be read behind its name, where it cannot be read. */
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

/** @param ours whether it is the endpoint of chats, whose price needs no name */
export function priceBook(setting: string | undefined, { ours, local }: { ours: boolean; local: boolean }): PriceBook {
  const given = readPrices(setting ?? '');
  if (typeof given === 'string') throw new Error(`FETCH_MODEL_PRICE: ${given}`);
  return { named: given.named, others: ours ? given.others : null, local };
}
