import type { ModelRequest, ModelTool } from '../model.ts';
import type { WrittenCall } from './call-reader.ts';
import { bareCall, harmonyHeader, LONGEST_HEADER, lineCall, startsCalls } from './call-starts.ts';
import { readLooseCalls } from './loose-calls.ts';
import { readBareCalls, readCalls, readUnknownCalls } from './written-calls.ts';

/** Tags around thoughts, by the name of the opening one. Where nothing is said, the closing tag is that of XML. */
const THOUGHTS = new Map<string, string | RegExp>(
  [
    'think',
    'thinking',
    'thought',
    'thoughts',
    'reasoning',
    'reflection',
    'scratchpad',
    'scratch_pad',
    'seed:think',
    'mm:think',
    'longcat_think',
    'antml:thinking',
    'ifm|think',
  ].flatMap((name) =>
    [name, name.toUpperCase(), name[0]!.toUpperCase() + name.slice(1)].map((each) => [each, `</${each}>`] as const),
  ),
)
  .set('|START_THINKING|', '<|END_THINKING|>') // Cohere
  .set('|begin_of_thought|', '<|end_of_thought|>')
  .set('|inner_prefix|', '<|inner_suffix|>') // Apertus
  .set('|channel', '<channel|>') // Gemma 4
  .set('unused94', '<unused95>') // MedGemma
  .set('|think|', /<\|(?:\/think|end)\|>/) // the second: Solar
  .set('|thinking|', '<|/thinking|>');
const BRACKETED = new Map([
  ['[THINK]', '[/THINK]'], // Mistral
  ['[think]', '[/think]'],
  ['[THINKING]', '[/THINKING]'],
  ['[REASONING]', '[/REASONING]'],
  ['◁think▷', '◁/think▷'], // Kimi
  ['[unused16]', '[unused17]'], // Pangu
]);
const CLOSERS = new Set<unknown>([...THOUGHTS.values(), '<|/think|>', ...BRACKETED.values()]);

/** Other tags around a thought in front of an answer: a name that says so, and tokens as MiniCPM's. */
function closeOf(name: string): string | undefined {
  const word = name.toLowerCase();
  if (/^[\w:-]{1,48}$/.test(name))
    return /^(?:analysis|internal|cot)$|think|thought|reason|reflect|monologue|scratch|deliberat/.test(word)
      ? `</${name}>`
      : undefined;
  if (!/^[|｜][\w▁]{1,48}[|｜]$/.test(name) || !/think|thought|reason/.test(word)) return undefined;
  const end = name.replace(/start|begin/i, (begin) => (begin === begin.toUpperCase() ? 'END' : 'end'));
  return end === name ? `<${name[0]}/${name.slice(1)}>` : `<${end}>`;
}

/**
 * Thoughts that begin with words, and the words behind which the answer stands: harmony without the tokens around its
 * names, Granite, Apriel, ReAct.
 */
