/** One message of a model request, independent of any provider's wire format. */
export type ModelMessage =
  /** `pictures`: JPEG, base64 */
  | { role: 'system' | 'user'; content: string; pictures?: string[] }
  | { role: 'assistant'; content: string; calls?: Array<{ id: string; name: string; arguments: string }>; state?: StepState }
  | { role: 'tool'; callId: string; content: string };

/** The protocols in which an endpoint is asked. */
export type WireName = 'chat' | 'responses' | 'anthropic' | 'gemini';

/**
 * What a provider wants back with a step: signatures, encrypted reasoning, thoughts. It is kept unchanged and goes only to the endpoint and model that made it.
 * Personal data, like any text of a chat.
 */
export interface StepState {
  wire: WireName;
  /** base URL of the endpoint that made it */
  endpoint: string;
  /** the model as it was asked for */
  model: string;
  /** JSON whose form only the wire knows */
  data: unknown;
}

/** How an answer ended. `cut`: the endpoint stopped before the model had finished, so its calls must not run. `refused`: the model or a filter declined. */
export type AnswerEnd = 'complete' | 'cut' | 'refused';
