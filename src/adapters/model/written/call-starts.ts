import type { ModelTool } from '../model.ts';

/** How a call begins, so that it is known before all of it has come. */

/** The names of tags around calls. */
export const TAGS =
  'tool[_-]?calls?(?:_begin|_end)?|execute_tool|longcat_tool_call|function[_-]?calls?|tool_use|use_tool|use_mcp_tool|tool_code|tools';

/** The prefix of such a tag: `minimax:`, `｜DSML｜`. */
export const PREFIX = String.raw`(?:[\w-]+:|\|dsml\|)?`;

/** The tokens around calls. */
export const TOKENS = [
  String.raw`<\|(?:tool_?calls?|tool_use|function_calls?(?:_start)?|tool_calls?_(?:section_)?(?:begin|start)|python_(?:tag|start)|tool|start_action|action_start|tools_prefix)\|>`,
  String.raw`<\|tool_call>|<start_function_call>`, // Gemma
  String.raw`\[tool_(?:calls?|request)\]|\[unused11\]`, // Mistral, MiniMax, LM Studio; Pangu
].join('|');

/** Words before a call, as models write them down for a reader. */
export const LABEL = String.raw`[[*#]{0,3}(?:tool|function)[ _]call(?:\*\*)?:(?:\*\*)?(?=\s*[\w.{\x60-])`;

/** How the first tag or token of calls begins. */
const OPENER = new RegExp(
  [
    String.raw`^(?:<${PREFIX}(?:${TAGS}|invoke)(?:>|\s)`,
    String.raw`<(?:function|use_tool|tool_use)(?:=|\(|\/|\s+name)|<(?:tool(?:_name)?|function|action)>`,
    TOKENS,
    String.raw`<\|(?:from|recipient|tool_call:begin)\|>|✿FUNCTION✿:)`,
  ].join('|'),
  'i',
);

/**
 * The fullwidth bars and blocks of DeepSeek's tokens, as others write them. Of the same length, so that places agree.
 */
export const plain = (text: string): string => text.replaceAll('｜', '|').replaceAll('▁', '_');

/** Whether a text begins with a tag or token of calls, or with a tag that is named after a tool. */
export const startsCalls = (text: string, tools: readonly ModelTool[]): boolean => {
  const begin = plain(text.slice(0, 80));
  const tag = /^<([\w.-]+)(?:\s+[\w-]+=|\s*\/?>)/.exec(begin)?.[1];
  return OPENER.test(begin) || tools.some(({ name }) => name === tag);
};

/** The longest header of a message of OpenAI's harmony. */
export const LONGEST_HEADER = 300;

/** The header of a message of OpenAI's harmony at this place: what it says, and where the message begins. */
export function harmonyHeader(text: string, at: number): { said: string; end: number } | undefined {
  const length = text.slice(at, at + LONGEST_HEADER).indexOf('<|message|>');
  if (length < 0) return undefined;
  const said = text.slice(at, at + length);
  return /[<\n]/.test(said.replace(/<\|(?:start|channel|constrain)\|>/g, ''))
    ? undefined
    : { said, end: at + length + '<|message|>'.length };
}

type Bare = 'call' | 'maybe' | 'none';

