export { textOf } from '../../../src/adapters/model/practice/situation.ts';

// biome-ignore lint/suspicious/noExplicitAny: bodies of four foreign protocols are read leniently here; the shapes are theirs
export type Body = any;

/** A request for a completion, whichever protocol it came in; and the answer before it is written in that protocol. */

export type Protocol = 'anthropic' | 'openai-chat' | 'openai-responses' | 'gemini';

export interface OfferedTool {
  name: string;
  /** names of the arguments, and the JSON type of each */
  properties: Record<string, string>;
  required: string[];
  /** `custom`: takes one text instead of JSON (Responses) */
  kind: 'function' | 'custom';
  /** the group that it is offered in (Responses) */
  namespace?: string;
}

export interface Asked {
  protocol: Protocol;
  model: string;
  stream: boolean;
  system: string;
  turns: Turn[];
  tools: OfferedTool[];
  /** a JSON answer of some shape is wanted: a side question of the agent */
  structured: boolean;
  /** size of the body */
  bytes: number;
}

export interface Turn {
  role: 'user' | 'assistant' | 'tool';
  text: string;
  /** ids of the tool calls in it, empty where the protocol sends none */
  calls?: string[];
}

export interface Reply {
  text: string;
  calls: Array<{ id: string; name: string; args: Record<string, unknown>; tool: OfferedTool | undefined }>;
  /** milliseconds before each piece */
  pace: number;
  /** break the connection in the middle */
  cut: boolean;
}

export interface Usage {
  inputTokens: number;
  /** the part of the input that came from a cache */
  cachedTokens: number;
  outputTokens: number;
}

/** One protocol: reads its request, and writes its answer as events and as one document. */
export interface Wire {
  read(body: Body, url: URL): Omit<Asked, 'protocol' | 'bytes'>;
  /** server-sent events in order; a `name` goes into the `event:` line */
  events(asked: Asked, reply: Reply, usage: Usage, n: number): Array<{ name?: string; data: unknown }>;
  document(asked: Asked, reply: Reply, usage: Usage, n: number): unknown;
  error(status: number, message: string): unknown;
}

export function offered(
  name: string,
  schema: { properties?: Record<string, { type?: unknown }>; required?: string[] } | undefined,
): OfferedTool {
  const properties = Object.fromEntries(
    Object.entries(schema?.properties ?? {}).map(([key, value]) => [key, String(value?.type ?? '').toLowerCase()]),
  );
  return { name, properties, required: schema?.required ?? [], kind: 'function' };
}

/** Pieces of a text as a model would stream it. */
export const pieces = (text: string): string[] => text.match(/[\s\S]{1,24}/g) ?? [];
