import OpenAI from 'openai';
import { Stream } from 'openai/streaming';
import { priceBook } from '../../domain/model/price-book.ts';
import { type Accumulator, accumulator, type WireChunk } from './accumulate.ts';
import { classify } from './classify.ts';
import { ModelError } from './error.ts';
import { isLocalEndpoint } from './local-endpoint.ts';
import type { Endpoint, Model, ModelAnswer, ModelKind, ModelRequest } from './model.ts';
import { hasPictures, refusesPictures, withoutPictures } from './pictures.ts';
import { leanFetch, textOf } from './transport.ts';
import { wireBody } from './wire.ts';

/** How long an endpoint may be silent before a request is given up, in ms. */
export interface AnswerTimes {
  /**
   * until the first byte, and between two keep-alives before the first word: a local server may load a model and read a long prompt for minutes, and some
   * models think in silence
   */
  firstByte: number;
  /** between two parts of an answer */
  idle: number;
  /** with nothing but keep-alives, which OpenRouter and DeepSeek send while a request waits */
  signs: number;
  /** for the whole answer */
  whole: number;
}

export const ANSWER_TIMES: AnswerTimes = { firstByte: 300_000, idle: 90_000, signs: 600_000, whole: 25 * 60_000 };

/** Times of an endpoint that is given up after this much silence, so that a lost connection is retried within it. */
export const timesWithin = (silenceMs: number): AnswerTimes => ({
  ...ANSWER_TIMES,
  firstByte: silenceMs / 2,
  idle: Math.min(ANSWER_TIMES.idle, silenceMs / 2),
  signs: silenceMs,
});

export interface OpenAIOptions {
  kind: ModelKind;
  baseUrl: string;
  apiKey?: string;
  name: string;
  fallback?: string;
  times?: Partial<AnswerTimes>;
  /** FETCH_MODEL_PRICE */
  price?: string | undefined;
}

/** Any endpoint that speaks OpenAI's chat completions, through the `openai` client without its retries, because Temporal retries. */
export function openaiModel(options: OpenAIOptions): Model {
  const client = openaiClient(options);
  const times = { ...ANSWER_TIMES, ...options.times };
  const secrets = options.apiKey ? [options.apiKey] : [];
  // turned off after a refusal: some servers do not know stream_options, and then report no usage
  let askUsage = true;
  // models that refused pictures
  const blind = new Set<string>();

  const attempt = async (request: ModelRequest): Promise<ModelAnswer> => {
    const controller = new AbortController();
    const onAbort = () => controller.abort(request.signal.reason);
    if (request.signal.aborted) throw request.signal.reason;
    request.signal.addEventListener('abort', onAbort, { once: true });
    let phase: 'request' | 'stream' = 'request';
    const silence = watchSilence(times, (said, begun) =>
      controller.abort(
        begun
          ? new ModelError('ModelStreamBroken', `Network error: ${said} in the middle of an answer`)
          : new ModelError('ModelUnavailable', `Network error: ${said}`, { silent: true }),
      ),
    );
    const add = (chunk: WireChunk) => {
      silence.part();
      request.onPart?.();
      answer.add(chunk);
    };
    let answer: Accumulator;
    try {
      const { body, promptChars } = wireBody(request, { askUsage, limitName: options.kind === 'openai' ? 'max_completion_tokens' : 'max_tokens' });
      const response = await client
        .post('/chat/completions', {
          body,
          stream: true,
          signal: controller.signal,
          headers: { 'content-type': 'application/json', 'x-fetch-request-id': request.requestId },
        })
        .asResponse();
      phase = 'stream';
      answer = accumulator(request.model, promptChars, request.onDelta);
      const watched = watchedBytes(response.body as unknown as AsyncIterable<Uint8Array>, silence.byte);
      if (/\bjson\b/i.test(response.headers.get('content-type') ?? '')) {
        // a provider that ignores `stream` sends the whole answer; OpenRouter puts errors into it with status 200
        const whole = JSON.parse(await textOf(watched)) as WireChunk & { error?: unknown };
        if (whole.error) throw Object.assign(new Error('the endpoint reports an error'), { error: whole.error, headers: response.headers });
        add(whole);
      } else {
        for await (const chunk of Stream.fromSSEResponse<WireChunk>({ headers: response.headers, body: watched } as unknown as Response, controller, client))
          add(chunk);
        // when the request was aborted, the SDK ends the loop without an error
        if (controller.signal.aborted) throw controller.signal.reason;
      }
      return answer.finish();
    } catch (error) {
      // leaving the loop early makes the SDK abort its own controller, so only our own reasons count
      if (request.signal.aborted) throw request.signal.reason;
      if (controller.signal.reason instanceof ModelError) throw controller.signal.reason;
      throw classify(error, { phase, secrets });
    } finally {
      silence.stop();
      request.signal.removeEventListener('abort', onAbort);
    }
  };

  const complete = async (request: ModelRequest): Promise<ModelAnswer> => {
    const pictures = hasPictures(request.messages);
    const unseen = { ...request, messages: pictures ? withoutPictures(request.messages) : request.messages };
    if (pictures && blind.has(request.model)) return await complete(unseen);
    try {
      return await attempt(request);
    } catch (error) {
      if (askUsage && error instanceof ModelError && error.type === 'ModelRejected' && /stream_options|include_usage/.test(error.message)) {
        askUsage = false;
        return await complete(request);
      }
      if (!refusesPictures(error, request.messages)) throw error;
      const answer = await complete(unseen);
      // the pictures were the reason: the same request without them is accepted
      blind.add(request.model);
      return answer;
    }
  };

  const { name, fallback, baseUrl, kind } = options;
  const prices = priceBook(options.price, { ours: true, local: isLocalEndpoint(baseUrl) });
  return { name, fallback, baseUrl, kind, prices, complete, close: async () => {} };
}

