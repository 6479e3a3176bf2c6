import type { ModelTool } from '../model.ts';
import type { WrittenCall } from './call-reader.ts';
import { startsCalls } from './call-starts.ts';
import { jsonEnd } from './json-progress.ts';
import { offeredName } from './offered-name.ts';
import { pythonCalls } from './python-calls.ts';
import { readCalls } from './written-calls.ts';

/** Tags, marks, fences and a few words with a colon, in any order: what stands around a call in forms that none knows. */
const BEFORE =
  /\s+|<[^<>\n]{1,60}>|`{1,3}(?:\w+(?=\s))?|[*#([⟦>]+(?!\s*\{)|(?:[A-Za-z]{1,12} ){0,3}[A-Za-z_]{1,16}:(?=\s)|call(?=\s)/y;
const BETWEEN = /[\s:,*`]+|<[^<>\n]{1,60}>|json\b|(?:with )?(?:arguments|parameters|params|args|input)\b/iy;
const AFTER = /[\s*`)\]⟧;.]+|<[^<>\n]{1,60}>/y;
/** What models make up as a result. */
const RESULT = /(?:Observation|Result|Output):|✿RESULT✿/y;

const NAME = /^(?:(?:tool|function|recipient|command)?_?name|tool|function|action|command|method)$/i;
const ARGUMENTS = /^(?:tool|function|action)?_?(?:arguments|args|parameters|params|input|kwargs|payload)$/i;
const AROUND = /^(?:(?:tool|function)_?(?:calls?|uses?)|calls?|function|command|params|tool|action)$/i;

/**
 * The calls of a whole answer that is nothing else, in a form that is read nowhere else: the name of an offered tool
 * and its arguments, with tags, marks and labels around them. `text` is the sentence before a call in a fence that says
 * it is made now. Null for all else.
 */
export function readLooseCalls(
  text: string,
  tools: readonly ModelTool[],
): { text: string; calls: WrittenCall[] } | null {
  const whole = callsIn(text, tools);
  if (whole) return { text: '', calls: whole };
  const fence = text.indexOf('```');
  const before = text.slice(0, Math.max(fence, 0));
  if (!/\n\s{0,9}$/.test(before) || before.length > LONGEST_INTENT) return null;
  if (!INTENT.test(before) || EXAMPLE.test(before)) return null;
  const calls = callsIn(text.slice(fence), tools);
  return calls?.every((call) => fits(call, tools)) ? { text: before.trimEnd(), calls } : null;
}

const LONGEST_INTENT = 400;
const INTENT =
  /\bI['’]ll\b|\bI will\b|\bI(?:['’]m| am) going to\b|\bI need to\b|\blet(?:['’]s| me| us)\b|\bnow I\b|\bcalling\b/i;
const EXAMPLE = /\bexample|\bformat|\blooks?\b|\bwould\b|\bcould\b|\bshow/i;

function callsIn(text: string, tools: readonly ModelTool[]): WrittenCall[] | null {
  const offered = new Set(tools.map(({ name }) => name));
  for (let at = 0, length = -1; length !== 0 && at < LONGEST_INTENT; at += length) {
    const read = jsonAt(text, at, offered) ?? namedAt(text, at, offered) ?? knownAt(text, at, tools);
    const end = read && behind(AFTER, text, read.end);
    RESULT.lastIndex = end ?? 0;
    if (read && (end === text.length || RESULT.test(text))) return read.calls;
    length = lengthOf(BEFORE, text, at);
    const label = text.slice(at, at + length);
    if (label.endsWith(':') && !CALLING.test(label)) return null;
  }
  return null;
}

/** Words with a colon that announce a call. */
const CALLING = /tool|function|call|action|command|using|invok/i;

/** A form that is known, inside of others. */
function knownAt(text: string, at: number, tools: readonly ModelTool[]): Read | null {
  const rest = text[at] === '<' ? text.slice(at) : '';
  const read = rest !== '' && startsCalls(rest, tools) ? readCalls(rest, tools) : null;
  return read && { calls: read.calls, end: at + read.length };
}

interface Read {
  calls: WrittenCall[];
  end: number;
}

/** Behind all matches of a sticky pattern that follow each other. */
function behind(pattern: RegExp, text: string, from: number): number {
  let at = from;
  for (let length = -1; length !== 0; at += length) length = lengthOf(pattern, text, at);
  return at;
}

function lengthOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0].length ?? 0;
}

function jsonAt(text: string, at: number, offered: ReadonlySet<string>): Read | null {
  const end = /[{[]/.test(text[at] ?? '') ? jsonEnd(text, at) : undefined;
  const value = end === undefined ? undefined : parsed(text.slice(at, end));
  const calls = value === undefined ? [] : callsOf(value, offered);
  return calls.length > 0 ? { calls, end: end! } : null;
}

function namedAt(text: string, at: number, offered: ReadonlySet<string>): Read | null {
  const python = pythonCalls(text, at);
  if (python?.calls.every(({ name }) => offered.has(offeredName(name, offered))))
    return {
      calls: python.calls.map(({ name, args }) => ({
        name: offeredName(name, offered),
        arguments: JSON.stringify(args),
      })),
      end: python.end,
    };
  const written = /^[\w./:-]{1,100}/.exec(text.slice(at, at + 100))?.[0] ?? '';
  const name = offeredName(written.replace(/:$/, ''), offered);
  if (!offered.has(name)) return null;
  const begin = behind(BETWEEN, text, at + written.length);
  const end = text[begin] === '{' ? jsonEnd(text, begin) : undefined;
  return end === undefined ? null : { calls: [{ name, arguments: text.slice(begin, end) }], end };
}

function callsOf(value: unknown, offered: ReadonlySet<string>, depth = 0): WrittenCall[] {
  if (Array.isArray(value)) return value.flatMap((each) => callsOf(each, offered, depth));
  if (typeof value !== 'object' || value === null || depth > 3) return [];
  const entries = Object.entries(value);
  const named = entries.find(
    ([key, each]) => NAME.test(key) && typeof each === 'string' && offered.has(offeredName(each, offered)),
  );
  const args = entries.find(([key, each]) => ARGUMENTS.test(key) && isArguments(each))?.[1];
  if (named && args !== undefined)
    return [
      {
        name: offeredName(String(named[1]), offered),
        arguments: typeof args === 'string' ? args : JSON.stringify(args),
      },
    ];
  return entries.flatMap(([key, each]) => (AROUND.test(key) ? callsOf(each, offered, depth + 1) : []));
}

/** An object, or JSON of one; the declaration of a tool has a schema there. */
function isArguments(value: unknown): boolean {
  const given = typeof value === 'string' ? parsed(value) : value;
  return typeof given === 'object' && given !== null && !Array.isArray(given) && !('properties' in given);
}

/** The arguments are those of the tool, with all that it needs. */
function fits({ name, arguments: written }: WrittenCall, tools: readonly ModelTool[]): boolean {
  const { properties = {}, required = [] } = (tools.find((tool) => tool.name === name)?.parameters ?? {}) as {
    properties?: object;
    required?: string[];
  };
  const args = parsed(written);
  if (typeof args !== 'object' || args === null) return false;
  return Object.keys(args).every((key) => key in properties) && required.every((key) => key in args);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
