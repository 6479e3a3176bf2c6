import type { ModelTool } from '../model.ts';
import { harmonyHeader, plain } from './call-starts.ts';
import { jsonEnd, jsonState } from './json-progress.ts';
import { offeredName } from './offered-name.ts';
import { pythonCalls, pythonValue } from './python-calls.ts';

/** A call that a model wrote as text. `arguments` may be malformed. */
export interface WrittenCall {
  name: string;
  arguments: string;
}

interface Read {
  calls: WrittenCall[];
  /** where the text goes on */
  end: number;
}

const NAME_KEYS = ['name', 'tool_name', 'tool', 'function_name', 'function', 'action', 'recipient_name'];
const ARGUMENT_KEYS = ['arguments', 'parameters', 'params', 'args', 'input', 'tool_input', 'action_input', 'kwargs'];
const NAMED = /"(?:name|tool_name|tool|function_name|function|action|recipient_name)"\s*:\s*"([^"]+)"/;
const ARGUMENTS = /"(?:arguments|parameters|params|args|input|tool_input|action_input|kwargs)"\s*:\s*/;

/** Reads calls at a place of a text, each form by a method of its own. */
export class CallReader {
  private readonly text: string;
  /** the same text in the form that tags are looked for */
  private readonly plain: string;
  private readonly tools: readonly ModelTool[];
  private readonly names: ReadonlySet<string>;
  /** JSON counts only with a name and arguments */
  private readonly isStrict: boolean;
  /** calls of tools that were not offered, too */
  private readonly takesAny: boolean;

  constructor(text: string, tools: readonly ModelTool[], { isStrict = false, takesAny = false } = {}) {
    this.text = text;
    this.plain = plain(text);
    this.tools = tools;
    this.names = new Set(tools.map(({ name }) => name));
    this.isStrict = isStrict;
    this.takesAny = takesAny;
  }

  /** Behind all matches of the pattern that follow each other from here. */
  skip(pattern: RegExp, from: number): number {
    let at = from;
    for (let match = this.match(pattern, at); match && match[0] !== ''; match = this.match(pattern, at))
      at += match[0].length;
    return at;
  }

  readAt(from: number): Read | undefined {
    const at = from + /^\s*/.exec(this.text.slice(from))![0].length;
    return (
      this.harmonyAt(at) ??
      this.taggedAt(at) ??
      this.jsonAt(at) ??
      this.gemmaAt(at) ??
      this.namedAt(at) ??
      this.elementsAt(at) ??
      this.ownTagAt(at) ??
      this.pythonAt(at)
    );
  }

