import type { AnswerEnd } from '../../../contracts/model.ts';
import { cacheSurcharge } from '../../../domain/model/price-book.ts';
import { type LostAnswer, type ModelAnswer, ModelError, type ModelRequest, type ModelUsage } from '../model.ts';
import { AnswerDraft, tokens, type Watch, watched, watchedBytes } from '../request/ask.ts';
import type { AnswerTimes } from '../request/silence.ts';
import { leanFetch } from '../request/transport.ts';
import { promptOf, type StepPart } from './prompt.ts';
import type { SdkCall, SdkModel, Vendor } from './vendors.ts';

interface NativeOptions {
  baseUrl: string;
  apiKey: string | undefined;
  /** fields that the model refuses */
  omit?: readonly string[] | undefined;
  times: AnswerTimes;
  secrets: readonly string[];
}

type StreamPart = Awaited<ReturnType<SdkModel['doStream']>>['stream'] extends ReadableStream<infer Part> ? Part : never;
type Finish = Extract<StreamPart, { type: 'finish' }>;

/**
 * Asks a vendor in its own protocol once, through the AI SDK's package for it. Throws `ModelError`, or the reason of
 * the aborted signal.
 */
export const askNative = (vendor: Vendor, options: NativeOptions, request: ModelRequest): Promise<ModelAnswer> =>
  watched(request, options, async (watch) => {
    const address = {
      baseUrl: options.baseUrl,
      apiKey: options.apiKey ?? 'none',
      fetch: watchedFetch(vendor, watch, request.signal),
    };
    const model = await vendor.open(address, request.model);
    try {
      const { stream } = await model.doStream(callOf(vendor, options, request, watch.controller.signal));
      const reader = new NativeReader(vendor, request);
      watch.sofar = () => reader.sofar();
      for await (const part of stream) {
        if (part.type !== 'stream-start') watch.part();
        if (reader.add(part)) return reader.finish(options.baseUrl);
      }
      throw new ModelError('ModelStreamBroken', 'LLM error: the stream ended before the answer was finished');
    } catch (error) {
      throw readable(error);
    }
  });

/** A request in the form of the SDK. */
function callOf(
  vendor: Vendor,
  { baseUrl, omit = [] }: NativeOptions,
  request: ModelRequest,
  signal: AbortSignal,
): SdkCall {
  const { model, messages, tools, effort, maxTokens = vendor.mostTokens } = request;
  const last = tools.length - 1;
  return {
    prompt: promptOf(messages, vendor, { endpoint: baseUrl, model }),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, parameters }, at) => ({
        type: 'function' as const,
        name,
        description,
        inputSchema: parameters,
        ...(vendor.marksCache &&
          at === last && { providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } }),
      })),
    }),
    ...(maxTokens !== undefined && { maxOutputTokens: maxTokens }),
    ...(isEffort(effort) && { reasoning: effort }),
    providerOptions: { [vendor.key]: vendor.options(model, omit) },
    headers: { 'x-fetch-request-id': request.requestId },
    abortSignal: signal,
  };
}

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
const isEffort = (effort: string | undefined): effort is (typeof EFFORTS)[number] =>
  EFFORTS.some((known) => known === effort);

/** `fetch` over our own connections, whose bytes are signs of life. */
const watchedFetch =
  (vendor: Vendor, watch: Watch, stop: AbortSignal): typeof fetch =>
  async (input, init) => {
    const answer = await leanFetch(input as string, init);
    if (answer.ok) watch.accepted();
    const bytes = watchedBytes(answer.body as unknown as AsyncIterable<Uint8Array>, watch);
    const body = answer.ok ? upToEnd(bytes, vendor, stop) : bytes;
    return new Response(ReadableStream.from(body), { status: answer.status, headers: answer.headers });
  };

/**
 * The same bytes. An endpoint that falls silent, or a connection that is lost, behind the event that says how the
 * answer ends takes nothing from it.
 */
async function* upToEnd(
  body: AsyncIterable<Uint8Array>,
  { isEnd, lastEvent = '' }: Vendor,
  stop: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const decoder = new TextDecoder();
  let rest = '';
  let hasEnded = false;
  const read = (text: string) => {
    const lines = (rest + text).split(/[\r\n]+/);
    rest = lines.pop()!;
    hasEnded ||= lines.some((line) => line.startsWith('data:') && isEnd(parsed(line.slice(5)) ?? {}));
  };
  try {
    for await (const bytes of body) {
      yield bytes;
      read(decoder.decode(bytes, { stream: true }));
    }
  } catch (error) {
    if (!hasEnded || stop.aborted) throw error;
  }
  read('\n');
  if (hasEnded) yield new TextEncoder().encode(`\n\n${lastEvent}`);
}

/** Reads the parts of one answer. */
class NativeReader {
  private readonly draft: AnswerDraft;
  private readonly vendor: Vendor;
  private readonly request: ModelRequest;
  private readonly parts: StepPart[] = [];
  /** parts that are not at their end, by kind and id */
  private readonly open = new Map<string, StepPart>();
  private model = '';
  private last: Finish | undefined;
  /** something came that the SDK does not know, so what it gave may not be all that the vendor wants back */
  private odd = false;

  constructor(vendor: Vendor, request: ModelRequest) {
    this.draft = new AnswerDraft(request);
    this.vendor = vendor;
    this.request = request;
  }

