import type OpenAI from 'openai';
import { type ModelAnswer, ModelError, type ModelFacts, type ModelRequest } from '../model.ts';
import { Accumulator, type BodyEnd, readFailedGeneration } from '../stream/accumulate.ts';
import { framesOf } from '../stream/frames.ts';
import { type Watch, watched, watchedBytes } from './ask.ts';
import type { AnswerTimes } from './silence.ts';
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
export async function requestOnce(
  options: RequestOptions,
  request: ModelRequest,
  facts: ModelFacts,
): Promise<ModelAnswer> {
  return await watched(request, options, async (watch) => {
    const { body, promptChars } = wireBody(request, options.baseUrl, facts);
    try {
      const response = await post(options.client, body, request.requestId, watch.controller.signal);
      watch.accepted();
      const answer = new Accumulator(request, {
        endpoint: options.baseUrl,
        promptChars,
        keepsContent: facts.contentBack === true,
      });
      watch.sofar = () => answer.sofar();
      return await readAnswer(response, answer, request.signal, watch);
    } catch (error) {
      return recovered(error, request, promptChars);
    }
  });
}

const post = (client: OpenAI, body: string, requestId: string, signal: AbortSignal): Promise<Response> =>
  client
    .post('/chat/completions', {
      body,
      stream: true,
      signal,
      headers: { 'content-type': 'application/json', 'x-fetch-request-id': requestId },
    })
    .asResponse();

async function readAnswer(
  response: Response,
  answer: Accumulator,
  signal: AbortSignal,
  watch: Watch,
): Promise<ModelAnswer> {
  let end: BodyEnd = 'closed';
  try {
    for await (const frame of framesOf(watchedBytes(response.body as unknown as AsyncIterable<Uint8Array>, watch))) {
      if (frame === 'done') end = 'done';
      else {
        watch.part();
        if ('error' in frame)
          throw Object.assign(new Error('the endpoint reports an error'), {
            error: frame.error,
            headers: response.headers,
          });
        answer.add(frame.chunk);
      }
      // the rest may be here already
      signal.throwIfAborted();
    }
  } catch (error) {
    // an endpoint that falls silent, or a connection that is lost, behind the end of the answer takes nothing from it
    if (signal.aborted || !answer.isFinished) throw error;
  }
  return answer.finish(end);
}

/**
 * Groq refuses an answer whose calls it cannot read, and tells the text. Often it can be read here; otherwise the model
 * is asked again.
 */
function recovered(error: unknown, request: ModelRequest, promptChars: number): ModelAnswer {
  const { error: body, status } = (error ?? {}) as {
    error?: { code?: unknown; message?: unknown; failed_generation?: unknown };
    status?: number;
  };
  if (body?.failed_generation === undefined && body?.code !== 'tool_use_failed') throw error;
  const answer =
    typeof body.failed_generation === 'string'
      ? readFailedGeneration(body.failed_generation, request, promptChars)
      : null;
  if (answer) return answer;
  throw new ModelError(
    'ModelStreamBroken',
    `LLM error: ${String(body.message ?? 'the endpoint could not read a tool call')}`,
    { status },
  );
}