  /** One object, or a list, as the forms of Hermes, Llama, Granite and Mistral have it. */
  jsonAt(at: number): Read | undefined {
    if (!/[{[]/.test(this.text[at] ?? '')) return undefined;
    const end = jsonEnd(this.text, at);
    const value = end === undefined ? undefined : parsed(this.text.slice(at, end));
    if (end !== undefined && value !== undefined) {
      const calls = this.callsIn(value);
      return calls && calls.length > 0 ? { calls, end } : undefined;
    }
    const python = /^[{[\s]*'/.test(this.text.slice(at, at + 20)) ? pythonValue(this.text, at) : undefined;
    const meant = python && this.callsIn(python.value);
    if (meant && meant.length > 0) return { calls: meant, end: python.end };
    const stop = end ?? this.boundary(at);
    const broken = this.brokenCall(this.text.slice(at, stop));
    return broken && { calls: [broken], end: stop };
  }

  pythonAt(at: number): Read | undefined {
    const read = pythonCalls(this.text, at);
    if (!read?.calls.every(({ name }) => this.isOffered(name))) return undefined;
    return {
      calls: read.calls.map(({ name, args }) => ({ name: this.nameOf(name), arguments: JSON.stringify(args) })),
      end: read.end,
    };
  }

  /** OpenAI's harmony: the recipient in the header, the arguments as the message. */
  private harmonyAt(at: number): Read | undefined {
    const header = harmonyHeader(this.plain, at);
    const recipient = /\bto=([\w.-]+)/.exec(header?.said ?? '')?.[1];
    if (!header || recipient === undefined || !this.isOffered(recipient)) return undefined;
    const begin = header.end;
    const length = this.plain.slice(begin).search(/<\|(?:call|end|return|start)\|>/);
    const end = length < 0 ? this.text.length : begin + length;
    const close = this.match(/<\|(?:call|end|return)\|>/y, end)?.[0].length ?? 0;
    return {
      calls: [{ name: this.nameOf(recipient), arguments: this.text.slice(begin, end).trim() || '{}' }],
      end: end + close,
    };
  }

  /**
   * `<function=name>`, `<invoke name="name">`: Qwen coder, Llama, MiniMax, Anthropic, DeepSeek, xAI. Inside are
   * parameters in tags, or an object.
   */
  taggedAt(at: number): Read | undefined {
    const opened =
      this.match(
        /<(?:[\w-]+:|\|dsml\|)?(?:invoke|function_call|function|tool_call|use_tool|tool_use|tool)\s+name\s*=\s*["']([^"']+)["']([^>]*)>/iy,
        at,
      ) ?? this.match(/<function[=(/]\s*["']?([\w.:-]+)["']?\)?(?:\s*[>=,(])?/iy, at);
    if (!opened || !this.isOffered(opened[1]!)) return undefined;
    const name = this.nameOf(opened[1]!);
    const begin = at + opened[0].length;
    const given = /\s(?:arguments|parameters|args|input)\s*=\s*(?:'([^']*)'|"([^"]*)")/.exec(opened[2] ?? '');
    if (given) return { calls: [{ name, arguments: given[1] ?? given[2]! }], end: this.behindClose(begin) };
    const object = this.objectAt(begin);
    if (object) return { calls: [{ name, arguments: object.json }], end: this.behindClose(object.end) };
    const close = this.plain
      .slice(begin)
      .search(
        /<\/(?:[\w-]+:|\|dsml\|)?(?:invoke|function_call|function|tool_call|use_tool|tool)>|<function=|<(?:[\w-]+:|\|dsml\|)?invoke\s/i,
      );
    const end = close < 0 ? this.text.length : begin + close;
    return {
      calls: [{ name, arguments: this.parametersIn(begin, end, name, close >= 0) }],
      end: this.behindClose(end),
    };
  }

  /** A name in front of the arguments: Mistral, Kimi, DeepSeek, GLM, Functionary, Solar, ReAct, harmony. */
  namedAt(at: number): Read | undefined {
    const named = this.match(NAMED_BEFORE, at);
    if (!named || !this.isOffered(named[1]!)) return undefined;
    const name = this.nameOf(named[1]!);
    const begin = this.skip(NAMED_BETWEEN, at + named[0].length);
    const object = this.objectAt(begin) ?? this.reactAt(this.text.slice(at, begin), begin, name);
    if (object) return { calls: [{ name, arguments: object.json }], end: this.behindClose(object.end) };
    if (!this.match(/<(?:longcat_)?arg_key>|<\/(?:longcat_)?tool_call>/y, begin)) return undefined;
    const end = this.boundary(begin);
    const args = this.pairsIn(begin, end, name);
    return { calls: [{ name, arguments: args ? JSON.stringify(args) : this.text.slice(begin, end) }], end };
  }

  /** `[name key="value"]`, as small models imitate a log of their calls. */
  bracketAt(at: number): Read | undefined {
    const named = this.match(/\[([\w.:-]+)((?:\s+[\w-]+=(?:"[^"]*"|'[^']*'|[^\s"'\]]+))+)\s*\]/y, at);
    if (!named || !this.isOffered(named[1]!)) return undefined;
    const name = this.nameOf(named[1]!);
    return { calls: [{ name, arguments: this.attributesIn(named[2]!, name) }], end: at + named[0].length };
  }

  /** ReAct's input that is no object by itself: an object in brackets, or a text in brackets or without them. */
  private reactAt(before: string, begin: number, name: string): { json: string; end: number } | undefined {
    const isBracketed = this.text[begin] === '[' && /^\**Action:/i.test(before);
    if (!isBracketed && !/\n\s{0,9}\**(?:Action[ _])?Input:\**\s*(?:`{3}\w*\s*)?$/i.test(before)) return undefined;
    const object = isBracketed ? this.objectAt(begin + 1) : undefined;
    const close = object && /^\s*\]/.exec(this.text.slice(object.end))?.[0];
    if (object && close !== undefined) return { json: object.json, end: object.end + close.length };
    const rest = this.text.slice(begin);
    const input = isBracketed ? /^\[[^\n]*\]/.exec(rest)?.[0] : rest.slice(0, rest.search(BEHIND_INPUT));
    if (input === undefined) return undefined;
    const written = (isBracketed ? input.slice(1, -1) : input).trim().replace(/^(["'`])(.*)\1$/, '$2');
    return { json: this.soleArgument(name, written), end: begin + input.length };
  }

  /** The arguments when all of them is a text: that of the one argument that a tool needs, or the only one it has. */
  private soleArgument(name: string, written: string): string {
    const parameters = this.tools.find((tool) => tool.name === name)?.parameters as { required?: string[] } | undefined;
    const all = Object.keys(propertiesOf(parameters));
    const needed = parameters?.required ?? [];
    if (needed.length === 0 && (all.length === 0 || /^(?:none|null|n\/a)?$/i.test(written))) return '{}';
    const keys = needed.length > 0 ? needed : all;
    // a text that fits no argument is refused with a reason, which the model reads
    return keys.length === 1 ? JSON.stringify({ [keys[0]!]: this.valueOf(name, keys[0]!, written) }) : written;
  }

  /** GLM's pairs; undefined when one of them is not whole. */
  private pairsIn(begin: number, end: number, name: string): Record<string, unknown> | undefined {
    const args: Record<string, unknown> = {};
    const [before, ...pairs] = this.text.slice(begin, end).replaceAll('longcat_arg', 'arg').split('<arg_key>');
    if (before?.trim() !== '') return undefined;
    for (const pair of pairs) {
      const [key, rest, ...keys] = pair.split('</arg_key>');
      const [value, after, ...values] =
        rest
          ?.trim()
          .replace(/^<arg_value>/, '')
          .split('</arg_value>') ?? [];
      if (after?.trim() !== '' || keys.length + values.length > 0) return undefined;
      args[key!.trim()] = this.valueOf(name, key!.trim(), value!);
    }
    return args;
  }

  /** The name and the arguments as elements: an object, or an element for each argument. */
  private elementsAt(at: number): Read | undefined {
    const named = this.match(
      /(?:<invoke>\s*)?<((?:tool_|function_)?name|tool|action)>\s*([\w.:-]+)\s*<\/\1>\s*(?:<(?:arguments|parameters|params|args|(?:action_|tool_)?input)>\s*)?/iy,
      at,
    );
    if (!named || !this.isOffered(named[2]!)) return undefined;
    const name = this.nameOf(named[2]!);
    const begin = at + named[0].length;
    const object = this.objectAt(begin) ?? this.membersAt(begin, name);
    const end = object?.end ?? this.boundary(begin);
    const close = this.match(
      /\s{0,20}(?:<\/(?:arguments|parameters|params|args|(?:action_|tool_)?input)>)?(?:\s{0,20}<\/invoke>)?/iy,
      end,
    )![0].length;
    return { calls: [{ name, arguments: object?.json ?? this.text.slice(begin, end) }], end: end + close };
  }

  /** `<name>` with an element for each argument, as Cline and Roo teach it. */
  private ownTagAt(at: number): Read | undefined {
    const named = this.match(/<([\w.-]+)((?:\s+[\w-]+=(?:"[^"]*"|'[^']*'))*)\s*(\/?)>/y, at);
    if (!named || !this.names.has(named[1]!)) return undefined;
    const begin = at + named[0].length;
    const attributes = named[2] === '' ? undefined : this.attributesIn(named[2]!, named[1]!);
    if (named[3] === '/') return { calls: [{ name: named[1]!, arguments: attributes ?? '{}' }], end: begin };
    if (attributes !== undefined) {
      const close = new RegExp(`^\\s*</${named[1]}>`).exec(this.text.slice(begin))?.[0];
      return close === undefined
        ? undefined
        : { calls: [{ name: named[1]!, arguments: attributes }], end: begin + close.length };
    }
    const object = this.objectAt(begin) ?? this.membersAt(begin, named[1]!);
    const close = /^\s*<\/([\w.-]+)>/.exec(this.text.slice(object.end));
    return close?.[1] === named[1]
      ? { calls: [{ name: named[1]!, arguments: object.json }], end: object.end + close![0].length }
      : undefined;
  }

  private attributesIn(written: string, name: string): string {
    const pairs = [...written.matchAll(/\s*([\w-]{1,64})=(?:"([^"]*)"|'([^']*)'|([^\s"'\]]+))/gy)];
    return JSON.stringify(
      Object.fromEntries(
        pairs.map(([, key, double, single, bare]) => [key, this.valueOf(name, key!, double ?? single ?? bare ?? '')]),
      ),
    );
  }

  /** Elements that are named after the tool's arguments, as an object. */
  private membersAt(begin: number, name: string): { json: string; end: number } {
    const args: Record<string, unknown> = {};
    const known = propertiesOf(this.tools.find((tool) => tool.name === name)?.parameters);
    let end = begin;
    for (;;) {
      const opened = /^\s*<([\w.-]+)>/.exec(this.text.slice(end));
      const from = end + (opened?.[0].length ?? 0);
      const length = opened && known[opened[1]!] ? this.text.slice(from).indexOf(`</${opened[1]}>`) : -1;
      if (!opened || length < 0) return { json: JSON.stringify(args), end };
      args[opened[1]!] = this.valueOf(name, opened[1]!, this.text.slice(from, from + length));
      end = from + length + opened[1]!.length + 3;
    }
  }

  /** `call:name{key:<escape>text<escape>}`: Gemma with tokens around texts, and keys without marks. */
  private gemmaAt(at: number): Read | undefined {
    const named = this.match(/call:\s*([\w.:-]+)(?=\{)/y, at);
    if (!named || !this.isOffered(named[1]!)) return undefined;
    const begin = at + named[0].length;
    const length = this.text.slice(begin).search(/<end_function_call>|<tool_call\|>/);
    const end = length < 0 ? this.text.length : begin + length;
    const json = this.text
      .slice(begin, end)
      .split(/<escape>|<\|"\|>/)
      .map((part, at) =>
        at % 2 === 1
          ? JSON.stringify(part)
          : part.replace(/[\w-]+:?/g, (word) => (word.endsWith(':') ? `"${word.slice(0, -1)}":` : word)),
      )
      .join('');
    return { calls: [{ name: this.nameOf(named[1]!), arguments: json }], end };
  }

  /** The object at this place, as it was written; up to the next tag when it does not end. */
  private objectAt(from: number): { json: string; end: number } | undefined {
    const at = from + /^\s*/.exec(this.text.slice(from))![0].length;
    if (this.text[at] !== '{') return undefined;
    const end = jsonEnd(this.text, at) ?? this.boundary(at);
    return { json: this.text.slice(at, end), end };
  }

  private parametersIn(begin: number, end: number, name: string, isClosed: boolean): string {
    const body = this.text.slice(begin, end);
    const args: Record<string, unknown> = {};
    const open = /<(?:[\w-]+:|[|｜]DSML[|｜])?(?:parameter|param|arg)(?:=|\s+name\s*=)([^<>]*)>/giy;
    let at = 0;
    for (;;) {
      at += /^\s*/.exec(body.slice(at))![0].length;
      open.lastIndex = at;
      const opened = open.exec(body);
      if (!opened) break;
      const rest = body.slice(open.lastIndex);
      const close = rest.search(/<\/(?:[\w-]+:|[|｜]DSML[|｜])?(?:parameter|param|arg)>/i);
      const next = rest.search(/\n<parameter=/);
      const length = close < 0 || (next >= 0 && next < close) ? next : close;
      // a value without an end may be a half
      if (length < 0 && !isClosed) return body.trim();
      const written = length < 0 ? rest : rest.slice(0, length);
      const key = /[\w.-]+/.exec(opened[1]!)?.[0];
      if (key === undefined) break;
      args[key] = this.valueOf(name, key, written, /string\s*=\s*"(true|false)"/.exec(opened[1]!)?.[1]);
      at =
        open.lastIndex +
        written.length +
        (length === close && length >= 0 ? /^<[^>]*>/.exec(rest.slice(length))![0].length : 0);
    }
    return body.slice(at).trim() === '' ? JSON.stringify(args) : body.trim();
  }

  /** A value between tags. The tool's schema says whether it is a text. */
  private valueOf(name: string, key: string, written: string, isString?: string): unknown {
    const text = written.replace(/^\r?\n/, '').replace(/\r?\n$/, '');
    const types = typesOf(this.tools.find((tool) => tool.name === name)?.parameters, key);
    if (isString === 'true' || (isString === undefined && types.includes('string'))) return text;
    const word = text.trim();
    const value = parsed(word) ?? { True: true, False: false }[word];
    return value !== undefined &&
      (types.length > 0 || isString === 'false' || typeof value !== 'number' || String(value) === word)
      ? value
      : word === 'None'
        ? null
        : text;
  }

  /** The next end of a call, or of the text. */
  private boundary(from: number): number {
    const at = this.plain
      .slice(from)
      .search(
        /<\/(?:[\w-]+:|\|dsml\|)?(?:tool_?calls?|longcat_tool_call|function_?calls?|function|invoke|toolcall|arguments|parameters|tool_use)>|<\|\/?(?:tool_call_end|tool_calls_(?:section_)?end|tool_call|end_action|action_end|call|eom(?:_id)?|eot(?:_id)?|im_end)\|>|\n```|\[TOOL_CALLS\]/i,
      );
    return at < 0 ? this.text.length : from + at;
  }

  private behindClose(from: number): number {
    return (
      from +
      (this.match(
        /\s*(?:[>)]\s*)?<\/(?:[\w-]+:|\|dsml\|)?(?:invoke|function_call|function|tool_call|use_tool|tool_use|tool)>/iy,
        from,
      )?.[0].length ?? 0)
    );
  }

  /** The calls that a value describes; undefined when it describes anything else. */
  private callsIn(value: unknown): WrittenCall[] | undefined {
    if (Array.isArray(value)) {
      const all = value.map((each) => this.callsIn(each));
      return all.every((each) => each !== undefined) ? all.flat() : undefined;
    }
    if (typeof value !== 'object' || value === null) return undefined;
    const object = value as Record<string, unknown>;
    const inner =
      object.tool_calls ??
      object.tool_uses ??
      object.tool_call ??
      object.function_call ??
      (typeof object.function === 'object' ? object.function : undefined);
    if (inner) return this.callsIn(inner);
    const name = NAME_KEYS.map((key) => object[key]).find((each) => typeof each === 'string' && this.isOffered(each)) as
      | string
      | undefined;
    const key = ARGUMENT_KEYS.find((each) => object[each] !== undefined);
    if (this.isStrict && key !== undefined && isSchema(object[key])) return undefined;
    if (name !== undefined && (key !== undefined || !this.isStrict))
      return [{ name: this.nameOf(name), arguments: argumentsOf(key === undefined ? {} : object[key]) }];
    // the arguments beside the name
    const known = propertiesOf(this.tools.find((tool) => tool.name === name)?.parameters);
    const beside = Object.entries(object).filter(([each]) => !NAME_KEYS.includes(each));
    if (name !== undefined)
      return beside.length > 0 && beside.every(([each]) => known[each])
        ? [{ name: this.nameOf(name), arguments: JSON.stringify(Object.fromEntries(beside)) }]
        : undefined;
    // the name as the only key
    const [only, ...others] = Object.entries(object);
    return only && others.length === 0 && this.names.has(only[0]) && typeof only[1] === 'object' && only[1] !== null
      ? [{ name: only[0], arguments: argumentsOf(only[1]) }]
      : undefined;
  }

  /** A call that cannot be read as JSON but names a tool: the model is told what is wrong with it. */
  private brokenCall(raw: string): WrittenCall | undefined {
    const name = NAMED.exec(raw)?.[1];
    if (name === undefined || !this.isOffered(name)) return undefined;
    const key = ARGUMENTS.exec(raw);
    if (!key && this.isStrict) return undefined;
    const begin = key ? key.index + key[0].length : 0;
    // Glaive puts the arguments into single quotes
    const quoted = /^'(\{[\s\S]*\})'\s*\}+\s*$/.exec(raw.slice(begin))?.[1];
    const args = quoted ?? raw.slice(begin, jsonEnd(raw, begin));
    return { name: this.nameOf(name), arguments: key && jsonState(args) !== 'empty' ? args : raw };
  }

  private isOffered(name: string): boolean {
    return this.takesAny || this.names.has(offeredName(name, this.names));
  }

  private nameOf(name: string): string {
    return offeredName(name, this.names);
  }

  private match(pattern: RegExp, at: number): RegExpExecArray | null {
    pattern.lastIndex = at;
    return pattern.exec(this.plain);
  }
}

/** What ends a text that is the input of ReAct. */
const BEHIND_INPUT = /\s*(?:\n\s*(?:`{3}|\**(?:Observation|Thought|Action|Final Answer)\**\s*(?::|$))|$)/i;

/** What a tool's declaration has in place of arguments. */
const isSchema = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && 'type' in value && 'properties' in value;

const argumentsOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value ?? {}));

/** Also with the doubled braces of some templates. */
function parsed(text: string): unknown {
  for (const each of [text, text.replace(/^\{\{/, '{').replace(/\}\}$/, '}')]) {
    try {
      return JSON.parse(each);
    } catch {}
  }
  return undefined;
}

/** What stands before a name that stands before its arguments. */
const NAMED_BEFORE =
  /(?:function\s*<\|tool_sep\|>\s*|>>>|(?:<\|from\|>\s*assistant\s*)?<\|recipient\|>\s*|<\|tool_call:begin\|>[\w-]*\s*<\|tool_call:name\|>\s*|✿FUNCTION✿:\s*|\*{0,2}Action:\*{0,2}\s*|(?:(?:assistant)?(?:commentary|analysis)\s+)?to=)?`?([\w.:-]+)`?/iy;
/** What stands between such a name and its arguments. */
const NAMED_BETWEEN =
  /\s+|<\|tool_sep\|>|<tool_sep>|<\|tool_call_argument_begin\|>|<\|content\|>|<\|tool_call:args\|>|✿ARGS✿:|\*{0,2}(?:Action[ _])?Input:\*{0,2}|<\|(?:constrain|message)\|>|\[CALL_ID\]\s*[\w-]*|,?\s*(?:arguments|parameters|args|input)\s*[:=]|\[ARGS\]|```(?:json)?|(?:json|code)(?=[\s<{])/iy;

interface Property {
  type?: string | string[];
  anyOf?: object[];
}

const propertiesOf = (parameters: object | undefined): Record<string, Property | undefined> =>
  (parameters as { properties?: Record<string, Property> } | undefined)?.properties ?? {};

function typesOf(parameters: object | undefined, key: string): string[] {
  const schema = propertiesOf(parameters)[key];
  if (!schema) return [];
  const inner = (schema.anyOf ?? []).flatMap((each) => (each as { type?: string | string[] }).type ?? []);
  return [schema.type ?? [], inner].flat(2) as string[];
}
