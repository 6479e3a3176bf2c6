import { cacheSurcharge } from '../../../domain/model/price-book.ts';
import type { ModelUsage } from '../model.ts';

/** More tokens than any request has. The sum of two still fits an `int` of PostgreSQL. */
export const MOST_TOKENS = 1_000_000_000;
const MOST_USD = 100_000;

type Figures = Partial<
  Record<'input' | 'output' | 'total' | 'cached' | 'written' | 'writtenForAnHour' | 'reasoning' | 'usd', number>
>;

/**
 * The places of each figure: OpenAI's, then Anthropic's, Gemini's, Ollama's and others'. A dot leads into an object.
 */
const NAMES: Record<keyof Figures, string[]> = {
  input: [
    'prompt_tokens',
    'input_tokens',
    'promptTokenCount',
    'prompt_eval_count',
    'promptTokens',
    'inputTokens',
    'prompt_token_count',
    'inputTokenCount', // Bedrock
  ],
  output: [
    'completion_tokens',
    'output_tokens',
    'candidatesTokenCount',
    'eval_count',
    'completionTokens',
    'outputTokens',
    'generated_tokens',
    'outputTokenCount',
  ],
  total: ['total_tokens', 'totalTokenCount', 'totalTokens'],
  cached: [
    'prompt_tokens_details.cached_tokens',
    'input_tokens_details.cached_tokens',
    'prompt_cache_hit_tokens',
    'cached_tokens',
    'cachedContentTokenCount',
    'cache_read_input_tokens',
  ],
  // Anthropic does not count what it writes into the cache as input
  written: ['cache_creation_input_tokens', 'prompt_tokens_details.cache_write_tokens'],
  writtenForAnHour: ['cache_creation.ephemeral_1h_input_tokens'],
  reasoning: [
    'completion_tokens_details.reasoning_tokens',
    'output_tokens_details.reasoning_tokens',
    'reasoning_tokens',
    'thoughtsTokenCount',
  ],
  usd: ['cost', 'total_cost', 'cost_usd'],
};

const PLACES = Object.entries(NAMES).map(
  ([figure, places]) => [figure as keyof Figures, places.map((place) => place.split('.'))] as const,
);

/**
 * The usage that an answer reports: once, growing with every chunk, or in parts. The last figure counts; a zero behind
 * one that is not is a part that lacks it.
 */
export class UsageReader {
  private readonly figures: Figures = {};
  /** input tokens of Anthropic's names, which are without those of the cache */
  private apart = false;

  /** Any object that may hold figures. */
  add(usage: unknown): void {
    if (typeof usage !== 'object' || usage === null) return;
    for (const [figure, places] of PLACES) {
      for (const place of places) {
        const told = place.reduce<unknown>(
          (at, key) => (at as Record<string, unknown> | null | undefined)?.[key],
          usage,
        );
        const value = count(told, figure === 'usd');
        if (value === null) continue;
        if (value > 0 || this.figures[figure] === undefined) this.figures[figure] = value;
        break;
      }
    }
    if ('cache_read_input_tokens' in usage && 'input_tokens' in usage && !('prompt_tokens' in usage)) this.apart = true;
  }

  /** Undefined when the endpoint reported none. */
  result(): ModelUsage | undefined {
    const { input, output = 0, total = 0, cached = 0, written = 0, reasoning = 0, usd = 0 } = this.figures;
    // no request has no tokens at all: such a server does not count
    if (input === undefined || input + output + total === 0) return undefined;
    const inputTokens = this.apart ? Math.min(input + cached + written, MOST_TOKENS) : input;
    const long = Math.min(this.figures.writtenForAnHour ?? 0, written);
    return {
      inputTokens,
      ...(written > 0 && { surchargeTokens: cacheSurcharge(written - long, long) }),
      // Gemini and xAI do not count reasoning as completion tokens, but charge it: the total includes it
      outputTokens: Math.max(output, total - inputTokens),
      ...(usd > 0 && { usd: Math.min(usd, MOST_USD) }),
      cachedTokens: cached,
      reasoningTokens: reasoning,
    };
  }
}

/** The usage of an endpoint that reports none, from characters: a token has four of them. */
export const estimatedUsage = (promptChars: number, answerChars: number): ModelUsage => ({
  inputTokens: Math.ceil(promptChars / 4),
  outputTokens: Math.ceil(answerChars / 4),
  cachedTokens: 0,
  reasoningTokens: 0,
});

/** An endpoint's figure, also one in quotes, as a number that can be stored; null when it is no number. */
function count(value: unknown, exact: boolean): number | null {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number) || number < 0) return null;
  return exact ? number : Math.min(Math.ceil(number), MOST_TOKENS);
}
