import type OpenAI from 'openai';
import { Stream } from 'openai/streaming';
import type { AnswerEnd } from '../../../contracts/model.ts';
import { type LostAnswer, type ModelAnswer, ModelError, type ModelRequest, type ModelUsage } from '../model.ts';
import { AnswerDraft, tokens, type Watch, watched, watchedBytes } from '../request/ask.ts';
import type { AnswerTimes } from '../request/silence.ts';
import { textOf } from '../request/transport.ts';
import { isCall, isWhole, type ResponseItem, responsesBody } from './input.ts';

interface ResponsesOptions {
  client: OpenAI;
  baseUrl: string;
  times: AnswerTimes;
  secrets: readonly string[];
  /** fields that the model refuses */
  omit?: readonly string[] | undefined;
}

/**
 * The parts of a response and of its events that are read. Source:
 * https://platform.openai.com/docs/api-reference/responses-streaming
 */
interface ResponseBody {
  model?: string;
  output?: ResponseItem[];
  status?: string;
  incomplete_details?: { reason?: string } | null;
  error?: { code?: string; message?: string } | null;
  usage?: {
    input_tokens?: number;
    output_tokens?: number;
    input_tokens_details?: { cached_tokens?: number } | null;
    output_tokens_details?: { reasoning_tokens?: number } | null;
  } | null;
}
interface ResponseEvent {
  type: string;
  output_index?: number;
  delta?: unknown;
  item?: ResponseItem;
  response?: ResponseBody;
}

/**
 * Asks `POST /responses` once, without leaving anything stored at the endpoint. Throws `ModelError`, or the reason of
 * the aborted signal.
 */
export const askResponses = (options: ResponsesOptions, request: ModelRequest): Promise<ModelAnswer> =>
  watched(request, options, async (watch) => {
    const body = responsesBody(request, options.baseUrl, options.omit);
    const response = await options.client
      .post('/responses', {
        body,
        stream: true,
        signal: watch.controller.signal,
        headers: { 'content-type': 'application/json', 'x-fetch-request-id': request.requestId },
      })
      .asResponse();
    watch.accepted();
    const reader = new ResponseReader(request);
    watch.sofar = () => reader.sofar();
    for await (const event of eventsOf(options.client, response, watch)) {
      watch.part();
      if (reader.add(event)) return reader.finish(options.baseUrl);
    }
    // when the request was aborted, the SDK ends the loop without an error
    if (watch.controller.signal.aborted) throw watch.controller.signal.reason;
    if (reader.isWhole) return reader.finish(options.baseUrl);
    throw new ModelError('ModelStreamBroken', 'LLM error: the stream ended before the answer was finished');
  });

/** The events of a response. Of an endpoint that does not stream: its answer as the last one. */
async function* eventsOf(client: OpenAI, response: Response, watch: Watch): AsyncGenerator<ResponseEvent> {
  const { headers } = response;
  const body = watchedBytes(response.body as unknown as AsyncIterable<Uint8Array>, watch);
  if (/\bjson\b/i.test(headers.get('content-type') ?? '')) {
    const whole = JSON.parse(await textOf(body)) as ResponseBody;
    yield { type: `response.${whole.error ? 'failed' : (whole.status ?? 'completed')}`, response: whole };
    return;
  }
  const tail = { text: '' };
  const told = { headers, body: withTail(body, tail) } as unknown as Response;
  // the SDK aborts the controller when its stream is left early. That would cost the connection, so it gets one of its
  // own
  yield* Stream.fromSSEResponse<ResponseEvent>(told, new AbortController(), client);
  if (DONE.test(tail.text)) yield { type: 'done' };
}

/** The word of chat completions that everything was said; gateways that translate them leave out the last event. */
const DONE = /data: ?\[DONE\]\s*$/;

/** The same bytes; `tail` has the text of the last of them. */
async function* withTail(body: AsyncIterable<Uint8Array>, tail: { text: string }): AsyncGenerator<Uint8Array> {
  for await (const bytes of body) {
    tail.text = (tail.text + Buffer.from(bytes.subarray(-40)).toString('latin1')).slice(-40);
    yield bytes;
  }
}

/**
 * Reads the events of one response. Deltas are for the eye; the finished items are what counts and what is sent back.
 */
class ResponseReader {
  private readonly draft: AnswerDraft;
  private readonly model: string;
  /** finished items by their place in the output */
  private readonly items: ResponseItem[] = [];
  /** how much of an item was streamed, in characters, by its place */
  private readonly streamed = new Map<number, { text: number; thought: number }>();
  /** characters of the arguments of calls */
  private called = 0;
  /** places of calls that have begun */
  private readonly begun = new Set<number>();
  private isDone = false;
  private refused = false;
  private last: ResponseBody = {};

  constructor(request: ModelRequest) {
    this.draft = new AnswerDraft(request);
    this.model = request.model;
  }

