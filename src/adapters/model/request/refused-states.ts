import type { ModelAnswer, ModelMessage, ModelRequest, StepState } from '../model.ts';

/**
 * The states of steps that an endpoint has refused, as after a change of its key. The step that came after a refusal
 * has the mark in its own state, so a thread remembers it after a restart and in a fork. This object remembers it for
 * requests whose answer was not stored.
 */
export class RefusedStates {
  private readonly endpoint: string;
  private readonly known = new WeakSet<StepState>();

  constructor(endpoint: string) {
    this.endpoint = endpoint;
  }

  /**
   * The request without states that were refused. While the tools of such a turn go on, it also names no effort: a
   * model that thinks wants the thoughts of each step of the turn.
   */
  without(request: ModelRequest): ModelRequest {
    const states = this.statesOf(request);
    const mark = states.findLastIndex((state) => state?.dropsEarlier);
    const refused = states.map((state, at) => state !== undefined && (at < mark || this.known.has(state)));
    const answered = request.messages.findLastIndex(
      (message) => message.role === 'assistant' && !message.calls?.length,
    );
    const isPlain = mark > answered || refused.lastIndexOf(true) > answered;
    return {
      ...request,
      messages: request.messages.map((message, at) => (refused[at] ? withoutState(message) : message)),
      ...(isPlain && { effort: undefined }),
    };
  }

  /** The answer to a request whose states were left out because the endpoint had refused them, with the mark. */
  marked(answer: ModelAnswer, request: ModelRequest): ModelAnswer {
    for (const state of this.statesOf(request)) if (state) this.known.add(state);
    const { model } = request;
    const own: StepState = answer.state ?? { wire: 'chat', endpoint: this.endpoint, model, data: null };
    return { ...answer, state: { ...own, dropsEarlier: true } };
  }

  /** The state of each message that this endpoint has made with the same model. */
  private statesOf({ model, messages }: ModelRequest): Array<StepState | undefined> {
    return messages.map((message) => {
      const state = message.role === 'assistant' ? message.state : undefined;
      return state?.endpoint === this.endpoint && state.model === model ? state : undefined;
    });
  }
}

export function withoutState(message: ModelMessage): ModelMessage {
  if (message.role !== 'assistant' || !message.state) return message;
  const { state: _, ...plain } = message;
  return plain;
}
