import { DEAREST, listPrice, type Price } from './prices.ts';

/**
 * What a call costs at its endpoint. The first that applies: a price that the person gave (`FETCH_MODEL_PRICE`), the
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

/** What one call costs, in millionths of a US dollar, rounded up. */
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

/** What is known about a price, for a person. */
export function priceText(names: readonly string[], book: PriceBook): string {
  const { price, source } = priceFor(names, book);
  const [input, cached, output] = price;
  const figures = `$${input} in, $${output} out${cached === input ? '' : `, $${cached} cached`} per million tokens`;
  if (source === 'unknown')
    return `price not known: budgets count ${figures}, the highest known price; set the right one with FETCH_MODEL_PRICE`;
  if (source === 'free') return 'no price: counts as free; set one with FETCH_MODEL_PRICE';
  return `${figures} (${source === 'given' ? 'FETCH_MODEL_PRICE' : 'list price'})`;
}

/** What was spent, for a person. It always says when part of the price is unknown. */
export function moneyText({
  tokens,
  microUsd,
  unpriced = 0,
}: {
  tokens: number;
  microUsd: number;
  unpriced?: number;
}): string {
  const money = `$${(microUsd / 1_000_000).toFixed(microUsd < 10_000 || unpriced > 0 ? 4 : 2)}`;
  if (unpriced > 0)
    return `at most ${money} (the price of a model is not known, so the highest known price counts; set the right one with FETCH_MODEL_PRICE)`;
  return tokens > 0 && microUsd === 0
    ? 'counted as free (your own model, or one without a charge; set a price with FETCH_MODEL_PRICE)'
    : money;
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