  /** True at the last event. */
  add(event: ResponseEvent): boolean {
    const at = event.output_index ?? 0;
    if (event.type === 'response.output_text.delta' || event.type === 'response.refusal.delta')
      this.stream(at, 'text', event.delta);
    else if (event.type === 'response.reasoning_summary_text.delta' || event.type === 'response.reasoning_text.delta')
      this.stream(at, 'thought', event.delta);
    else if (event.type === 'response.reasoning_summary_part.added') this.draft.breakThought();
    else if (event.type === 'response.function_call_arguments.delta') {
      this.called += String(event.delta ?? '').length;
      this.begun.add(at);
    } else if (event.type === 'done') this.isDone = true;
    else if (event.type === 'response.output_item.done' && event.item) this.done(at, event.item);
    else if (LAST_EVENTS.has(event.type)) {
      this.last = event.response ?? {};
      if (event.type === 'response.failed') throw failureOf(this.last);
      // what an endpoint did not stream item by item, and what was cut in the middle of an item
      this.last.output?.forEach((item, place) => {
        if (!this.items[place]) this.done(place, item);
      });
      return true;
    }
    return false;
  }

  /** The endpoint has said everything, and something of it is an answer. */
  get isWhole(): boolean {
    const said = [...this.streamed.values()].some(({ text }) => text > 0) || this.items.some(isCall);
    return this.isDone && said && [...this.begun].every((at) => this.items[at]);
  }

  finish(endpoint: string): ModelAnswer {
    const items = Object.values(this.items);
    for (const { call_id, id, name, arguments: args } of items.filter(isCall)) {
      if (name)
        this.draft.call({
          id: call_id ?? id ?? '',
          name,
          arguments: typeof args === 'string' ? args : JSON.stringify(args ?? {}),
        });
    }
    const reason =
      this.last.incomplete_details?.reason ?? (this.last.status === 'incomplete' ? 'incomplete' : undefined);
    const end: AnswerEnd = this.refused || reason === 'content_filter' ? 'refused' : reason ? 'cut' : 'complete';
    return this.draft.finish({
      finishReason: reason ?? (this.refused ? 'refusal' : (this.last.status ?? 'completed')),
      end,
      model: this.last.model || this.model,
      usage: usageOf(this.last.usage),
      ...(items.length > 0 &&
        items.every(isWhole) && { state: { wire: 'responses', endpoint, model: this.model, data: { items } } }),
    });
  }

  /** What a response that ended early has used: the endpoint may say it in its last event. */
  sofar(): LostAnswer {
    const { model, usage, usageEstimated } = this.draft.sofar(this.last.model || this.model, this.called);
    const told = usageOf(this.last.usage);
    return { model, usage: told ?? usage, usageEstimated: told === undefined && usageEstimated };
  }

  private stream(at: number, kind: 'text' | 'thought', delta: unknown): void {
    if (typeof delta !== 'string') return;
    const known = this.streamed.get(at) ?? { text: 0, thought: 0 };
    if (kind === 'text' && known.text === 0) this.draft.breakText();
    if (kind === 'text') this.draft.say(delta);
    else this.draft.think(delta);
    known[kind] += delta.length;
    this.streamed.set(at, known);
  }

  private done(at: number, item: ResponseItem): void {
    this.items[at] = item;
    const streamed = this.streamed.get(at) ?? { text: 0, thought: 0 };
    if (item.type === 'message') {
      const parts = partsOf(item.content);
      if (parts.some(({ type }) => type === 'refusal')) this.refused = true;
      const text = parts.map((part) => part.text ?? part.refusal ?? '').join('');
      if (text.length > streamed.text) this.stream(at, 'text', text.slice(streamed.text));
    } else if (item.type === 'reasoning' && streamed.thought === 0) {
      const thoughts = [...partsOf(item.summary), ...partsOf(item.content)].flatMap(({ text }) => text || []);
      if (thoughts.length > 0) this.draft.breakThought();
      this.stream(at, 'thought', thoughts.join('\n\n'));
    }
  }
}

const LAST_EVENTS: ReadonlySet<string> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
  'response.cancelled',
]);

interface ItemPart {
  type?: string;
  text?: string;
  refusal?: string;
}
const partsOf = (value: unknown): ItemPart[] => (Array.isArray(value) ? (value as ItemPart[]) : []);

/** `classify` reads the code and the sentence. */
const failureOf = ({ error }: ResponseBody): Error =>
  Object.assign(new Error(error?.message ?? 'the response failed'), { error: error ?? {} });

function usageOf(usage: ResponseBody['usage']): ModelUsage | undefined {
  if (typeof usage?.input_tokens !== 'number') return undefined;
  return {
    inputTokens: tokens(usage.input_tokens),
    outputTokens: tokens(usage.output_tokens),
    cachedTokens: tokens(usage.input_tokens_details?.cached_tokens),
    reasoningTokens: tokens(usage.output_tokens_details?.reasoning_tokens),
  };
}
