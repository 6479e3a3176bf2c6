import type { IncomingMessage } from 'node:http';
import { isNote } from '../../../domain/text/foreign-text.ts';
import { languageIn } from '../../../domain/texts/language.ts';
import { type Say, sayIn } from '../../../domain/texts/say.ts';

/** A message as it comes over the wire; content that is not text counts as empty. */
export interface WireMessage {
  role: string;
  content?: unknown;
  tool_calls?: unknown[];
  reasoning_content?: unknown;
}

/** What a model that works by rules has to know of a request. */
export interface Situation {
  /** the latest user message */
  user: string;
  /** assistant messages with calls after it: a notice that comes in between is no step */
  step: number;
  /** the latest tool result after it */
  last: string;
  system: string;
  /** in the language that the person was last known to write */
  readonly say: Say;
}

/** The text of a content that is a string or a list of parts, which may hold contents themselves. */
export const textOf = (content: unknown): string => {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part: { text?: unknown; content?: unknown } | null) =>
      typeof part?.text === 'string' ? part.text : textOf(part?.content),
    )
    .join('');
};

/** A person who has changed the language is answered in the new one. */
const LANGUAGE_MESSAGES = 20;

export function situationOf(messages: readonly WireMessage[]): Situation {
  // a report or a summary is nobody's wish
  const at = messages.findLastIndex((message) => message.role === 'user' && !isNote(textOf(message.content)));
  const after = messages.slice(at + 1);
  const said = messages.filter(({ role }) => role === 'user').map(({ content }) => textOf(content));
  return {
    // only rules look, so a request for a script costs nothing
    get say() {
      const clear = said
        .slice(-LANGUAGE_MESSAGES)
        .reverse()
        .filter((text) => !isNote(text));
      return sayIn(clear.map((text) => languageIn(text)).find((language) => language !== null) ?? undefined);
    },
    user: at < 0 ? '' : textOf(messages[at]?.content),
    step: after.filter(({ role, tool_calls }) => role === 'assistant' && (tool_calls?.length ?? 0) > 0).length,
    last: textOf(after.findLast((message) => message.role === 'tool')?.content),
    system: messages
      .filter((message) => message.role === 'system')
      .map((message) => textOf(message.content))
      .join('\n'),
  };
}

/** A tool as the request offers it; `properties` are the names of its arguments. */
export interface OfferedTool {
  name: string;
  properties: string[];
}

const MAX_BODY = 32 * 1024 * 1024;

/** The parts of a chat completion request that matter here. */
export interface PracticeRequest {
  model?: string;
  messages: WireMessage[];
  tools?: unknown[];
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
}

export async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY) throw new Error('the body is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Throws what the caller is told. */
export function parseRequest(raw: string): PracticeRequest {
  let body: PracticeRequest;
  try {
    body = JSON.parse(raw);
  } catch {
    throw new Error('the body is not JSON');
  }
  if (!Array.isArray(body?.messages)) throw new Error('messages is required');
  return body;
}

/**
 * A request without its messages before the latest of the person. A quote inside a text is escaped, so the mark stands
 * only where a message begins.
 */
export function skimmed(raw: string): string {
  const first = raw.indexOf('"messages":[');
  const latest = raw.lastIndexOf('{"role":"user"');
  return first < 0 || latest < first ? raw : raw.slice(0, first) + '"messages":[' + raw.slice(latest);
}

export function offeredTools(tools: unknown): OfferedTool[] {
  if (!Array.isArray(tools)) return [];
  return (tools as Array<{ function?: { name?: string; parameters?: { properties?: object } } }>).flatMap((tool) =>
    tool?.function?.name
      ? [{ name: tool.function.name, properties: Object.keys(tool.function.parameters?.properties ?? {}) }]
      : [],
  );
}

export const charsOf = ({ messages, tools }: PracticeRequest): number =>
  messages.reduce(
    (sum, message) => sum + textOf(message.content).length + JSON.stringify(message.tool_calls ?? '').length,
    JSON.stringify(tools ?? '').length,
  );
