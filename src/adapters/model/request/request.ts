import type OpenAI from 'openai';
import { Stream } from 'openai/streaming';
import { ModelError } from '../error.ts';
import type { ModelAnswer, ModelFacts, ModelRequest } from '../model.ts';
import { Accumulator, type WireChunk } from './accumulate.ts';
import { classify } from './classify.ts';
import { type AnswerTimes, SilenceWatch } from './silence.ts';
import { textOf } from './transport.ts';
import { wireBody } from './wire.ts';

export interface RequestOptions {
  client: OpenAI;
  times: AnswerTimes;
  /** never shown in an error */
  secrets: readonly string[];
  /** base URL of the endpoint */
  baseUrl: string;
}

/** Asks the endpoint once, as the facts want it. Throws `ModelError`, or the reason of the aborted signal. */
export async function requestOnce(options: RequestOptions, request: ModelRequest, facts: ModelFacts): Promise<ModelAnswer> {
  const controller = new AbortController();
  const onAbort = () => controller.abort(request.signal.reason);
  if (request.signal.aborted) throw request.signal.reason;
  request.signal.addEventListener('abort', onAbort, { once: true });
  let phase: 'request' | 'stream' = 'request';
  const silence = new SilenceWatch(options.times, (error) => controller.abort(error));
  try {
    const { body, promptChars } = wireBody(request, options.baseUrl, facts);
    const response = await post(options.client, body, request.requestId, controller.signal);
    phase = 'stream';
    const answer = new Accumulator(request.model, promptChars, request.onDelta);
    const bytes = watchedBytes(response.body as unknown as AsyncIterable<Uint8Array>, () => silence.byte());
    for await (const chunk of chunksOf(options.client, response.headers, bytes, controller)) {
      silence.part();
      request.onPart?.();
      answer.add(chunk);
    }
    // when the request was aborted, the SDK ends the loop without an error
    if (controller.signal.aborted) throw controller.signal.reason;
    return answer.finish();
  } catch (error) {
    // leaving the loop early makes the SDK abort its own controller, so only our own reasons count
    if (request.signal.aborted) throw request.signal.reason;
    if (controller.signal.reason instanceof ModelError) throw controller.signal.reason;
    throw classify(error, { phase, secrets: options.secrets });
  } finally {
    silence.stop();
    request.signal.removeEventListener('abort', onAbort);
  }
}

const post = (client: OpenAI, body: string, requestId: string, signal: AbortSignal): Promise<Response> =>
  client
    .post('/chat/completions', { body, stream: true, signal, headers: { 'content-type': 'application/json', 'x-fetch-request-id': requestId } })
    .asResponse();

function chunksOf(client: OpenAI, headers: Headers, bytes: AsyncIterable<Uint8Array>, controller: AbortController): AsyncIterable<WireChunk> {
  if (/\bjson\b/i.test(headers.get('content-type') ?? '')) return wholeAnswer(headers, bytes);
  return Stream.fromSSEResponse<WireChunk>({ headers, body: bytes } as unknown as Response, controller, client);
}

/** A provider that ignores `stream` answers with the whole at once; OpenRouter puts errors into it with status 200. */
async function* wholeAnswer(headers: Headers, bytes: AsyncIterable<Uint8Array>): AsyncGenerator<WireChunk> {
  const whole = JSON.parse(await textOf(bytes)) as WireChunk & { error?: unknown };
  if (whole.error) throw Object.assign(new Error('the endpoint reports an error'), { error: whole.error, headers });
  yield whole;
}

/** The same bytes. Reports every chunk, because keep-alive comments, which the SDK swallows, count too. */
async function* watchedBytes(body: AsyncIterable<Uint8Array>, onBytes: () => void): AsyncGenerator<Uint8Array> {
  onBytes();
  for await (const chunk of body) {
    onBytes();
    yield chunk;
  }
}
