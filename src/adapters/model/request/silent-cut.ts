import { SMALLEST_CONTEXT } from '../../../domain/model/context-size.ts';
import type { ModelAnswer, ModelMessage, ModelRequest, ModelTool } from '../model.ts';
import { promptChars } from './ask.ts';

/**
 * Servers that drop what does not fit and answer to the rest: Ollama (4,096 tokens unless it is told otherwise), older
 * llama.cpp. Ollama keeps the system message, the tools and the newest messages; when these alone do not fit, it fills
 * its context with a part of them.
 */

/** Usual sizes of contexts. */
const SIZES = [2_048, 4_096, 6_144, 8_192, 12_288, 16_384, 24_576, 32_768, 40_960, 49_152, 65_536, 98_304, 131_072];
/** Of a full context at least this share is reported. */
const FULL = 0.97;
/** A text has hardly fewer tokens than this many for each word. */
const SURE = 0.8;
/** Below this many tokens for each character the words are worth counting. */
const SPARSE = 0.2;

/** A request of which the endpoint has read a part. */
interface SilentCut {
  /** the least that the whole request has in any vocabulary, in tokens */
  least: number;
  /** the usual size of a context that explains it */
  size: number;
}

/**
 * Whether the endpoint has read only a part of a request, by the tokens that it reports; null when nothing shows that.
 * An endpoint that leaves cached tokens out of its count reports less than the system message and the tools alone have.
 */
export function silentCut(
  request: Pick<ModelRequest, 'messages' | 'tools'>,
  { usage, usageEstimated }: Pick<ModelAnswer, 'usage' | 'usageEstimated'>,
): SilentCut | null {
  const { inputTokens: read, cachedTokens } = usage;
  if (usageEstimated || cachedTokens > 0 || read <= SMALLEST_CONTEXT || read > promptChars(request) * SPARSE)
    return null;
  const { tools, messages } = request;
  const size = SIZES.find((each) => each >= read);
  const least = Math.floor(wordsOf(tools, messages) * SURE);
  if (size === undefined || read >= least) return null;
  const kept = wordsOf(tools, [...messages.filter(({ role }) => role === 'system'), ...messages.slice(-1)]);
  return read >= kept || read >= size * FULL ? { least, size } : null;
}

const wordsOf = (tools: readonly ModelTool[], messages: readonly ModelMessage[]): number =>
  [JSON.stringify(tools), ...messages.map(textOf)].reduce((sum, text) => sum + wordsIn(text), 0);

const textOf = (message: ModelMessage): string =>
  message.role === 'assistant' && message.calls
    ? `${message.content} ${message.calls.map((call) => `${call.name} ${call.arguments}`).join(' ')}`
    : message.content;

/** Words, numbers and runs of signs, at whose borders every tokenizer splits. */
const wordsIn = (text: string): number => text.match(/\p{L}+|\p{N}{1,3}|[^\s\p{L}\p{N}]+/gu)?.length ?? 0;