  /** True at the last part. */
  add(part: StreamPart): boolean {
    switch (part.type) {
      case 'text-start':
        this.draft.breakText();
        this.begin({ kind: 'text', text: '' }, part);
        break;
      case 'reasoning-start':
        this.draft.breakThought();
        this.begin({ kind: 'thought', text: '' }, part);
        break;
      case 'tool-input-start':
        this.begin({ kind: 'call', text: '', id: part.id, name: part.toolName }, part);
        break;
      case 'text-delta':
        this.grow('text', part).text += part.delta;
        this.draft.say(part.delta);
        break;
      case 'reasoning-delta':
        this.grow('thought', part).text += part.delta;
        this.draft.think(part.delta);
        break;
      case 'tool-input-delta':
        this.grow('call', part).text += part.delta;
        break;
      case 'text-end':
      case 'reasoning-end':
        this.grow(part.type === 'text-end' ? 'text' : 'thought', part);
        break;
      case 'tool-call': {
        const call = this.grow('call', { ...part, id: part.toolCallId });
        Object.assign(call, { id: part.toolCallId, name: part.toolName, text: part.input });
        break;
      }
      case 'response-metadata':
        this.model = part.modelId ?? this.model;
        break;
      case 'error':
        if ((part.error as Error | undefined)?.name !== 'AI_TypeValidationError') throw part.error;
        this.odd = true;
        break;
      case 'finish':
        this.last = part;
        break;
    }
    return this.last !== undefined;
  }

  finish(endpoint: string): ModelAnswer {
    const { finishReason, usage } = this.last!;
    for (const { kind, id, name, text } of this.parts)
      if (kind === 'call') this.draft.call({ id: id!, name: name!, arguments: text });
    const { wire } = this.vendor;
    const { model } = this.request;
    return this.draft.finish({
      finishReason: finishReason.raw ?? finishReason.unified,
      end: endOf(finishReason),
      model: this.model || model,
      usage: usageOf(usage),
      ...(!this.odd && this.parts.length > 0 && { state: { wire, endpoint, model, data: { parts: this.parts } } }),
    });
  }

  /** The usage of an answer that ended early. */
  sofar(): LostAnswer {
    const calls = this.parts.filter(({ kind }) => kind === 'call');
    const estimated = this.draft.sofar(
      this.model,
      calls.reduce((sum, { text }) => sum + text.length, 0),
    );
    const told = this.last && usageOf(this.last.usage);
    return told ? { ...estimated, usage: told, usageEstimated: false } : estimated;
  }

  private begin(
    part: StepPart,
    { id, providerMetadata }: { id: string; providerMetadata?: Record<string, object> },
  ): StepPart {
    this.parts.push(part);
    this.open.set(`${part.kind} ${id}`, part);
    this.mark(part, providerMetadata);
    return part;
  }

  private grow(kind: StepPart['kind'], given: { id: string; providerMetadata?: Record<string, object> }): StepPart {
    const part = this.open.get(`${kind} ${given.id}`) ?? this.begin({ kind, text: '' }, given);
    this.mark(part, given.providerMetadata);
    return part;
  }

  /** A signature may come with any piece of its part. */
  private mark(part: StepPart, metadata: Record<string, object> | undefined): void {
    const own = metadata?.[this.vendor.key];
    if (own) part.meta = { ...part.meta, ...own };
  }
}

function endOf({ unified, raw }: Finish['finishReason']): AnswerEnd {
  if (raw === 'model_context_window_exceeded')
    throw new ModelError('ContextOverflow', 'LLM error: the context of the model is full');
  // `MALFORMED_FUNCTION_CALL` of Gemini is a slip: asked again, the model does better
  if (unified === 'interrupted' || unified === 'error') {
    throw new ModelError('ModelStreamBroken', `LLM error: the answer was broken off${raw ? ` (${raw})` : ''}`);
  }
  if (unified === 'content-filter') return 'refused';
  return unified === 'stop' || unified === 'tool-calls' ? 'complete' : 'cut';
}

function usageOf({ inputTokens, outputTokens }: Finish['usage']): ModelUsage | undefined {
  if (inputTokens.total === undefined) return undefined;
  return {
    inputTokens: tokens(inputTokens.total),
    cachedTokens: tokens(inputTokens.cacheRead),
    ...(tokens(inputTokens.cacheWrite) > 0 && { surchargeTokens: cacheSurcharge(tokens(inputTokens.cacheWrite)) }),
    outputTokens: tokens(outputTokens.total),
    reasoningTokens: tokens(outputTokens.reasoning),
  };
}

/** An error of the SDK in the form that `classify` reads: status, headers and the body of the vendor. */
function readable(thrown: unknown): unknown {
  const error = thrown as {
    name?: string;
    message?: string;
    statusCode?: number;
    responseHeaders?: object;
    responseBody?: string;
    data?: unknown;
    cause?: unknown;
  };
  if (error.statusCode !== undefined && error.statusCode >= 300) {
    const body = error.responseBody === undefined ? error.data : parsed(error.responseBody);
    const headers = new Headers(error.responseHeaders as Record<string, string> | undefined);
    return Object.assign(new Error(error.message), { status: error.statusCode, headers, error: inner(body) });
  }
  // the SDK wraps a lost connection
  if (error.name === 'AI_APICallError') return error.cause ?? error;
  if (error.data !== undefined && !(thrown instanceof Error))
    return Object.assign(new Error(error.message), { error: inner(error.data) });
  if (error.name?.startsWith('AI_') || error.message === 'Expected a normalized Anthropic stream error') {
    return new ModelError('ModelStreamBroken', 'LLM error: unreadable answer', { cause: thrown });
  }
  return thrown;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Vendors put their error into `error`, and Gemini sometimes into a list. */
function inner(body: unknown): unknown {
  const first: unknown = Array.isArray(body) ? body[0] : body;
  return (first as { error?: unknown } | null | undefined)?.error ?? first;
}
