import type { Wire } from './routes.ts';

/** The usage of a call, from its answers so far. */
export interface Seen {
  model: string | null;
  /** input tokens, without those of the two caches */
  fresh: number;
  /** input tokens from the provider's cache */
  cached: number;
  /** tokens written to the cache for five minutes and for an hour, which cost more than fresh ones */
  cacheWrites: number;
  longCacheWrites: number;
  output: number;
  /** US dollars, when the provider reports them */
  usd: number | null;
  /** the final figures have come; without them the rest is estimated */
  complete: boolean;
  /** characters of the answer: text, thoughts and arguments of tool calls */
  characters: number;
  /** the answer says that the endpoint refuses after all */
  refusal: StreamRefusal | null;
}

// answers from outside: anything may be missing or have another type
type Any = Record<string, unknown>;
const part = (value: unknown): Any => (typeof value === 'object' && value !== null ? (value as Any) : {});
const list = (value: unknown): Any[] => (Array.isArray(value) ? value.map(part) : []);
/** More than any call uses, and far below what PostgreSQL can add up. */
const MOST_TOKENS = 1_000_000_000;
const MOST_USD = 100_000;
const count = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.min(Math.ceil(value), MOST_TOKENS) : null;
const letters = (...values: unknown[]): number =>
  values.reduce<number>((sum, value) => sum + (typeof value === 'string' ? value.length : 0), 0);
const named = (value: unknown): string | null => (typeof value === 'string' && value ? value : null);

/** Reads one event of a stream, or a whole answer. */
export const READERS: Record<Wire, (event: unknown, seen: Seen) => void> = { anthropic, chat, responses, gemini };

function anthropic(event: unknown, seen: Seen): void {
  const { type, message, delta, model, content } = part(event);
  const usage = part(part(message).usage ?? part(event).usage);
  seen.model = named(part(message).model) ?? named(model) ?? seen.model;
  seen.fresh = count(usage.input_tokens) ?? seen.fresh;
  seen.cached = count(usage.cache_read_input_tokens) ?? seen.cached;
  const long = count(part(usage.cache_creation).ephemeral_1h_input_tokens) ?? 0;
  const writes = count(usage.cache_creation_input_tokens);
  if (writes !== null) {
    seen.longCacheWrites = Math.min(long, writes);
    seen.cacheWrites = writes - seen.longCacheWrites;
  }
  // cumulative: the last one counts
  seen.output = count(usage.output_tokens) ?? seen.output;
  seen.characters += letters(part(delta).text, part(delta).thinking, part(delta).partial_json);
  for (const block of list(content)) seen.characters += letters(block.text, block.thinking);
  if ((type === 'message_delta' || type === 'message') && count(usage.output_tokens) !== null) seen.complete = true;
}

function chat(event: unknown, seen: Seen): void {
  const { model, usage, choices } = part(event);
  seen.model = named(model) ?? seen.model;
  for (const choice of list(choices)) {
    const said = part(choice.delta ?? choice.message);
    seen.characters += letters(said.content, said.reasoning_content, said.reasoning);
    for (const call of list(said.tool_calls)) seen.characters += letters(part(call.function).arguments);
  }
  openai(part(usage), seen, 'prompt_tokens', 'completion_tokens', 'prompt_tokens_details');
}

function responses(event: unknown, seen: Seen): void {
  const { type, delta, response } = part(event);
  const whole = part(response ?? event);
  seen.model = named(whole.model) ?? seen.model;
  if (typeof type === 'string' && type.endsWith('.delta')) seen.characters += letters(delta);
  openai(part(whole.usage), seen, 'input_tokens', 'output_tokens', 'input_tokens_details');
}

function openai(usage: Any, seen: Seen, input: string, output: string, details: string): void {
  const read = count(usage[input]);
  const written = count(usage[output]);
  if (read === null || written === null) return;
  seen.cached = Math.min(count(part(usage[details]).cached_tokens) ?? 0, read);
  seen.fresh = read - seen.cached;
  // some do not count reasoning as output, but charge it; the total includes it
  seen.output = Math.max(written, (count(usage.total_tokens) ?? 0) - read);
  seen.usd = typeof usage.cost === 'number' && usage.cost > 0 ? Math.min(usage.cost, MOST_USD) : null;
  seen.complete = true;
}

function gemini(event: unknown, seen: Seen): void {
  // without `alt=sse` a stream is one JSON array
  for (const chunk of Array.isArray(event) ? list(event) : [part(event)]) {
    const usage = part(chunk.usageMetadata);
    seen.model = named(chunk.modelVersion) ?? seen.model;
    const read = count(usage.promptTokenCount);
    if (read !== null) {
      const all = read + (count(usage.toolUsePromptTokenCount) ?? 0);
      seen.cached = Math.min(count(usage.cachedContentTokenCount) ?? 0, all);
      seen.fresh = all - seen.cached;
      seen.output = (count(usage.candidatesTokenCount) ?? 0) + (count(usage.thoughtsTokenCount) ?? 0);
    }
    for (const candidate of list(chunk.candidates)) {
      for (const piece of list(part(candidate.content).parts))
        seen.characters += letters(piece.text) + letters(JSON.stringify(piece.functionCall));
      if (candidate.finishReason && read !== null) seen.complete = true;
    }
    // a blocked prompt has no candidate
    if (chunk.promptFeedback && read !== null) seen.complete = true;
  }
}

/**
 * A limit or an overload that an endpoint tells of inside of an answer with status 200: the status that it would have
 * had, and the error.
 */
export interface StreamRefusal {
  status: number;
  error: unknown;
}

// answers from outside: anything may be missing or have another type

/** The codes and types that providers have, in the place of a status. */
const STATUS_OF: Record<string, number> = {
  rate_limit_error: 429, // Anthropic
  overloaded_error: 529,
  rate_limit_exceeded: 429, // OpenAI
  insufficient_quota: 429,
  server_is_overloaded: 503,
  slow_down: 503,
  RESOURCE_EXHAUSTED: 429, // Gemini
  UNAVAILABLE: 503,
};
/** A number in the place of a code: Gemini, OpenRouter and other proxies. */
const NUMBERS: ReadonlySet<unknown> = new Set([402, 429, 503, 529, '402', '429', '503', '529']);

/** Reads one event of a stream, or a whole answer. Null for everything else, other errors as well. */
export function refusalIn(wire: Wire, event: unknown): StreamRefusal | null {
  // Gemini without `alt=sse` answers with one array
  const events = Array.isArray(event) ? event.map(part) : [part(event)];
  for (const one of events) {
    const error = errorOf(wire, one);
    const status = error && statusOf(error);
    if (status) return { status, error };
  }
  return null;
}

function errorOf(wire: Wire, event: Any): Any | null {
  const { type, error, response } = event;
  if (wire === 'anthropic') return type === 'error' ? part(error) : null;
  if (wire !== 'responses') return error ? part(error) : null;
  if (type === 'response.failed') return part(part(response).error);
  // the error itself, or around it
  return type === 'error' ? part(error ?? event) : null;
}

function statusOf({ code, type, status }: Any): number | null {
  if (NUMBERS.has(code)) return Number(code);
  for (const name of [code, type, status])
    if (typeof name === 'string' && Object.hasOwn(STATUS_OF, name)) return STATUS_OF[name]!;
  return null;
}