const WORDED_THOUGHTS: ReadonlyArray<{ begins: RegExp; answer: RegExp; words: readonly string[] }> = [
  { begins: /^(?:assistant)?analysis(?=\p{Lu})/u, answer: /assistant(?:final|(?=commentary to=))/, words: [] },
  {
    begins: /^Here(?:'s| is) my thought process:/,
    answer: /Here(?:'s| is) my response:\s*/,
    words: ["Here's my thought process:", 'Here is my thought process:'],
  },
  {
    begins: /^Here are my reasoning steps:/,
    answer: /\[BEGIN FINAL RESPONSE\]\s*/,
    words: ['Here are my reasoning steps:'],
  },
  {
    begins: /^Thought:\s/,
    answer: /\n[ \t]{0,9}(?:Final Answer:\s{0,9}|(?=\**Action:[^\n]{0,200}(?:[([{`]|\n[^\n]{0,20}Input:)))/,
    words: ['Thought: '],
  },
];
const beginsThought = (text: string): boolean =>
  WORDED_THOUGHTS.some(({ words }) => words.some((each) => each.startsWith(text)));

/** Results that models make up behind their calls. */
const RESULTS =
  /^\s*(?:<(?:tool_|function_)?(?:responses?|results?|outputs?|observations?)\b[^<>]*>|<\|?(?:observation|tool_response|tool_results?)\|?>|<[|｜]tool[_▁]outputs?[_▁]begin[|｜]>|\[TOOL_RESULTS\]|✿RESULT✿|\**Observation\**\s*(?::|$))/i;
const LITERALS = [
  ...BRACKETED.keys(),
  ...BRACKETED.values(),
  '[TOOL_CALLS]',
  '[TOOL_CALL]',
  '[tool_call]',
  '[TOOL_REQUEST]',
  '[unused11]',
  '✿FUNCTION✿:',
];

/** Tokens behind an answer that a server forgot to remove. */
const STOPS =
  /^(?:<(?:\|(?:im_end|eot(?:_id)?|eom(?:_id)?|end|return|call|stop|endoftext|end_of_text|end_of_turn|end_of_role|role_end|user|observation|END_OF_TURN_TOKEN|END_RESPONSE|end_of_solution)\||\/s|eos|end_of_turn|turn\||｜(?:end▁of▁sentence|User)｜)>\s*)+/;
/** The beginning of another message in a chat template. */
const NEXT_MESSAGE =
  /^(?:<\|im_start\|>|<start_of_turn>|<\|turn>|<\|start_of_role\|>|<\|start_header_id\|>)\s*([a-z]*)(?:<\|end_(?:of_role|header_id)\|>|\n)\s*/;
const NEXT_BEGINNING =
  /^(?:<\|im_start\|>|<start_of_turn>|<\|turn>|<\|start_of_role\|>|<\|start_header_id\|>)\s*[a-z]*(?:<[^>]{0,20})?$/;
/** Tags and tokens in front of an answer. */
const OPENING =
  /^<(?:(answer|response|final_answer|final)|\|(?:START_RESPONSE|begin_of_solution|START_OF_TURN_TOKEN|CHATBOT_TOKEN|content)\|)>\s*/;
/** Tokens around the answer in a text, which say nothing: GLM. */
const BOX = /^\|(?:begin|end)_of_box\|$/;
/** ReAct's call, whatever its name. */
const UNKNOWN_ACTION =
  /^\*{0,2}Action:\*{0,2}[ \t]{0,4}(?:[`{[]|[\w.:`-]{1,80}[ \t]{0,4}\n[ \t]{0,9}\*{0,2}Action[ _]Input:)/i;
/** Functionary's words to the person. */
const TO_ALL = '>>>all\n';
const NEXT_PART = '<|begin|>assistant';

/** OpenAI's harmony: the end of a message. */
const HARMONY_END = /<\|(?:end|call|return|start|channel)\|>/;

/** The longest beginning of a tag that is waited for. */
const LONGEST_TAG = 48;

/**
 * Separates the thoughts and calls that a model writes as text from what it says. What may be the beginning of either
 * is held back until it is known. Inside of code and backticks everything is text. The pieces in which a text arrives
 * make no difference.
 */
export class WrittenText {
  text = '';
  thought = '';
  readonly calls: WrittenCall[] = [];

  private readonly tools: readonly ModelTool[];
  private readonly put: ModelRequest['onDelta'];
  private readonly takesBare: boolean;
  /** not decided yet */
  private rest = '';
  /** the rest may hold calls, and is read at the end */
  private isHeld = false;
  /** a message of another follows, which is none of the answer */
  private isEnded = false;
  /** the answer stands in a tag of its own, behind thoughts: what closes it */
  private wrapper = '';
  /** the marks that opened the code which the text is in */
  private code = '';
  private isFence = false;
  private thinking: { close: string | RegExp; open: string; from: number; isFirst: boolean } | undefined;
  /** the tags of a first thought that may be tags of the answer */
  private likely: { open: string; close: string } | undefined;
  private isHarmony = false;
  private last = '';
  private isLineBlank = true;
  private hasText = false;
  private skipsSpace = false;

  /**
   * @param tools that were offered; text is never a call of another. `takesBare`: a text that is nothing but JSON may
   * be a call
   */
  constructor(tools: readonly ModelTool[], put: ModelRequest['onDelta'], { takesBare = true } = {}) {
    this.takesBare = takesBare && tools.length > 0;
    this.tools = tools;
    this.put = put;
  }

  add(text: string): void {
    if (this.isEnded) return;
    this.rest += text;
    if (!this.isHeld) this.read(false);
  }

  /** A call has come in a field of its own: what only might have become one in the text is text. */
  release(): void {
    if (!this.isHeld && !this.thinking && !this.rest.startsWith('<')) this.read(true);
  }

  /** Nothing follows. */
  end(): void {
    this.read(true);
    if (this.likely && this.calls.length === 0 && this.text.trim() === '') this.sayLikely();
    const open = this.thinking;
    if (!open || open.isFirst) return;
    // what looked like a thought in the middle of an answer was none
    const told = this.thought.slice(open.from);
    this.thought = this.thought.slice(0, open.from);
    this.say(open.open + told);
  }

  /** Nothing else was said, so the tag was one of the answer. */
  private sayLikely(): void {
    this.text = this.likely!.open + this.thought + (this.thinking ? '' : this.likely!.close);
    this.thought = '';
    this.thinking = undefined;
  }

  /** characters so far, also those that are not decided yet */
  get length(): number {
    return this.text.length + this.thought.length + this.rest.length;
  }

  private read(final: boolean): void {
    let goesOn = true;
    while (goesOn && this.rest !== '')
      goesOn = this.thinking ? this.readThought(final) : this.code ? this.readCode(final) : this.readText(final);
  }

  private say(text: string): void {
    const told = this.skipsSpace ? text.trimStart() : text;
    if (told === '') return;
    this.skipsSpace = false;
    this.hasText ||= /\S/.test(told);
    const newline = told.lastIndexOf('\n');
    this.isLineBlank = (newline >= 0 || this.isLineBlank) && !/\S/.test(told.slice(newline + 1));
    this.last = told.at(-1)!;
    this.text += told;
    this.put('agent_message', told);
  }

  private think(text: string): void {
    if (text === '') return;
    this.thought += text;
    this.put('agent_reasoning', text);
  }

  private take(length: number): string {
    const taken = this.rest.slice(0, length);
    this.rest = this.rest.slice(length);
    return taken;
  }

  private hold(): false {
    this.isHeld = true;
    return false;
  }

  private readText(final: boolean): boolean {
    const thought = this.hasText ? undefined : this.readWordedThought(final);
    if (thought !== undefined) return thought;
    const line = this.takesBare && this.isLineBlank ? this.readLine(final) : undefined;
    if (line !== undefined) return line;
    const mark = this.rest[0]!;
    if (!/[<[◁✿`~]/.test(mark)) {
      // calls may begin at the next line
      const at = this.rest.search(this.takesBare ? /[<[◁✿`~]|(?<=\n)/ : /[<[◁✿`~]/);
      this.say(this.take(at <= 0 ? this.rest.length : at));
      return true;
    }
    if (mark === '`' || mark === '~') return this.readCodeMark(final);
    return mark === '<' ? this.readTag(final) : this.readLiteral(final);
  }

  /** Calls that begin a line; undefined where none does. */
  private readLine(final: boolean): boolean | undefined {
    if (!this.hasText && this.rest.startsWith(TO_ALL)) {
      // calls follow in the middle of a line
      if (!final) return this.hold();
      this.take(TO_ALL.length);
      this.rest = this.rest.replace(/>>>(?=[\w.-]{1,80}\n)/g, '\n>>>');
    }
    const bare = this.hasText ? 'none' : bareCall(this.rest, this.tools);
    const either = bare === 'none' ? lineCall(this.rest) : bare;
    if (either !== 'none' && !final) return either === 'call' ? this.hold() : false;
    const calls = either === 'call' ? readBareCalls(this.rest, this.tools) : null;
    if (calls) {
      this.calls.push(...calls);
      this.rest = '';
      return false;
    }
    const read =
      either === 'call' && bare === 'none' && !/^\s*(?:\{|\[(?!\w+[ _]call:))/i.test(this.rest)
        ? (readCalls(this.rest, this.tools) ?? this.unknownAction())
        : null;
    if (!read) return this.hasText || either !== 'call' ? undefined : this.readLoose();
    return this.takeCalls(read);
  }

  /** ReAct's call of a tool that was not offered, as the whole answer. */
  private unknownAction(): ReturnType<typeof readCalls> {
    return this.hasText || !UNKNOWN_ACTION.test(this.rest.trimStart()) ? null : readUnknownCalls(this.rest, this.tools);
  }

  /** What was held back as a whole, before any of it is shown. */
  private readLoose(): false | undefined {
    const loose = readLooseCalls(this.rest, this.tools);
    if (loose?.text !== '') return undefined;
    this.calls.push(...loose.calls);
    this.rest = '';
    return false;
  }

  /** Nothing behind the calls counts that the model made up as their results. */
  private takeCalls({ calls, length }: { calls: readonly WrittenCall[]; length: number }): true {
    this.calls.push(...calls);
    this.take(length);
    if (RESULTS.test(this.rest)) this.rest = '';
    return true;
  }

  private readWordedThought(final: boolean): boolean | undefined {
    const worded = WORDED_THOUGHTS.find(({ begins }) => begins.test(this.rest));
    if (!worded) return !final && beginsThought(this.rest) ? false : undefined;
    if (!final) return this.hold();
    const end = this.rest.search(worded.answer);
    if (end < 0) return undefined;
    this.think(this.take(end).replace(worded.begins, ''));
    this.rest = this.rest.replace(worded.answer, '').replace(/\s{0,9}\[END FINAL RESPONSE\]\s{0,9}/, '');
    return true;
  }

  private readCodeMark(final: boolean): boolean {
    const run = /^(?:`+|~+)/.exec(this.rest)![0];
    if (run.length === this.rest.length && !final) return false;
    const isFence = run.length >= 3 && this.isLineBlank;
    if (isFence || run[0] === '`') {
      this.code = run;
      this.isFence = isFence;
    }
    this.say(this.take(run.length));
    return true;
  }

  private readCode(final: boolean): boolean {
    const found = this.rest.indexOf(this.code[0]!);
    const before = found < 0 ? this.rest.length : found;
    const paragraph = this.isFence ? 0 : this.paragraphEnd();
    if (paragraph > 0 && paragraph <= before) {
      this.say(this.take(paragraph));
      this.code = '';
      return true;
    }
    this.say(this.take(before));
    const run = /^(?:`+|~+)/.exec(this.rest)?.[0];
    if (run === undefined || (run.length === this.rest.length && !final)) return false;
    const closes = this.isFence ? this.isLineBlank && run.length >= this.code.length : run.length === this.code.length;
    this.say(this.take(run.length));
    if (closes) this.code = '';
    return true;
  }

  /**
   * The length up to a blank line, 0 when there is none. Code in a line ends there, so that one forgotten mark does not
   * hide the rest.
   */
  private paragraphEnd(): number {
    if (this.last === '\n' && this.rest[0] === '\n') return 1;
    const at = this.rest.indexOf('\n\n');
    return at < 0 ? 0 : at + 2;
  }

  private readTag(final: boolean): boolean {
    const name = /^<\/?[\w:|｜▁./-]*/.exec(this.rest)![0].slice(1);
    const length = name.length + 1;
    if (length === this.rest.length && length < LONGEST_TAG && !final) return false;
    const isClosed = this.rest[length] === '>';
    const template = isClosed ? this.readTemplate(final) : undefined;
    if (template !== undefined) return template;
    if (isClosed && BOX.test(name)) {
      this.take(length + 1);
      return true;
    }
    const thought = this.isLineBlank ? this.thoughtTag(name, length, final) : undefined;
    if (thought !== undefined) return thought;
    if (isClosed && CLOSERS.has(`<${name}>`)) return this.readCloser(length + 1, final);
    if (isClosed && /^\|(?:start|channel|message)\|$/.test(name)) return this.readHarmony(final);
    if (isClosed && STOPS.test(this.rest)) {
      const stops = STOPS.exec(this.rest)![0];
      if (stops.length === this.rest.length && !final) return false;
      if (this.isHarmony || stops.length === this.rest.length) {
        this.take(stops.length);
        return true;
      }
    } else if (this.tools.length > 0 && startsCalls(this.rest, this.tools)) return this.readCallsHere(final);
    // a tag of calls may name the tool, and one that is named after a tool may have attributes
    if (!final && /^<(?:function|use_tool)\s+[a-z]{0,4}$/i.test(this.rest)) return false;
    if (!final && /^<[\w.-]+\s+[\w-]*$/.test(this.rest) && this.tools.some((tool) => tool.name === name)) return false;
    this.say(this.take(length));
    return true;
  }

  /** The beginning of a thought, also in a tag with attributes. */
  private thoughtTag(name: string, length: number, final: boolean): boolean | undefined {
    const known = name === 'details' ? this.detailsOf(length) : THOUGHTS.get(name);
    const close = known ?? (this.hasText || this.thought !== '' ? undefined : closeOf(name));
    if (name === 'details' && !final && /^[^>\n]{0,200}$/.test(this.rest.slice(length))) return false;
    if (close === undefined) return undefined;
    const more = /^[ \t][^<>\n]{0,200}/.exec(this.rest.slice(length))?.[0].length ?? 0;
    const next = this.rest[length + more];
    if (next === undefined && !final && (more > 0 || known === undefined)) return false;
    if (next !== '>' || (more > 0 && this.hasText)) return undefined;
    if (typeof close === 'string' && known === undefined)
      this.likely = { open: this.rest.slice(0, length + more + 1), close };
    return this.openThought(length + more + 1, close);
  }

  /** Open WebUI's element of a thought. Another one is a text. */
  private detailsOf(length: number): string | undefined {
    return /^[^>\n]{0,200}\btype=["']?reasoning\b/.test(this.rest.slice(length)) ? '</details>' : undefined;
  }

  private readLiteral(final: boolean): boolean {
    const literal = LITERALS.find((each) => this.rest.startsWith(each));
    if (literal === undefined) {
      if (!final && LITERALS.some((each) => each.startsWith(this.rest))) return false;
      this.say(this.take(1));
      return true;
    }
    const thought = this.isLineBlank ? BRACKETED.get(literal) : undefined;
    if (thought) return this.openThought(literal.length, thought);
    if (CLOSERS.has(literal)) return this.readCloser(literal.length, final);
    if (this.tools.length > 0 && startsCalls(this.rest, this.tools)) return this.readCallsHere(final);
    this.say(this.take(literal.length));
    return true;
  }

  /**
   * Tokens of a chat template in front of an answer, or behind it. What a model makes up behind its answer as the next
   * message of a person is left out.
   */
  private readTemplate(final: boolean): boolean | undefined {
    if (this.wrapper !== '' && this.rest.startsWith(this.wrapper)) {
      this.take(this.wrapper.length);
      return true;
    }
    if (!this.hasText && this.thought !== '' && this.rest.startsWith('<|begin|>')) {
      if (!final && NEXT_PART.startsWith(this.rest)) return false;
      this.take(this.rest.startsWith(NEXT_PART) ? NEXT_PART.length : '<|begin|>'.length);
      return true;
    }
    const stops = STOPS.exec(this.rest)?.[0] ?? '';
    const behind = this.rest.slice(stops.length);
    if (!this.hasText && OPENING.test(behind) && (this.thought !== '' || behind[1] === '|')) {
      const [tag, name] = OPENING.exec(behind)!;
      this.wrapper = name === undefined ? '' : `</${name}>`;
      this.take(stops.length + tag.length);
      return true;
    }
    if (stops === '' && this.hasText) return undefined;
    if (!final && (NEXT_BEGINNING.test(behind) || (stops !== '' && /^<[^>]{0,47}$/.test(behind)))) return false;
    const next = NEXT_MESSAGE.exec(behind);
    if (!next) return undefined;
    const isAnswer = /^(?:assistant|model)?$/.test(next[1]!);
    if (!isAnswer && stops === '') return undefined;
    this.rest = isAnswer ? behind.slice(next[0].length) : '';
    this.isEnded = !isAnswer;
    return true;
  }

  private openThought(length: number, close: string | RegExp): true {
    const open = this.take(length);
    if (!this.hasText) this.text = '';
    this.thinking = { close, open, from: this.thought.length, isFirst: !this.hasText };
    return true;
  }

  /**
   * The end of a thought that was never opened: many chat templates open it in the prompt. What was said so far was the
   * thought. In the middle of a sentence the tag is only spoken of.
   */
  private readCloser(length: number, final: boolean): boolean {
    const next = this.rest[length];
    if (next === undefined && !final) return false;
    const isMention = /[ \t"'“‘(]/.test(this.last) && !this.isLineBlank && next !== undefined && next !== '\n';
    const tag = this.take(length);
    if (isMention) {
      this.say(tag);
      return true;
    }
    this.thought += this.text;
    this.text = '';
    this.restart();
    return true;
  }

  /** An answer begins here. */
  private restart(): void {
    this.hasText = false;
    this.isLineBlank = true;
    this.skipsSpace = true;
  }

  private readThought(final: boolean): boolean {
    const { close } = this.thinking!;
    const found = typeof close === 'string' ? this.rest.indexOf(close) : this.rest.search(close);
    if (found < 0) {
      this.think(this.take(this.rest.length - (final ? 0 : keptBack(this.rest, close))));
      return false;
    }
    this.think(this.take(found));
    // the header of harmony's next message is read where text is read
    this.take(
      typeof close === 'string'
        ? close.length
        : (/^<\|(?:end|call|return|\/think)\|>/.exec(this.rest)?.[0].length ?? 0),
    );
    const { isFirst } = this.thinking!;
    this.thinking = undefined;
    if (isFirst) this.restart();
    return true;
  }

  private readHarmony(final: boolean): boolean {
    const header = harmonyHeader(this.rest, 0);
    if (!header) {
      if (!final && this.rest.length < LONGEST_HEADER && !this.rest.includes('\n')) return false;
      this.say(this.take(1));
      return true;
    }
    const { said } = header;
    if (/\bto=/.test(said)) {
      if (this.tools.length > 0 && !final) return this.hold();
      const read = readCalls(this.rest, this.tools);
      if (read) return this.takeCalls(read);
    }
    this.take(header.end);
    this.isHarmony = true;
    // the message of a tool is one that the model made up
    if (/\b(?:analysis|thoughts?|thinking)\b|\bto=|^<\|start\|>(?!\s*assistant)\w/.test(said))
      this.thinking = { close: HARMONY_END, open: '', from: this.thought.length, isFirst: true };
    else if (this.hasText) this.say('\n\n');
    else this.restart();
    return true;
  }

  private readCallsHere(final: boolean): boolean {
    if (!final) return this.hold();
    const read = readCalls(this.rest, this.tools) ?? (this.hasText ? null : readUnknownCalls(this.rest, this.tools));
    if (read) return this.takeCalls(read);
    this.say(this.take(1));
    return true;
  }
}

/** How much of the end of a text may be the beginning of what closes a thought. */
function keptBack(text: string, close: string | RegExp): number {
  if (typeof close !== 'string') {
    const at = text.lastIndexOf('<');
    return at >= 0 && text.length - at < 12 ? text.length - at : 0;
  }
  for (let length = Math.min(close.length - 1, text.length); length > 0; length--)
    if (text.endsWith(close.slice(0, length))) return length;
  return 0;
}
