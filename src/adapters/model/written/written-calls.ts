import type { ModelTool } from '../model.ts';
import { CallReader, type WrittenCall } from './call-reader.ts';
import { LABEL, PREFIX, plain, TAGS, TOKENS } from './call-starts.ts';

/** Calls that stand in a text, with the tags, tokens and words around them. */

/** The tags and tokens that stand around calls, in the plain form of `plain`. They say nothing by themselves. */
const WRAPPER = new RegExp(
  [
    String.raw`\s*(?:<\/?${PREFIX}(?:${TAGS})>|<(?:tool|function|action)>(?=\s*[{[])|<\/(?:tool|function|action)>`,
    // Cline names the server of a tool
    String.raw`<server_name>[^<>]*<\/server_name>|\}{1,3}(?=\s*<\/${PREFIX}(?:${TAGS})>)`,
    TOKENS,
    String.raw`<\|\/?(?:\/?tool_calls?|tool_calls?_(?:section_)?end|tool_call_argument_begin|end_action|action_end|plugin|python_end|\/tool|eom(?:_id)?|eot(?:_id)?|im_end|observation|stop|tools_suffix|tool_call:end|function_calls?_end)\|>`,
    String.raw`<tool_call\|>|<end_function_call>|\[\/tool_calls?\]|\[end_tool_request\]|\[unused12\]`,
    String.raw`function\s*<\|tool_sep\|>(?=\s*<)|functools(?=\[)|${LABEL}|action:(?=\s*(?:[\`{[]|[\w.]+\())|[;,](?=\s*[{<[]))`,
  ].join('|'),
  'iy',
);

/** A tag or token behind calls. After it, JSON is a call only behind another one in front of calls. */
const ENDED =
  /(?:<\/[^<]*|end\|>|<\|\/tool_call\|>|<tool_call\|>|<end_function_call>|\[end_tool_request\]|\[unused12\]|<\|(?:im_end|eom(?:_id)?|eot(?:_id)?)\|>)$/i;

/**
 * The calls of offered tools at the beginning of a text, with the tags around them; null when there are none. `length`
 * is that of what was read.
 */
export const readCalls = (text: string, tools: readonly ModelTool[]): ReadCalls | null =>
  callsBy(new CallReader(text, tools), text);

/**
 * A whole answer in the tags of calls that names no offered tool, or that cannot be read: the model is told so, because
 * it is nothing for a person. Null for all else.
 */
export function readUnknownCalls(text: string, tools: readonly ModelTool[]): ReadCalls | null {
  const read = callsBy(new CallReader(text, tools, { isStrict: true, takesAny: true }), text);
  if (read && text.slice(read.length).trim() === '') return read;
  // of ReAct, nothing that follows was said by a tool
  if (/^\**Action:/i.test(text)) return read;
  const body = UNREADABLE.exec(text)?.[1] ?? '';
  const words = new Set(body.slice(0, 200).split(/[^\w.-]+/));
  const named = tools.find(({ name }) => words.has(name));
  return named ? { calls: [{ name: named.name, arguments: body.trim() }], length: text.length } : null;
}

const UNREADABLE = new RegExp(
  String.raw`^\s*[<[]${PREFIX}(?:${TAGS})[>\]]([\s\S]*)[<[]\/${PREFIX}(?:${TAGS})[>\]]\s*$`,
  'i',
);

interface ReadCalls {
  calls: WrittenCall[];
  length: number;
}

function callsBy(reader: CallReader, text: string): ReadCalls | null {
  const calls: WrittenCall[] = [];
  let at = 0;
  for (;;) {
    const begin = reader.skip(WRAPPER, at);
    const read = ENDED.test(plain(text.slice(at, begin)).replace(/<\/server_name>$/, ''))
      ? reader.taggedAt(begin)
      : reader.readAt(begin + fenceLength(text, begin));
    if (!read) break;
    calls.push(...read.calls);
    at = read.end + (/^\s*```(?![\w`])/.exec(text.slice(read.end, read.end + 20))?.[0].length ?? 0);
  }
  // the tags behind the last call
  if (calls.length === 0) return null;
  at = reader.skip(WRAPPER, at);
  const isLabelled = /^\s*\[\w+[ _]call:/i.test(text.slice(0, 40));
  return { calls, length: at + (isLabelled && text[at] === ']' ? 1 : 0) };
}

const fenceLength = (text: string, at: number): number =>
  /^\s*`{3}\w*(?=\s)/.exec(text.slice(at, at + 40))?.[0].length ?? 0;

/** The calls of an answer that is nothing but calls as JSON; null when it is something else. */
export function readBareCalls(text: string, tools: readonly ModelTool[]): WrittenCall[] | null {
  const whole = text
    .trim()
    .replace(/^`{3}\w*\s*/, '')
    .replace(/`{3}$/, '')
    .trim();
  const reader = new CallReader(whole, tools, { isStrict: true });
  const calls: WrittenCall[] = [];
  let at = reader.skip(WRAPPER, 0);
  at += /^\s*/.exec(whole.slice(at))![0].length;
  while (at < whole.length) {
    const read =
      reader.jsonAt(at) ?? reader.pythonAt(at) ?? reader.namedAt(at) ?? reader.bracketAt(at) ?? reader.taggedAt(at);
    if (!read) return null;
    calls.push(...read.calls);
    at = reader.skip(WRAPPER, read.end);
    at += /^\s*/.exec(whole.slice(at))![0].length;
  }
  return calls.length > 0 ? calls : null;
}
