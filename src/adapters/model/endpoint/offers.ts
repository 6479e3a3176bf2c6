import { priceBook, priceFor } from '../../../domain/model/price-book.ts';
import { MINUTE } from '../../../domain/time.ts';
import type { Endpoint } from '../model.ts';
import { listedModels } from './client.ts';
import { isLocalEndpoint } from './endpoint.ts';

/** A model that an endpoint lists, with what is known of it. */
export interface Offer {
  name: string;
  /** whether it can call tools; null: the endpoint does not say */
  tools: boolean | null;
  /** US dollars per million tokens; null: not known */
  price: { input: number; output: number } | null;
}

/** How OpenRouter describes a model beside its name. Others give the name only. */
interface Listed {
  id: string;
  supported_parameters?: unknown;
  pricing?: { prompt?: unknown; completion?: unknown };
}

/** A list is as good as new for this long: endpoints add models rarely. */
const FRESH_MS = 10 * MINUTE;
const known = new Map<string, { at: number; listed: readonly Listed[] }>();

/** What an endpoint offers: those that can call tools first, then by name. @throws ModelError */
export async function offersOf(
  endpoint: Endpoint,
  options: { price?: string | undefined; timeoutMs: number },
): Promise<Offer[]> {
  const { baseUrl } = endpoint;
  const cached = known.get(baseUrl);
  const fresh =
    cached && Date.now() - cached.at < FRESH_MS
      ? cached.listed
      : ((await listedModels(endpoint, options.timeoutMs)) as readonly Listed[]);
  if (fresh !== cached?.listed) known.set(baseUrl, { at: Date.now(), listed: fresh });
  const book = priceBook(options.price, { ours: true, local: isLocalEndpoint(baseUrl) });
  return fresh
    .map(
      (listed): Offer => ({ name: listed.id, tools: toolsOf(listed), price: ownPrice(listed) ?? listPrice(listed.id) }),
    )
    .sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1));

  function listPrice(name: string): Offer['price'] {
    const { price, source } = priceFor([name], book);
    return source === 'unknown' ? null : { input: price[0], output: price[2] };
  }
}

const rank = ({ tools }: Offer): number => (tools === true ? 0 : tools === null ? 1 : 2);

const toolsOf = ({ supported_parameters: known }: Listed): boolean | null =>
  Array.isArray(known) ? known.includes('tools') : null;

/** OpenRouter gives dollars per token as text; a negative price means that it depends. */
function ownPrice({ pricing }: Listed): Offer['price'] {
  const [input, output] = [pricing?.prompt, pricing?.completion].map((text) =>
    typeof text === 'string' && text !== '' ? Number(text) : Number.NaN,
  );
  return input! >= 0 && output! >= 0 ? { input: perMillion(input!), output: perMillion(output!) } : null;
}

const perMillion = (usd: number): number => Number((usd * 1_000_000).toFixed(6));
