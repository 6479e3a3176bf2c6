import { isNote } from '../../../domain/text/fences.ts';

/** One answer of the practice model, or one step of a script. Everything is optional. */
export interface ScriptStep {
  /** `$LAST` stands for the latest tool result */
  say?: string;
  think?: string;
  /** tool name and arguments; a string is sent as it is, also when it is no JSON */
  call?: Array<[name: string, args: Record<string, unknown> | string]>;
  /** milliseconds before each word */
  pace?: number;
  /** answer with this HTTP status instead */
  fail?: number;
  /** with `fail`: the Retry-After header, seconds */
  retryAfter?: number;
  /** never answer */
  hang?: boolean;
  /** break the connection in the middle of the answer */
  cut?: boolean;
  /** `fail`, `hang` and `cut` only happen to so many requests of this step; to all when unset */
  times?: number;
}

/** A message as it comes over the wire; content that is not text counts as empty. */
export interface WireMessage {
  role: string;
  content?: unknown;
  tool_calls?: unknown[];
}

export interface Situation {
  /** the latest user message */
  user: string;
  /** assistant messages after it */
  step: number;
  /** the latest tool result after it */
  last: string;
  system: string;
}

export const textOf = (content: unknown): string => {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part: { text?: unknown }) => (typeof part?.text === 'string' ? part.text : '')).join('');
};

export function situationOf(messages: readonly WireMessage[]): Situation {
  // a report or a summary is nobody's wish
  const at = messages.findLastIndex((message) => message.role === 'user' && !isNote(textOf(message.content)));
  const after = messages.slice(at + 1);
  return {
    user: at < 0 ? '' : textOf(messages[at]?.content),
    step: after.filter((message) => message.role === 'assistant').length,
    last: textOf(after.findLast((message) => message.role === 'tool')?.content),
    system: messages
      .filter((message) => message.role === 'system')
      .map((message) => textOf(message.content))
      .join('\n'),
  };
}

/** The step of a `SCRIPT:[...]` message that is due; null when the message is no script. Text after the list is ignored. */
export function scriptedStep(situation: Situation): ScriptStep | null {
  const text = situation.user.trimStart();
  if (!text.startsWith('SCRIPT:')) return null;
  const source = firstJson(text.slice('SCRIPT:'.length));
  let steps: unknown;
  try {
    steps = JSON.parse(source);
  } catch (error) {
    return { say: `This script is not valid JSON: ${(error as Error).message}` };
  }
  if (!Array.isArray(steps)) return { say: 'A script is a list of steps.' };
  const step = steps[situation.step] as ScriptStep | undefined;
  if (!step) return { say: 'The script is over.' };
  return step.say === undefined ? step : { ...step, say: step.say.replaceAll('$LAST', () => situation.last) };
}

/** The JSON value at the start of a text, up to its closing bracket. */
function firstJson(text: string): string {
  let depth = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (quoted) {
      if (char === '\\') at++;
      else if (char === '"') quoted = false;
    } else if (char === '"') quoted = true;
    else if (char === '[' || char === '{') depth++;
    else if ((char === ']' || char === '}') && --depth === 0) return text.slice(0, at + 1);
  }
  return text;
}
