import { priceBook } from '../../../domain/model/price-book.ts';
import { ModelError } from '../error.ts';
import type { Model, ModelAnswer, ModelKind, ModelRequest } from '../model.ts';
import { askNative } from '../native/native.ts';
import { vendorAt, vendors } from '../native/vendors.ts';
import { hasPictures, refusesPictures, withoutPictures } from '../request/pictures.ts';
import { type RequestOptions, requestOnce } from '../request/request.ts';
import { ANSWER_TIMES, type AnswerTimes } from '../request/silence.ts';
import { askResponses } from '../responses/responses.ts';
import { accountOf } from './account.ts';
import { openaiClient } from './client.ts';
import { type FactsStore, KnownFacts } from './facts.ts';
import { isLocalEndpoint } from './local-endpoint.ts';

export interface OpenAIOptions {
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

/** Any endpoint that speaks OpenAI's chat completions, through the `openai` client without its retries, because Temporal retries. */
export function openaiModel(options: OpenAIOptions): Model {
  const known = new KnownFacts(options.baseUrl, options.facts);
  const endpoint = new LearnedEndpoint(options, known);
  const { name, fallback, baseUrl, kind } = options;
  const prices = priceBook(options.price, { ours: true, local: isLocalEndpoint(baseUrl) });
  const account = accountOf(baseUrl, options.apiKey);
  return {
    ...{ name, fallback, baseUrl, account, kind, prices },
    complete: (request) => endpoint.complete(request),
    facts: (model) => known.of(model),
    learn: (model, facts) => known.add(model, facts),
    close: async () => {},
  };
}

/** An endpoint, and what its refusals have shown: it is not asked again for what it does not support. */
class LearnedEndpoint {
  private readonly options: RequestOptions & { baseUrl: string; apiKey: string | undefined };
  private readonly known: KnownFacts;
  /** models that take no pictures */
  private readonly blind = new Set<string>();
  /** models whose thinking cannot be chosen */
  private readonly fixed = new Set<string>();

  constructor(options: OpenAIOptions, known: KnownFacts) {
    this.known = known;
    this.options = {
      baseUrl: options.baseUrl,
      apiKey: options.apiKey,
      client: openaiClient(options),
      times: { ...ANSWER_TIMES, ...options.times },
      secrets: options.apiKey ? [options.apiKey] : [],
      askUsage: true,
      marksCache: options.kind === 'openrouter',
      limitName: options.kind === 'openai' ? 'max_completion_tokens' : 'max_tokens',
    };
  }

  async complete(request: ModelRequest): Promise<ModelAnswer> {
    if (request.effort !== undefined && this.fixed.has(request.model)) return await this.complete({ ...request, effort: undefined });
    const pictures = hasPictures(request.messages);
    const unseen = { ...request, messages: pictures ? withoutPictures(request.messages) : request.messages };
    if (pictures && this.blind.has(request.model)) return await this.complete(unseen);
    try {
      return await this.ask(request);
    } catch (error) {
      const wish = refusedWish(error);
      const { omit = [] } = wish ? await this.known.of(request.model) : {};
      if (wish && !omit.includes(wish)) {
        await this.known.add(request.model, { omit: [...omit, wish] });
        return await this.complete(request);
      }
      if (this.options.askUsage && refusesUsage(error)) {
        this.options.askUsage = false;
        return await this.complete(request);
      }
      if (request.effort !== undefined && refusesEffort(error)) {
        this.fixed.add(request.model);
        return await this.complete(request);
      }
      if (!refusesPictures(error, request.messages)) throw error;
      const answer = await this.complete(unseen);
      // the pictures were the reason: the same request without them is accepted
      this.blind.add(request.model);
      return answer;
    }
  }

  private async ask(request: ModelRequest): Promise<ModelAnswer> {
    const facts = await this.known.of(request.model);
    if (facts.wire === 'responses') return await askResponses({ ...this.options, omit: facts.omit }, request);
    const vendor = facts.wire === undefined ? vendorAt(this.options.baseUrl) : vendors.find(({ wire }) => wire === facts.wire);
    return vendor ? await askNative(vendor, this.options, request, facts) : await requestOnce(this.options, request);
  }
}

/** What some models refuse of the Responses API: encrypted thoughts where they do not think, summaries where OpenAI has not verified the organisation. */
function refusedWish(error: unknown): string | undefined {
  if (!(error instanceof ModelError) || error.type !== 'ModelRejected') return undefined;
  if (/encrypted content is not supported/i.test(error.message)) return 'include';
  return /reasoning summar|reasoning\.summary/i.test(error.message) ? 'summary' : undefined;
}

/** Some servers do not know stream_options. */
const refusesUsage = (error: unknown): boolean =>
  error instanceof ModelError && error.type === 'ModelRejected' && /stream_options|include_usage/.test(error.message);

/** Some servers and models do not know reasoning_effort, or not this one. */
const refusesEffort = (error: unknown): boolean => error instanceof ModelError && error.type === 'ModelRejected' && /reasoning/.test(error.message);
