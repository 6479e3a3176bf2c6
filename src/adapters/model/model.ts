import type { AnswerEnd, ModelFacts, ModelMessage, StepState } from '../../contracts/model.ts';
import { type FailureType, failures } from '../../domain/failures.ts';
import type { PriceBook } from '../../domain/model/price-book.ts';

interface ModelErrorDetails {
  retryAfterMs?: number | undefined;
  status?: number | undefined;
  silent?: boolean;
  param?: string | undefined;
  code?: string | undefined;
  cause?: unknown;
}

/** A failed model call, already classified. `message` is written for a person and holds no secret. */
export class ModelError extends Error {
  readonly type: FailureType;
  /** how long the endpoint asked to wait, in ms */
  readonly retryAfterMs?: number;
  /** HTTP status, when there was an answer */
  readonly status?: number;
  /** the endpoint accepted the request and sent nothing; a retry would take as long again */
  readonly silent: boolean;
  /** the field of the request that the endpoint names, as it writes it */
  readonly param?: string;
  /** the endpoint's own code, as it writes it */
  readonly code?: string;

  constructor(type: FailureType, message: string, details: ModelErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'ModelError';
    this.type = type;
    this.retryAfterMs = details.retryAfterMs;
    this.status = details.status;
    this.silent = details.silent ?? false;
    this.param = details.param;
    this.code = details.code;
  }

  get retryable(): boolean {
    return failures[this.type].retry;
  }
}

export interface ModelCall {
  /** the provider's id; unique only within one answer */
  id: string;
  name: string;
  /** JSON as the model wrote it: not validated, possibly malformed */
  arguments: string;
}

export type { ModelFacts, ModelMessage, StepState };

export interface ModelTool {
  name: string;
  description: string;
  /** JSON schema of the arguments */
  parameters: object;
}

export interface ModelRequest {
  model: string;
  messages: readonly ModelMessage[];
  /** empty: the model may call nothing */
  tools: ModelTool[];
  /** `complete` rejects with the signal's own reason when it aborts */
  signal: AbortSignal;
  /** text as it streams in; the final answer is authoritative */
  onDelta(kind: 'agent_message' | 'agent_reasoning', text: string): void;
  /** a part of the answer arrived, even one without text */
  onPart?(): void;
  /** the request is on its way: `sofar` tells at any time what its answer has used, null before its first token */
  onBegun?(sofar: () => LostAnswer | null): void;
  /** an answer that had begun is lost, because it broke off or was stopped, or is none: what it has used so far */
  onLost?(lost: LostAnswer): void;
  /** how much it thinks; the endpoint's default when unset. Left out where the endpoint refuses it */
  effort?: string | undefined;
  /** limit of tokens in the answer; the endpoint's default when unset */
  maxTokens?: number;
  /**
   * the same on every attempt of one step; sent as `x-fetch-request-id` (a part after `#` may differ between attempts)
   */
  requestId: string;
}

export interface ModelUsage {
  inputTokens: number;
  outputTokens: number;
  /** part of `inputTokens` that came from the endpoint's cache */
  cachedTokens: number;
  /**
   * what writing the cache cost beside the price of `inputTokens`, as a number of input tokens; 0 when unset
   */
  surchargeTokens?: number;
  /** part of `outputTokens` that was reasoning */
  reasoningTokens: number;
  /** the cost in US dollars, when the endpoint reports it */
  usd?: number;
}

export interface LostAnswer {
  model: string;
  usage: ModelUsage;
  usageEstimated: boolean;
}

export interface ModelAnswer {
  text: string;
  reasoning: string;
  calls: ModelCall[];
  usage: ModelUsage;
  /** the endpoint reported no usage, so tokens are estimated from characters */
  usageEstimated: boolean;
  finishReason: string;
  /** unset: complete */
  end?: AnswerEnd;
  /** what must be sent back with this step */
  state?: StepState;
  /** as the endpoint names it */
  model: string;
}

export type ModelKind = 'practice' | 'openai' | 'openrouter' | 'custom';

export interface Model {
  /** the model of a request that names no other */
  readonly name: string;
  /** a second model of the same endpoint */
  readonly fallback?: string;
  readonly baseUrl: string;
  /** whom its limits belong to */
  readonly account: string;
  readonly kind: ModelKind;
  /** prices of its calls */
  readonly prices: PriceBook;
  /** one answer, streamed; throws `ModelError`, or the reason of the aborted signal. Never retries. */
  complete(request: ModelRequest): Promise<ModelAnswer>;
  /** what is known of a model of this endpoint */
  facts(model: string): Promise<ModelFacts>;
  /** keeps what was learned of a model, for this and other processes */
  learn(model: string, facts: ModelFacts): Promise<void>;
  close(): Promise<void>;
}

export interface Endpoint {
  kind: Exclude<ModelKind, 'practice'>;
  baseUrl: string;
  apiKey?: string;
}