/** The model name when none was configured: the first model that the endpoint lists, or `default`. */
export async function customModelName(endpoint: Endpoint, timeoutMs = 3_000): Promise<string> {
  return (await listModels(endpoint, timeoutMs).catch(() => []))[0] ?? 'default';
}

/** Names of the models that an endpoint lists. Throws `ModelError`. */
export async function listModels(endpoint: Pick<Endpoint, 'baseUrl' | 'apiKey'>, timeoutMs: number): Promise<string[]> {
  try {
    const page = await openaiClient(endpoint).models.list({ signal: AbortSignal.timeout(timeoutMs) });
    // embedding models cannot chat, and Ollama lists them among the others
    return (page.data ?? []).map((model) => model.id).filter((id) => typeof id === 'string' && !/embed|rerank|whisper|\btts\b/i.test(id));
  } catch (error) {
    throw classify(error, { secrets: endpoint.apiKey ? [endpoint.apiKey] : [] });
  }
}

function openaiClient(endpoint: Pick<Endpoint, 'baseUrl' | 'apiKey'>): OpenAI {
  return new OpenAI({
    baseURL: endpoint.baseUrl,
    apiKey: endpoint.apiKey ?? 'none',
    // sets everything that the SDK would read from the environment, so that config.ts stays its only reader
    organization: null,
    project: null,
    adminAPIKey: null,
    webhookSecret: null,
    logLevel: 'off',
    fetch: leanFetch,
    maxRetries: 0,
    timeout: 30 * 60_000,
    defaultHeaders: endpoint.apiKey ? {} : { Authorization: null },
  });
}

/** Reports once which time limit was reached. `begun`: a part of the answer had arrived. */
function watchSilence(times: AnswerTimes, onEnd: (said: string, begun: boolean) => void): { byte(): void; part(): void; stop(): void } {
  let begun = false;
  const timer = (ms: number, what: string) => setTimeout(() => onEnd(`${what} for ${Math.round(ms / 1000)} s`, begun), ms);
  let bytes = timer(times.firstByte, 'no byte');
  let signs = timer(times.signs, 'nothing but signs of life');
  const whole = timer(times.whole, 'an answer that came in drips');
  return {
    byte() {
      clearTimeout(bytes);
      bytes = timer(begun ? times.idle : times.firstByte, 'no byte');
    },
    part() {
      if (!begun) {
        begun = true;
        this.byte();
      }
      clearTimeout(signs);
      signs = timer(times.signs, 'nothing but signs of life');
    },
    stop() {
      for (const each of [bytes, signs, whole]) clearTimeout(each);
    },
  };
}

/** The same bytes. Reports every chunk, because keep-alive comments, which the SDK swallows, count too. */
async function* watchedBytes(body: AsyncIterable<Uint8Array>, onBytes: () => void): AsyncGenerator<Uint8Array> {
  onBytes();
  for await (const chunk of body) {
    onBytes();
    yield chunk;
  }
}
