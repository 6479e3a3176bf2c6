import type { AnswerEnd, ModelMessage, StepState, WireName } from '../../../contracts/model.ts';
import { jsonChars } from '../../../domain/text/storable.ts';
import {
  type LostAnswer,
  type ModelAnswer,
  type ModelCall,
  ModelError,
  type ModelRequest,
  type ModelUsage,
} from '../model.ts';
import { estimatedUsage, MOST_TOKENS } from '../stream/usage.ts';
import { classify } from './classify.ts';
import { type AnswerTimes, SilenceWatch } from './silence.ts';

/**
 * What the wires share: how a request is watched and given up, how an answer grows from parts, and whose state may be
 * sent back.
 */

export interface Watch {
  /** aborts with the request, and when the endpoint is silent for too long */
  controller: AbortController;
  /** the endpoint has accepted the request */
  accepted(): void;
  /** bytes have come, perhaps only a keep-alive */
  byte(): void;
  /** a part of the answer has come */
  part(): void;
  /** set by the wire: what it has read of the answer */
  sofar?: () => LostAnswer;
}

/**
 * Runs one request of a wire. Throws `ModelError`, or the reason of the aborted signal. `secrets` are never shown in an
 * error.
 */
export async function watched(
  request: ModelRequest,
  { times, secrets }: { times: AnswerTimes; secrets: readonly string[] },
  ask: (watch: Watch) => Promise<ModelAnswer>,
): Promise<ModelAnswer> {
  if (request.signal.aborted) throw request.signal.reason;
  const controller = new AbortController();
  const onAbort = () => controller.abort(request.signal.reason);
  request.signal.addEventListener('abort', onAbort, { once: true });
  let phase: 'request' | 'stream' = 'request';
  const silence = new SilenceWatch(times, (error) => controller.abort(error));
  const part = () => {
    silence.part();
    request.onPart?.();
  };
  const watch: Watch = { controller, accepted: () => (phase = 'stream'), byte: () => silence.byte(), part };
  // an endpoint that has said nothing has most likely charged nothing
  const sofar = () => {
    const used = watch.sofar?.();
    return used && used.usage.outputTokens > 0 ? used : null;
  };
  request.onBegun?.(sofar);
  try {
    return await ask(watch);
  } catch (error) {
    const lost = sofar();
    if (lost) request.onLost?.(lost);
    // a library that ends its stream early aborts the controller with a reason of its own
    if (request.signal.aborted) throw request.signal.reason;
    if (controller.signal.reason instanceof ModelError) throw controller.signal.reason;
    throw classify(error, { phase, secrets });
  } finally {
    silence.stop();
    request.signal.removeEventListener('abort', onAbort);
  }
}

/** The same bytes. Each part of them is a sign of life, a keep-alive comment, too. */
export async function* watchedBytes(body: AsyncIterable<Uint8Array>, watch: Watch): AsyncGenerator<Uint8Array> {
  watch.byte();
  for await (const chunk of body) {
    watch.byte();
    yield chunk;
  }
}

/** An answer while it streams in, for protocols that name and number its parts. */
export class AnswerDraft {
  private text = '';
  private reasoning = '';
  private readonly calls: ModelCall[] = [];
  private readonly request: ModelRequest;

  constructor(request: ModelRequest) {
    this.request = request;
  }

  say(text: string): void {
    if (text === '') return;
    this.text += text;
    this.request.onDelta('agent_message', text);
  }

  think(text: string): void {
    if (text === '') return;
    this.reasoning += text;
    this.request.onDelta('agent_reasoning', text);
  }

  /** A paragraph ends, if one has begun. */
  breakText(): void {
    if (this.text !== '' && !this.text.endsWith('\n')) this.say('\n\n');
  }

  breakThought(): void {
    if (this.reasoning !== '' && !this.reasoning.endsWith('\n')) this.think('\n\n');
  }

  call(call: ModelCall): void {
    this.calls.push({ ...call, arguments: call.arguments.trim() === '' ? '{}' : call.arguments });
  }

  /** `state` is kept for a complete answer only: half of one is sent back as text. */
  finish({
    usage,
    state,
    ...more
  }: {
    finishReason: string;
    end: AnswerEnd;
    model: string;
    usage?: ModelUsage | undefined;
    state?: StepState;
  }): ModelAnswer {
    const { text, reasoning, calls } = this;
    return {
      text,
      reasoning,
      calls,
      usage: usage ?? this.estimate(),
      usageEstimated: usage === undefined,
      ...more,
      ...(state && more.end === 'complete' && { state }),
    };
  }

  /** The usage of the answer so far. `halfCalls`: characters of calls that are not whole */
  sofar(model: string, halfCalls: number): LostAnswer {
    return { model: model || this.request.model, usage: this.estimate(halfCalls), usageEstimated: true };
  }

  private estimate(more = 0): ModelUsage {
    const chars =
      this.text.length +
      this.reasoning.length +
      this.calls.reduce((sum, call) => sum + call.name.length + call.arguments.length, more);
    return estimatedUsage(promptChars(this.request), chars);
  }
}

/** Characters that count as tokens of a request: pictures are not among them. */
export const promptChars = ({ messages, tools }: Pick<ModelRequest, 'messages' | 'tools'>): number =>
  tools.reduce((sum, tool) => sum + jsonChars(tool) + 1, 1) +
  messages.reduce(
    (sum, message) =>
      sum + message.content.length + (message.role === 'assistant' && message.calls ? jsonChars(message.calls) : 0),
    0,
  );

export type AssistantMessage = Extract<ModelMessage, { role: 'assistant' }>;

/** What the asked endpoint and model gave with a step; undefined for a step of another one. */
export function ownState(
  { state }: AssistantMessage,
  asked: { wire: WireName; endpoint: string; model: string },
): unknown {
  return state?.wire === asked.wire && state.endpoint === asked.endpoint && state.model === asked.model
    ? state.data
    : undefined;
}

/** An endpoint's figure as a whole number that can be stored; 0 when it is no number. */
export const tokens = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.min(Math.ceil(value), MOST_TOKENS) : 0;
