import OpenAI from 'openai';
import { Stream } from 'openai/streaming';
import { accumulator, type WireChunk } from './accumulate.ts';
import { classify } from './classify.ts';
import { ModelError } from './error.ts';
import type { Endpoint, Model, ModelAnswer, ModelKind, ModelRequest } from './model.ts';
import { hasPictures, refusesPictures, withoutPictures } from './pictures.ts';
import { leanFetch, textOf } from './transport.ts';
import { wireBody } from './wire.ts';

/** No byte for this long and the request is given up, milliseconds. */
const IDLE_MS = 90_000;
/** A local server may load a model and read a long prompt for minutes before its first byte; trying again would begin that anew. */
const FIRST_BYTE_LOCAL_MS = 280_000;

export interface OpenAIOptions {
  kind: ModelKind;
  baseUrl: string;
  apiKey?: string;
  name: string;
  fallback?: string;
  /** milliseconds without a byte before a request is given up */
  idleMs?: number;
  /** the same until the first byte */
  firstByteMs?: number;
}

/** Any endpoint that speaks OpenAI's chat completions, through the `openai` client with its retries off: Temporal retries. */
export function openaiModel(options: OpenAIOptions): Model {
  const client = openaiClient(options);
  const idleMs = options.idleMs ?? IDLE_MS;
  const firstByteMs = options.firstByteMs ?? options.idleMs ?? (options.kind === 'custom' ? FIRST_BYTE_LOCAL_MS : IDLE_MS);
  const secrets = options.apiKey ? [options.apiKey] : [];
  // learned from a refusal: some servers do not know stream_options, and then tell no usage
  let askUsage = true;
  // the same for models that take no pictures
  const blind = new Set<string>();

  const attempt = async (request: ModelRequest): Promise<ModelAnswer> => {
    const controller = new AbortController();
    const onAbort = () => controller.abort(request.signal.reason);
    if (request.signal.aborted) throw request.signal.reason;
    request.signal.addEventListener('abort', onAbort, { once: true });
    let phase: 'request' | 'stream' = 'request';
    const idle = watchdog(firstByteMs, () => {
      const silence = phase === 'request' ? firstByteMs : idleMs;
      const said = `no byte for ${Math.round(silence / 1000)} s`;
      controller.abort(
        phase === 'request'
          ? new ModelError('ModelUnavailable', `Network error: ${said}`)
          : new ModelError('ModelStreamBroken', `Network error: ${said} in the middle of an answer`),
      );
    });
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
      const answer = accumulator(request.model, promptChars, request.onDelta);
      const watched = watchedBytes(response.body as unknown as AsyncIterable<Uint8Array>, () => idle.touch(idleMs));
      if (/\bjson\b/i.test(response.headers.get('content-type') ?? '')) {
        // a provider that ignores `stream` answers with the whole; OpenRouter puts errors into it with status 200
        const whole = JSON.parse(await textOf(watched)) as WireChunk & { error?: unknown };
        if (whole.error) throw Object.assign(new Error('the endpoint reports an error'), { error: whole.error, headers: response.headers });
        answer.add(whole);
      } else {
        for await (const chunk of Stream.fromSSEResponse<WireChunk>({ headers: response.headers, body: watched } as unknown as Response, controller, client))
          answer.add(chunk);
        // the SDK ends the loop quietly when the request was aborted
        if (controller.signal.aborted) throw controller.signal.reason;
      }
      return answer.finish();
    } catch (error) {
      // leaving the loop early makes the SDK abort its own controller, so only our own reasons count
      if (request.signal.aborted) throw request.signal.reason;
      if (controller.signal.reason instanceof ModelError) throw controller.signal.reason;
      throw classify(error, { phase, secrets });
    } finally {
      idle.stop();
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
      // it was the pictures: without them the same request is taken
      blind.add(request.model);
      return answer;
    }
  };

  return { name: options.name, fallback: options.fallback, baseUrl: options.baseUrl, kind: options.kind, complete, close: async () => {} };
}

/** The name for an endpoint where none was configured: the first model that it lists; `default` when it lists none. */
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
    // everything that the SDK would read from the environment by itself is set, so that config.ts stays the only reader
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

function watchdog(firstMs: number, onSilence: () => void): { touch(ms: number): void; stop(): void } {
  let timer = setTimeout(onSilence, firstMs);
  return {
    touch(ms) {
      clearTimeout(timer);
      timer = setTimeout(onSilence, ms);
    },
    stop: () => clearTimeout(timer),
  };
}

/** The same bytes, telling of every chunk: keep-alive comments, which the SDK swallows, are signs of life too. */
async function* watchedBytes(body: AsyncIterable<Uint8Array>, onBytes: () => void): AsyncGenerator<Uint8Array> {
  onBytes();
  for await (const chunk of body) {
    onBytes();
    yield chunk;
  }
}
