/** One message of a model request, independent of any provider's wire format. */
export type ModelMessage =
  /** `pictures`: JPEG, base64 */
  | { role: 'system' | 'user'; content: string; pictures?: string[] }
  | {
      role: 'assistant';
      content: string;
      calls?: Array<{ id: string; name: string; arguments: string }>;
      state?: StepState;
    }
  | { role: 'tool'; callId: string; content: string };

/** The protocols in which an endpoint is asked. */
export type WireName = 'chat' | 'responses' | 'anthropic' | 'gemini';

/**
 * What a provider wants back with a step: signatures, encrypted reasoning, thoughts. It is kept unchanged and goes only
 * to the endpoint and model that made it. Personal data, like any text of a chat.
 */
export interface StepState {
  wire: WireName;
  /** base URL of the endpoint that made it */
  endpoint: string;
  /** the model as it was asked for */
  model: string;
  /** JSON whose form only the wire knows; null: the step has none */
  data: unknown;
  /** the endpoint has refused the states of all earlier steps, so none of them is sent again */
  dropsEarlier?: true;
}

/**
 * How an answer ended. `cut`: the endpoint stopped before the model had finished, so its calls must not run. `refused`:
 * the model or a filter declined.
 */
export type AnswerEnd = 'complete' | 'cut' | 'refused';

/**
 * What an endpoint has shown of a model: by refusals, by its list of models, by what it counted. Unset: nothing is
 * known.
 */
export interface ModelFacts {
  /** the protocol in which it is asked; unset: chat completions */
  wire?: WireName;
  /** the effort that it wants beside tools, whatever was chosen */
  effort?: 'none';
  /** the efforts that it takes, when it named them */
  efforts?: string[];
  /** fields that it refuses. They are left out, on whatever level of the request they stand */
  omit?: string[];
  /** the name under which it takes a limit of tokens */
  limitName?: 'max_tokens' | 'max_completion_tokens';
  /** it refused tools. Only shown: tools are sent all the same, because a server may learn them */
  noTools?: boolean;
  /** it refused pictures */
  noPictures?: true;
  /** it refused a system message */
  noSystem?: true;
  /** messages of users and of the assistant must alternate, and a user message must not follow the result of a tool */
  alternates?: true;
  /** a step may have one call only, so a step with more is several */
  singleCalls?: true;
  /** every assistant message must have `reasoning_content`, also where the model that wrote it gave none */
  reasoningBack?: true;
  /** the content of its answers goes back with the thoughts that it wrote into it */
  contentBack?: true;
  /** calls of other models need the mark that skips the check of signatures */
  skipSignature?: true;
  /** a prompt is cached only up to places that the request names */
  marksCache?: true;
  /** tokens of a request together with its answer */
  contextTokens?: number;
  /** the most tools that a request may offer */
  maxTools?: number;
}
