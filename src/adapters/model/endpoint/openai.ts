import type { WireName } from '../../../contracts/model.ts';
import { priceBook } from '../../../domain/model/price-book.ts';
import {
  type Model,
  type ModelAnswer,
  ModelError,
  type ModelFacts,
  type ModelKind,
  type ModelRequest,
} from '../model.ts';
import { askNative } from '../native/native.ts';
import { ANTHROPIC, GEMINI } from '../native/vendors.ts';
import { lessonOf } from '../request/lessons.ts';
import { RefusedStates, withoutState } from '../request/refused-states.ts';
import { type RequestOptions, requestOnce } from '../request/request.ts';
import { ANSWER_TIMES, type AnswerTimes } from '../request/silence.ts';
import { silentCut } from '../request/silent-cut.ts';
import { strictRequest } from '../request/strict.ts';
import { askResponses } from '../responses/responses.ts';
import { openaiClient } from './client.ts';
import { ContextSizes } from './context-sizes.ts';
import { accountOf, isLocalEndpoint } from './endpoint.ts';
import { type FactsStore, KnownFacts } from './facts.ts';

interface OpenAIOptions {
  kind: ModelKind;
  baseUrl: string;
  apiKey?: string;
  name: string;
  fallback?: string;
  times?: Partial<AnswerTimes>;
  /** FETCH_MODEL_PRICE */
  price?: string | undefined;
  /** where it keeps what it learns; unset: in this process */
  facts?: FactsStore | undefined;
}

/** One request of a wire. Throws `ModelError`, or the reason of the aborted signal. */
type Ask = (request: ModelRequest, facts: ModelFacts) => Promise<ModelAnswer>;

/**
 * Any endpoint that speaks OpenAI's protocols, or a vendor that is asked in its own. The libraries' retries are off,
 * because Temporal retries. The facts of a model say which protocol it is.
 */
export function openaiModel(options: OpenAIOptions): Model {
  const { name, fallback, baseUrl, kind } = options;
  const local = isLocalEndpoint(baseUrl);
  const prices = priceBook(options.price, { ours: true, local });
  const account = accountOf(baseUrl, options.apiKey);
  const known = new KnownFacts(baseUrl, options.facts);
  const refused = new RefusedStates(baseUrl);
  // the practice model is of this process, and has no limit
  const sizes = kind === 'practice' ? null : new ContextSizes(options);
  const asked: RequestOptions = {
    client: openaiClient(options),
    baseUrl,
    times: { ...ANSWER_TIMES, ...options.times },
    secrets: options.apiKey ? [options.apiKey] : [],
  };
  const wires: Wires = {
    chat: (request, facts) => requestOnce(asked, request, facts),
    responses: (request, { omit }) => askResponses({ ...asked, omit }, request),
    anthropic: (request, { omit }) => askNative(ANTHROPIC, { ...asked, apiKey: options.apiKey, omit }, request),
    gemini: (request, { omit }) => askNative(GEMINI, { ...asked, apiKey: options.apiKey, omit }, request),
  };
  return {
    ...{ name, fallback, baseUrl, account, kind, prices },
    complete: async (request) => {
      const answer = await learning({ known, refused, wires }, request);
      if (sizes && local) await refuseCut(sizes, request, answer);
      return answer;
    },
    facts: async (model) => {
      const { contextTokens: learned, ...facts } = await known.of(model);
      const contextTokens = sizes ? await sizes.of(model, learned) : learned;
      return { ...facts, ...(contextTokens !== undefined && { contextTokens }) };
    },
    learn: async (model, facts) => {
      if (facts.contextTokens !== undefined) await sizes?.teach(model, facts.contextTokens);
      await known.add(model, facts);
    },
    close: async () => {},
  };
}

/**
 * An answer to a part of the request is as good as a refusal. @throws ModelError ContextOverflow, whose message names
 * the size of the context
 */
async function refuseCut(sizes: ContextSizes, request: ModelRequest, answer: ModelAnswer): Promise<void> {
  const cut = silentCut(request, answer);
  if (!cut) return;
  // the model is in memory now, so its server may tell the size
  const { running = cut.size } = await sizes.now(request.model);
  if (cut.least < running) return;
  request.onLost?.(answer);
  throw new ModelError(
    'ContextOverflow',
    `LLM error: the endpoint read only a part of the request, because it has a context size of ${running} tokens`,
  );
}

/** The ways in which an endpoint can be asked. */
type Wires = Record<WireName, Ask>;

/**
 * Asks until the endpoint accepts the request or refuses it for a reason that teaches nothing new. Nothing is asked
 * again once a part of an answer was shown.
 */
async function learning(
  { known, refused, wires }: { known: KnownFacts; refused: RefusedStates; wires: Wires },
  given: ModelRequest,
): Promise<ModelAnswer> {
  const { model } = given;
  let request = refused.without(given);
  let isPlain = false;
  let facts = await known.of(model);
  let guess: ModelFacts = {};
  let first: unknown;
  let begun = false;
  const taken = new Set<string>();
  const onDelta: ModelRequest['onDelta'] = (kind, text) => {
    begun = true;
    given.onDelta(kind, text);
  };
  for (;;) {
    const now = { ...facts, ...guess };
    try {
      const strict = strictRequest({ ...request, onDelta }, now);
      const answer = await wires[now.wire ?? 'chat'](strict.request, now);
      const proven = { ...guess, ...(facts.noTools && request.tools.length > 0 && { noTools: false }) };
      if (Object.keys(proven).length > 0) await known.add(model, proven);
      return {
        ...(isPlain ? refused.marked(answer, given) : answer),
        calls: answer.calls.map((call) => ({ ...call, name: strict.names.get(call.name) ?? call.name })),
      };
    } catch (error) {
      const lesson = begun ? null : lessonOf(error, { request, facts: now, guess }, taken);
      // a change that did not help is not the matter
      if (!lesson)
        throw Object.keys(guess).length > 0 && error instanceof ModelError && error.type === 'ModelRejected'
          ? first
          : error;
      first ??= error;
      taken.add(lesson.id);
      if (lesson.plain) {
        isPlain = true;
        request = { ...request, effort: undefined, messages: request.messages.map(withoutState) };
      } else if (lesson.guess) guess = lesson.facts;
      else await known.add(model, lesson.facts);
      if (lesson.tell !== undefined)
        throw lesson.tell === null ? error : new ModelError('ModelRejected', lesson.tell, { cause: error });
      facts = await known.of(model);
    }
  }
}
