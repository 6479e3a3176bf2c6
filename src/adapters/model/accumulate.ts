import { ModelError } from './error.ts';
import type { ModelAnswer, ModelCall, ModelRequest, ModelUsage } from './model.ts';

/** A chunk of a stream or a whole answer, with every deviation from the protocol that providers have. */
export interface WireChunk {
  model?: string | null;
  choices?: Array<{ delta?: WireMessage | null; message?: WireMessage | null; finish_reason?: string | null }> | null;
  usage?: WireUsage | null;
}
interface WireMessage {
  content?: unknown;
  reasoning_content?: unknown;
  reasoning?: unknown;
  refusal?: unknown;
  tool_calls?: WireCall[] | null;
}
interface WireCall {
  index?: number | null;
  id?: string | null;
  function?: { name?: string | null; arguments?: unknown } | null;
}
interface WireUsage {
  prompt_tokens?: number | null;
  completion_tokens?: number | null;
  total_tokens?: number | null;
  cost?: number | null;
  prompt_cache_hit_tokens?: number | null;
  prompt_tokens_details?: { cached_tokens?: number | null } | null;
  completion_tokens_details?: { reasoning_tokens?: number | null } | null;
}

export interface Accumulator {
  /** a chunk of the stream, or the whole answer of a provider that does not stream */
  add(chunk: WireChunk): void;
  /** throws ModelStreamBroken when the answer was not complete */
  finish(): ModelAnswer;
}

/** Assembles a streamed answer. `promptChars` is for the estimate when the endpoint reports no usage. */
export function accumulator(model: string, promptChars: number, onDelta: ModelRequest['onDelta']): Accumulator {
  let text = '';
  let reasoning = '';
  let finishReason = '';
  let usage: ModelUsage | undefined;
  let named = model;
  const calls: Array<ModelCall & { index: number | undefined }> = [];

  const say = (kind: 'agent_message' | 'agent_reasoning', part: string) => {
    if (part === '') return;
    if (kind === 'agent_message') text += part;
    else reasoning += part;
    onDelta(kind, part);
  };

  const addCall = (part: WireCall) => {
    const index = part.index ?? undefined;
    const id = part.id || undefined;
    const name = part.function?.name || undefined;
    const args = part.function?.arguments;
    // some providers number every call 0, some give no number: a new id with a name begins a new call. A new id without a name comes from a provider that makes
    // up an id for every chunk
    let call =
      index === undefined
        ? id
          ? calls.findLast((known) => known.id === id)
          : name
            ? undefined
            : calls.at(-1)
        : calls.findLast((known) => known.index === index);
    if (call && id && name && call.id && call.id !== id) call = undefined;
    if (!call && index === undefined && !name && calls.length > 0) call = calls.at(-1);
    if (!call) {
      call = { index, id: id ?? '', name: '', arguments: '' };
      calls.push(call);
    }
    call.id ||= id ?? '';
    // the name may be repeated in every chunk, or be split over several
    if (name) call.name = name.startsWith(call.name) ? name : call.name.endsWith(name) ? call.name : call.name + name;
    if (typeof args === 'string') call.arguments += args;
    else if (args !== undefined && args !== null) call.arguments = JSON.stringify(args);
  };

  return {
    add(chunk) {
      if (chunk.model) named = chunk.model;
      if (chunk.usage) usage = readUsage(chunk.usage);
      const choice = chunk.choices?.[0];
      if (!choice) return;
      const message = choice.delta ?? choice.message;
      if (message) {
        const parts = readContent(message.content);
        say('agent_reasoning', parts.reasoning || string(message.reasoning_content) || string(message.reasoning));
        say('agent_message', parts.text || string(message.refusal));
        for (const call of message.tool_calls ?? []) addCall(call);
      }
      if (choice.finish_reason) finishReason = choice.finish_reason;
    },
    finish() {
      if (!finishReason) throw new ModelError('ModelStreamBroken', 'LLM error: the stream ended before the answer was finished');
      if (finishReason === 'error') throw new ModelError('ModelStreamBroken', 'LLM error: the endpoint broke the answer off');
      const done = finishCalls(calls);
      if (calls.length > 0 && done.length === 0 && text === '') {
        throw new ModelError('ModelStreamBroken', 'LLM error: the answer holds nothing but tool calls without a name');
      }
      const outputChars = text.length + reasoning.length + done.reduce((sum, call) => sum + call.name.length + call.arguments.length, 0);
      return {
        text,
        reasoning,
        calls: done,
        usage: usage ?? { inputTokens: Math.ceil(promptChars / 4), outputTokens: Math.ceil(outputChars / 4), cachedTokens: 0, reasoningTokens: 0 },
        usageEstimated: usage === undefined,
        finishReason,
        model: named,
      };
    },
  };
}

/** A call without a name can neither run nor be sent back. Ids must exist and differ, or the next request is refused. */
function finishCalls(calls: readonly ModelCall[]): ModelCall[] {
  const used = new Set<string>();
  return calls
    .filter((call) => call.name !== '')
    .map((call, at) => {
      let id = call.id || `call_${at + 1}`;
      while (used.has(id)) id = `${id}_${at + 1}`;
      used.add(id);
      return { id, name: call.name, arguments: call.arguments.trim() === '' ? '{}' : call.arguments };
    });
}

const string = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Content is a string, null, or (Mistral) a list of text and thinking parts. */
function readContent(content: unknown): { text: string; reasoning: string } {
  if (!Array.isArray(content)) return { text: string(content), reasoning: '' };
  let text = '';
  let reasoning = '';
  for (const part of content as Array<{ type?: string; text?: unknown; thinking?: unknown }>) {
    if (part?.type === 'thinking') reasoning += Array.isArray(part.thinking) ? readContent(part.thinking).text : string(part.thinking);
    else text += string(part?.text);
  }
  return { text, reasoning };
}

function readUsage(usage: WireUsage): ModelUsage | undefined {
  const inputTokens = count(usage.prompt_tokens);
  if (inputTokens === null) return undefined;
  return {
    inputTokens,
    // Gemini and xAI do not count reasoning as completion tokens, but charge it: the total includes it
    outputTokens: Math.max(count(usage.completion_tokens) ?? 0, (count(usage.total_tokens) ?? 0) - inputTokens),
    ...(typeof usage.cost === 'number' && usage.cost > 0 && { usd: Math.min(usage.cost, MOST_USD) }),
    cachedTokens: count(usage.prompt_tokens_details?.cached_tokens) ?? count(usage.prompt_cache_hit_tokens) ?? 0,
    reasoningTokens: count(usage.completion_tokens_details?.reasoning_tokens) ?? 0,
  };
}

/** More tokens than any request has. The sum of two still fits an `int` of PostgreSQL. */
const MOST_TOKENS = 1_000_000_000;
const MOST_USD = 100_000;

/** An endpoint's figure as a whole number that can be stored; null when it is no number. */
const count = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.min(Math.ceil(value), MOST_TOKENS) : null;