/** A call in front of all else, in a fence or without one: JSON, or the name of a tool. `maybe`: more must be seen. */
export function bareCall(text: string, tools: readonly ModelTool[]): Bare {
  const begin = text.slice(0, 200).trimStart();
  if (BARE_JSON.test(begin) || BARE_PYTHON.test(begin) || BARE_TAG.test(begin)) return 'call';
  const key = /^(?:`{3}\w*\s*)?(?:\[\s*)?\{\s*"([\w.-]+)"\s*:/.exec(begin)?.[1];
  if (key !== undefined && tools.some(({ name }) => name === key)) return 'call';
  const isShort = text.length < 200;
  const bracketed = /^\[([\w.:-]{1,64})\s/.exec(begin)?.[1];
  if (bracketed !== undefined && tools.some(({ name }) => name === bracketed)) {
    if (/^\[\S{1,64}\s{1,9}[\w-]{1,64}=/.test(begin)) return 'call';
    return isShort && /^\[\S{1,64}\s{1,9}[\w-]{0,64}$/.test(begin) ? 'maybe' : 'none';
  }
  if (isShort && BARE_BEGINNING.test(begin)) return 'maybe';
  const bare = begin.replace(/^functions\./, '');
  const named = tools.find(({ name }) => bare.startsWith(name) || (isShort && name.startsWith(bare)));
  if (named === undefined) return isShort && 'functions.'.startsWith(begin) ? 'maybe' : 'none';
  const rest = bare.slice(named.name.length);
  // Kimi numbers its calls
  if (/^(?:\(|[ \t]{0,9}\n\s{0,9}(?:\{|`{3}(?:json)?\s)|\s{0,9}<arg_key>|:\d{1,3}\s{0,4}(?:\{|<\|))/.test(rest))
    return 'call';
  return isShort && /^(?:\s*(?:`{1,3}\w{0,4}|<[a-z_]{0,7})?|:\d{0,3}\s{0,4}<?)$/.test(rest) ? 'maybe' : 'none';
}

/** The same at the beginning of a later line, where JSON in a fence is an example. */
export function lineCall(line: string): Bare {
  const text = line.trimStart();
  if (text === '') return 'none';
  if (LINE.test(text)) return 'call';
  if (LINE_BEGINNING.test(text) || LINE_WORDS.some((each) => each.startsWith(text.toLowerCase()))) return 'maybe';
  return text.startsWith('```') ? 'none' : bareCall(text, []);
}

/** Gemma, ReAct, Functionary, and gpt-oss where a server has removed the tokens of harmony. */
const LINE =
  /^(?:`{3}(?:tool_code|tool_calls?)\s|\*{0,2}Action:\*{0,2}\s{0,4}(?:[\w.:`-]{1,80}[ \t]{0,4}\n\s{0,9}\*{0,2}(?:Action[ _])?Input:|`{3}|[[{])|Action:\s{0,4}[\w.]{1,80}[([]|>>>(?!all\n)[\w.-]{1,80}\n|(?:(?:assistant)?(?:commentary|analysis) )?to=[\w.]|[[*#]{0,3}(?:tool|function)[ _]call(?:\*\*)?:)/i;
const LINE_BEGINNING =
  /^(?:`{3}\w{0,10}|\*{0,2}Action:\*{0,2}\s{0,4}`{0,2}[\w.:-]{0,80}`?[ \t]{0,4}(?:\n\s{0,9}\*{0,2}\w{0,6}[ _]?\w{0,5})?|>{1,3}[\w.-]{0,64})$/i;
const LINE_WORDS = ['', '[', '**', '#', '##', '###']
  .flatMap((mark) =>
    ['tool call', 'tool_call', 'function call', 'function_call'].flatMap((words) => [
      `${mark}${words}:`,
      `${mark}${words}**:`,
    ]),
  )
  .concat(['action:', '**action:', 'assistantcommentary to=', 'commentary to=', 'analysis to=', 'to=']);

const BARE_JSON =
  /^(?:`{3}\w*\s*)?(?:\[\s*)?\{\s*"(?:\w{0,16}name|(?:tool|function)_?(?:calls?|uses?)|(?:tool|function)Calls?|tool|function|action|type|id|call|command|method|jsonrpc|role|content|response|arguments|parameters|thoughts?|reasoning|thinking|plan)"\s*:/;
const BARE_PYTHON = /^(?:`{3}\w*\s*)?\[\s*[\w.]{1,64}\(|^`{3}\w*\s+(?:print\(\s*)?[\w.]{1,64}\(|^functools\[/;
/** A fence around tags. */
const BARE_TAG = new RegExp(String.raw`^\x60{3}\w*\s+<${PREFIX}(?:${TAGS})>`, 'i');
/** A text that may still become one of both. */
const BARE_BEGINNING =
  /^(?:`{0,3}|`{3}\w{1,12}\s*|(?:`{3}\w{0,12}\s*)?(?:\[\s*)?(?:\{\s*(?:"[\w.-]{0,64}"?\s*)?)?|(?:`{3}\w{0,12}\s*)?\[\s*[\w.]{0,64}|`{3}\w{0,12}\s+(?:[\w.]{1,64}|<[\w:|]{0,30})|f(?:u(?:n(?:c(?:t(?:o(?:o(?:ls?)?)?)?)?)?)?)?)$/;
