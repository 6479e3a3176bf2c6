/** US dollars per million tokens. */
export type Price = readonly [input: number, cached: number, output: number];

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
