import { isNote } from '../../../domain/text/foreign-text.ts';

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

export function situationOf(messages: readonly WireMessage[]): Situation {
  // a report or a summary is nobody's wish
  const at = messages.findLastIndex((message) => message.role === 'user' && !isNote(textOf(message.content)));
  const after = messages.slice(at + 1);
  return {
    user: at < 0 ? '' : textOf(messages[at]?.content),
    step: after.filter(({ role, tool_calls }) => role === 'assistant' && (tool_calls?.length ?? 0) > 0).length,
    last: textOf(after.findLast((message) => message.role === 'tool')?.content),
    system: messages
      .filter((message) => message.role === 'system')
      .map((message) => textOf(message.content))
      .join('\n'),
  };
}
