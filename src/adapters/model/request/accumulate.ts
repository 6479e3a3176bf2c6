import { ModelError } from '../error.ts';
import type { ModelAnswer, ModelCall, ModelRequest, ModelUsage } from '../model.ts';

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

type OpenCall = ModelCall & { index: number | undefined };

/** Assembles a streamed answer. */
export class Accumulator {
  private text = '';
  private reasoning = '';
  private finishReason = '';
  private usage: ModelUsage | undefined;
  private model: string;
  private readonly calls: OpenCall[] = [];
  private readonly promptChars: number;
  private readonly onDelta: ModelRequest['onDelta'];

  /** `promptChars` is for the estimate when the endpoint reports no usage. */
  constructor(model: string, promptChars: number, onDelta: ModelRequest['onDelta']) {
    this.model = model;
    this.promptChars = promptChars;
    this.onDelta = onDelta;
  }

  /** A chunk of the stream, or the whole answer of a provider that does not stream. */
  add(chunk: WireChunk): void {
    if (chunk.model) this.model = chunk.model;
    if (chunk.usage) this.usage = readUsage(chunk.usage);
    const choice = chunk.choices?.[0];
    if (!choice) return;
    const message = choice.delta ?? choice.message;
    if (message) this.addMessage(message);
    if (choice.finish_reason) this.finishReason = choice.finish_reason;
  }

  /** Throws ModelStreamBroken when the answer was not complete. */
  finish(): ModelAnswer {
    if (!this.finishReason) throw new ModelError('ModelStreamBroken', 'LLM error: the stream ended before the answer was finished');
    if (this.finishReason === 'error') throw new ModelError('ModelStreamBroken', 'LLM error: the endpoint broke the answer off');
    const calls = finishCalls(this.calls);
    if (this.calls.length > 0 && calls.length === 0 && this.text === '') {
      throw new ModelError('ModelStreamBroken', 'LLM error: the answer holds nothing but tool calls without a name');
    }
    return {
      text: this.text,
      reasoning: this.reasoning,
      calls,
      usage: this.usage ?? this.estimate(calls),
      usageEstimated: this.usage === undefined,
      finishReason: this.finishReason,
      model: this.model,
    };
  }

  private addMessage(message: WireMessage): void {
    const parts = readContent(message.content);
    const reasoning = parts.reasoning || string(message.reasoning_content) || string(message.reasoning);
    const text = parts.text || string(message.refusal);
    if (reasoning !== '') {
      this.reasoning += reasoning;
      this.onDelta('agent_reasoning', reasoning);
    }
    if (text !== '') {
      this.text += text;
      this.onDelta('agent_message', text);
    }
    for (const part of message.tool_calls ?? []) addCallPart(this.calls, part);
  }

  private estimate(calls: readonly ModelCall[]): ModelUsage {
    const chars = this.text.length + this.reasoning.length + calls.reduce((sum, call) => sum + call.name.length + call.arguments.length, 0);
    return { inputTokens: Math.ceil(this.promptChars / 4), outputTokens: Math.ceil(chars / 4), cachedTokens: 0, reasoningTokens: 0 };
  }
}

function addCallPart(calls: OpenCall[], part: WireCall): void {
  const id = part.id || undefined;
  const name = part.function?.name || undefined;
  const args = part.function?.arguments;
  let call = callOf(calls, part.index ?? undefined, id, name);
  if (!call) {
    call = { index: part.index ?? undefined, id: id ?? '', name: '', arguments: '' };
    calls.push(call);
  }
  call.id ||= id ?? '';
  // the name may be repeated in every chunk, or be split over several
  if (name) call.name = name.startsWith(call.name) ? name : call.name.endsWith(name) ? call.name : call.name + name;
  if (typeof args === 'string') call.arguments += args;
  else if (args !== undefined && args !== null) call.arguments = JSON.stringify(args);
}

/**
 * The call that a part belongs to; undefined when it begins a new one. Some providers number every call 0, some give no number: a new id with a name begins a
 * new call. A new id without a name comes from a provider that makes up an id for every chunk.
 */
function callOf(calls: readonly OpenCall[], index: number | undefined, id: string | undefined, name: string | undefined): OpenCall | undefined {
  if (index !== undefined) {
    const numbered = calls.findLast((known) => known.index === index);
    return numbered && id && name && numbered.id && numbered.id !== id ? undefined : numbered;
  }
  const same = id ? calls.findLast((known) => known.id === id) : undefined;
  return same ?? (name ? undefined : calls.at(-1));
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
