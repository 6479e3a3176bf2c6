import {
  type LostAnswer,
  type ModelAnswer,
  type ModelCall,
  ModelError,
  type ModelRequest,
  type ModelUsage,
} from '../model.ts';
import { readLooseCalls } from '../written/loose-calls.ts';
import { readBareCalls, readCalls } from '../written/written-calls.ts';
import { WrittenText } from '../written/written-text.ts';
import { CallParts, type WireCall } from './calls.ts';
import { type Ending, endingOf, saysUnfinished } from './ends.ts';
import { KeptFields } from './kept-fields.ts';
import { estimatedUsage, UsageReader } from './usage.ts';

/** A chunk of a stream or a whole answer, with every deviation from the protocol that providers have. */
export interface WireChunk {
  model?: string | null;
  choices?: WireChoice[] | WireChoice | null;
  usage?: unknown;
  x_groq?: { usage?: unknown } | null;
  usageMetadata?: unknown;
  /** Ollama's own form of an answer */
  message?: WireMessage | null;
  done?: boolean;
  done_reason?: string | null;
  prompt_eval_count?: unknown;
  finish_reason?: unknown;
}
interface WireChoice {
  index?: number | null;
  delta?: WireMessage | string | null;
  message?: WireMessage | null;
  text?: unknown;
  finish_reason?: unknown;
  finishReason?: unknown;
  /** vLLM names the word or token here that it stopped at, others a reason */
  stop_reason?: unknown;
  /** OpenRouter: the reason of the provider behind it */
  native_finish_reason?: unknown;
  usage?: unknown;
}
interface WireMessage {
  content?: unknown;
  reasoning_content?: unknown;
  reasoning_details?: unknown;
  /** Google marks a thought in the content so */
  extra_content?: unknown;
  refusal?: unknown;
  tool_calls?: Array<WireCall | null> | WireCall | null;
  /** gateways written in Java */
  toolCalls?: Array<WireCall | null> | WireCall | null;
  function_call?: { name?: unknown; arguments?: unknown } | null;
  usage?: unknown;
}

/** Words in place of a reason while the answer goes on. */
const NO_REASON = new Set(['', 'null', 'none', 'undefined', 'finish_reason_unspecified']);

/** How a body ended: with the word that it is complete, or because the connection closed. */
export type BodyEnd = 'done' | 'closed';

/** OpenAI's own limit of an id. */
const LONGEST_ID = 64;

type Asked = Pick<ModelRequest, 'model' | 'tools' | 'onDelta'>;

/** Assembles a streamed answer. */
export class Accumulator {
  private readonly asked: Asked;
  private readonly endpoint: string;
  private readonly promptChars: number;
  private readonly usage = new UsageReader();
  private readonly written: WrittenText;
  private readonly calls: CallParts;
  private readonly kept = new KeptFields();
  private reasoning = '';
  /** content as it came, where the model wants it back */
  private content: string | undefined;
  private isRefused = false;
  private finishReason = '';
  private hasChunk = false;
  private hasChoice = false;
  private model: string;
  /** text of whole messages so far, which the next may repeat */
  private repeated = '';

  /**
   * `promptChars` is for the estimate when the endpoint reports no usage, `endpoint` the base URL that the state of the
   * answer belongs to. `keepsContent`: the model wants its content back with the thoughts in it.
   */
  constructor(
    asked: Asked,
    { endpoint, promptChars, keepsContent = false }: { endpoint: string; promptChars: number; keepsContent?: boolean },
  ) {
    this.content = keepsContent ? '' : undefined;
    this.asked = asked;
    this.endpoint = endpoint;
    this.promptChars = promptChars;
    this.model = asked.model;
    this.written = new WrittenText(asked.tools, asked.onDelta);
    this.calls = new CallParts(new Set(asked.tools.map(({ name }) => name)));
  }

  /** A chunk of the stream, or the whole answer of a provider that does not stream. */
  add(chunk: WireChunk): void {
    this.hasChunk = true;
    if (typeof chunk.model === 'string' && chunk.model !== '') this.model = chunk.model;
    for (const figures of figuresIn(chunk)) this.usage.add(figures);
    if (chunk.prompt_eval_count !== undefined) this.usage.add(chunk);
    this.addReason(chunk.finish_reason);
    const [choice, ...others] = [chunk.choices ?? ollamaChoice(chunk) ?? []]
      .flat()
      .filter((each) => typeof each === 'object' && each !== null);
    if (!choice) return;
    this.hasChoice = true;
    this.addChoice(choice);
    // GitHub Copilot puts the calls of some models into a choice of their own
    for (const other of others) {
      this.calls.add(callsOf(messageOf(other.delta) ?? other.message));
      this.addReason(other.finish_reason);
    }
  }

  /** The endpoint has said how its answer ends, so what follows can be missed. */
  get isFinished(): boolean {
    return this.finishReason !== '' && ['complete', 'cut', 'refused'].includes(endingOf(this.finishReason));
  }

  /**
   * Throws ModelStreamBroken when the answer is not whole, ContextOverflow when it ended because the context is full.
   */
  finish(end: BodyEnd): ModelAnswer {
    const ending = this.endingAt(end);
    this.written.end();
    const { calls, own } = this.calls.result();
    if (ending === 'complete' && !this.calls.isEmpty && calls.length === 0 && this.written.text === '')
      throw broken('the answer holds nothing but tool calls without a name');
    const reading =
      calls.length > 0
        ? { text: this.written.text, reasoning: this.allReasoning, calls }
        : this.withWrittenCalls(ending);
    const usage = this.usage.result();
    return {
      ...reading,
      calls: ending === 'refused' ? [] : reading.calls,
      usage: usage ?? this.estimate(reading.calls),
      usageEstimated: usage === undefined,
      finishReason: this.finishReason,
      end: ending,
      ...(ending === 'complete' && this.state(calls, own, reading.calls.length === calls.length)),
      model: this.model,
    };
  }

  /** What an answer that ended early has used: what the endpoint has said of it counts. */
  sofar(): LostAnswer {
    const told = this.usage.result();
    const { calls } = this.calls.result();
    const guessed = this.estimate(calls, this.written.length);
    return {
      model: this.model,
      usage: told ? { ...told, outputTokens: Math.max(told.outputTokens, guessed.outputTokens) } : guessed,
      usageEstimated: told === undefined || told.outputTokens < guessed.outputTokens,
    };
  }

  private endingAt(end: BodyEnd): Exclude<Ending, 'broken' | 'overflow'> {
    if (this.finishReason === '') {
      if (!this.hasChoice && this.hasChunk) throw broken('the endpoint sent nothing in the form of a chat completion');
      if (end === 'closed' || !this.hasChoice || this.calls.hasHalf)
        throw broken('the stream ended before the answer was finished');
      return this.isRefused ? 'refused' : 'complete';
    }
    const ending = endingOf(this.finishReason);
    if (ending === 'broken') throw broken(`the endpoint broke the answer off (${this.finishReason.slice(0, 100)})`);
    if (ending === 'overflow')
      throw new ModelError('ContextOverflow', `LLM error: the context is full (${this.finishReason.slice(0, 100)})`);
    if (ending !== 'complete') return ending;
    if (end === 'closed' && this.calls.hasHalf) throw broken('the stream ended in the middle of a tool call');
    return this.isRefused ? 'refused' : 'complete';
  }

  private get allReasoning(): string {
    return this.reasoning + this.written.thought;
  }

  /**
   * The answer of a model or server that writes calls as text. Some do it where the thoughts should be, and say nothing
   * else.
   */
  private withWrittenCalls(ending: Ending): Pick<ModelAnswer, 'text' | 'reasoning' | 'calls'> {
    const { text, calls } = this.written;
    if (calls.length > 0) return { text: text.trimEnd(), reasoning: this.allReasoning, calls: withIds(calls) };
    if (ending !== 'complete' || this.asked.tools.length === 0)
      return { text, reasoning: this.allReasoning, calls: [] };
    if (text.trim() !== '') {
      const loose = readLooseCalls(text, this.asked.tools);
      return { text: loose?.text ?? text, reasoning: this.allReasoning, calls: withIds(loose?.calls ?? []) };
    }
    const thought = new WrittenText(this.asked.tools, () => {}, { takesBare: false });
    thought.add(this.allReasoning);
    thought.end();
    if (thought.calls.length === 0) return { text, reasoning: this.allReasoning, calls: [] };
    return { text: '', reasoning: `${thought.thought}${thought.text}`.trim(), calls: withIds(thought.calls) };
  }

  private state(
    made: readonly ModelCall[],
    given: ReadonlyArray<Record<string, unknown> | null>,
    isPlain: boolean,
  ): Pick<ModelAnswer, 'state'> {
    // calls that are written in it go back as calls
    const content = isPlain && this.written.thought !== '' ? this.content : undefined;
    const message = this.kept.result();
    const said = JSON.stringify(message ?? {});
    // LiteLLM writes a signature into the id; in OpenRouter's details of thoughts an id says to which call they belong
    const isState = (id: string) => id.length > LONGEST_ID || said.includes(JSON.stringify(id));
    const own = given.map((fields, at) => (isState(made[at]!.id) ? { ...fields, id: made[at]!.id } : fields));
    const calls = own.some((each) => each !== null) ? own : undefined;
    if (!message && !calls && content === undefined) return {};
    return {
      state: {
        wire: 'chat',
        endpoint: this.endpoint,
        model: this.asked.model,
        data: { ...(message && { message }), ...(calls && { calls }), ...(content !== undefined && { content }) },
      },
    };
  }

  private addChoice(choice: WireChoice): void {
    if (choice.usage) this.usage.add(choice.usage);
    const { message } = choice;
    const delta = messageOf(choice.delta);
    if (delta && Object.values(delta).some((value) => value !== null && value !== '')) this.addMessage(delta, false);
    else if (message) this.addMessage(message, true);
    else if (typeof choice.text === 'string') this.addMessage({ content: choice.text }, false);
    else if ('tool_calls' in choice || 'content' in choice) this.addMessage(choice as WireMessage, false);
    this.addReason(choice.finish_reason ?? choice.finishReason);
    // the word of the protocol may say less than what stands beside it
    for (const beside of [choice.stop_reason, choice.native_finish_reason])
      if (typeof beside === 'string' && saysUnfinished(beside)) this.addReason(beside);
  }

  /**
   * Some servers name a reason in every chunk. A word that the answer is whole does not take back one that it is not.
   */
  private addReason(reason: unknown): void {
    if (typeof reason !== 'string' || NO_REASON.has(reason.toLowerCase())) return;
    if (this.finishReason !== '' && endingOf(reason) === 'complete' && endingOf(this.finishReason) !== 'complete')
      return;
    this.finishReason = reason;
  }

  /**
   * @param soFar it may repeat what came before it: DashScope and some gateways send the whole message again and again
   */
  private addMessage(message: WireMessage, soFar: boolean): void {
    if (message.usage) this.usage.add(message.usage);
    const content = readContent(message.content);
    const parts = isThought(message) ? { ...content, text: '', reasoning: content.text } : content;
    this.kept.add(message, soFar);
    this.addReasoning(parts.reasoning || reasoningOf(message), soFar);
    const refusal = string(message.refusal) || parts.refusal;
    if (refusal !== '') this.isRefused = true;
    const text = parts.text || refusal;
    if (text !== '') {
      const isRepeated = soFar && this.repeated !== '' && text.startsWith(this.repeated);
      const more = isRepeated ? text.slice(this.repeated.length) : text;
      this.written.add(more);
      if (this.content !== undefined) this.content += more;
      this.repeated = isRepeated ? text : this.repeated + text;
    }
    const calls = [...parts.calls, ...callsOf(message)];
    if (calls.length > 0) this.written.release();
    this.calls.add(calls, soFar);
  }

  private addReasoning(text: string, soFar: boolean): void {
    const more =
      soFar && this.reasoning !== '' && text.startsWith(this.reasoning) ? text.slice(this.reasoning.length) : text;
    if (more === '') return;
    this.reasoning += more;
    this.asked.onDelta('agent_reasoning', more);
  }

  private estimate(
    calls: readonly ModelCall[],
    text = this.written.text.length + this.written.thought.length,
  ): ModelUsage {
    const told = text + this.reasoning.length;
    const chars = calls.reduce((sum, call) => sum + call.name.length + call.arguments.length, told);
    return estimatedUsage(this.promptChars, chars);
  }
}

/**
 * The answer in a text that an endpoint could not read as calls (Groq's `failed_generation`); null when it holds none
 * of an offered tool.
 */
export function readFailedGeneration(
  generation: string,
  { tools, model }: Asked,
  promptChars: number,
): ModelAnswer | null {
  const text = new WrittenText(tools, () => {});
  text.add(generation);
  text.end();
  const calls =
    text.calls.length > 0
      ? text.calls
      : (readBareCalls(generation, tools) ?? readCalls(generation, tools)?.calls ?? []);
  if (calls.length === 0) return null;
  const said = { text: text.calls.length > 0 ? text.text.trimEnd() : '', reasoning: text.thought };
  return {
    ...said,
    calls: withIds(calls),
    usage: estimatedUsage(promptChars, generation.length),
    usageEstimated: true,
    finishReason: 'tool_calls',
    end: 'complete',
    model,
  };
}

/** Objects that may hold figures: `usage`, Groq's `x_groq.usage`, Bedrock's metrics, and wherever else they stand. */
function figuresIn(chunk: WireChunk): object[] {
  const inside = (value: object): object[] =>
    Object.entries(value).flatMap(([name, each]) =>
      typeof each === 'object' && each !== null && !Array.isArray(each) && !NO_FIGURES.has(name) ? [each] : [],
    );
  return inside(chunk).flatMap((each) => [...inside(each), each]);
}

const NO_FIGURES = new Set(['choices', 'message', 'delta', 'error']);

const withIds = (calls: ReadonlyArray<Omit<ModelCall, 'id'>>): ModelCall[] =>
  calls.map((call, at) => ({ id: `call_${at + 1}`, ...call }));

const broken = (why: string): ModelError => new ModelError('ModelStreamBroken', `LLM error: ${why}`);

/** Gateways send a text in place of a delta. */
const messageOf = (delta: WireMessage | string | null | undefined): WireMessage | null | undefined =>
  typeof delta === 'string' ? { content: delta } : delta;

const ollamaChoice = ({ message, done, done_reason }: WireChunk): WireChoice | undefined =>
  message && typeof message === 'object'
    ? { delta: message, finish_reason: done ? done_reason || 'stop' : null }
    : undefined;

/** A list, one call, or calls by their numbers. */
function callsOf(message: WireMessage | null | undefined): WireCall[] {
  const given = message?.tool_calls ?? message?.toolCalls ?? [];
  const isNumbered = Object.keys(given).length > 0 && Object.keys(given).every((key) => /^\d+$/.test(key));
  const calls = (isNumbered ? Object.values(given) : [given])
    .flat()
    .filter((call): call is WireCall => typeof call === 'object' && call !== null);
  const { function_call: old } = message ?? {};
  return old && typeof old === 'object' ? [...calls, { index: 'function_call', function: old }] : calls;
}

const string = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The names of thoughts at other makers and in gateways. */
const THOUGHTS = /^(?:reasoning|thinking|thoughts?)(?:_?(?:content|text))?$/i;

function reasoningOf(message: WireMessage): string {
  const told = Object.entries(message).flatMap(([name, value]) =>
    THOUGHTS.test(name) ? string(value) || string((value as { content?: unknown } | null)?.content) : [],
  );
  const plain = string(message.reasoning_content) || (told.find((text) => text !== '') ?? '');
  if (plain !== '' || !Array.isArray(message.reasoning_details)) return plain;
  return message.reasoning_details.map((detail) => string(detail?.text) || string(detail?.summary)).join('');
}

const isThought = ({ extra_content: own }: WireMessage): boolean =>
  (own as { google?: { thought?: unknown } } | null | undefined)?.google?.thought === true;

interface Content {
  text: string;
  reasoning: string;
  refusal: string;
  calls: WireCall[];
}

interface ContentPart {
  type?: string;
  text?: unknown;
  thinking?: unknown;
  refusal?: unknown;
}

/**
 * Content is a string, null, or a list of parts: text, thoughts (Mistral, Anthropic), calls (Anthropic), a refusal
 * (OpenAI).
 */
function readContent(content: unknown): Content {
  const read: Content = { text: '', reasoning: '', refusal: '', calls: [] };
  if (typeof content !== 'object' || content === null) return { ...read, text: string(content) };
  for (const part of [content].flat() as Array<ContentPart | string | null>) {
    if (typeof part !== 'object' || part === null) read.text += string(part);
    else if (part.type === 'thinking' || part.type === 'reasoning') {
      const thought = part.thinking ?? part.text;
      read.reasoning += typeof thought === 'object' && thought !== null ? readContent(thought).text : string(thought);
    } else if (part.type === 'tool_use' || part.type === 'tool_call' || part.type === 'function_call')
      read.calls.push(part as WireCall);
    else if (part.type === 'refusal') read.refusal += string(part.refusal);
    else
      read.text +=
        typeof part.text === 'object' && part.text !== null
          ? string((part.text as { value?: unknown }).value)
          : string(part.text);
  }
  return read;
}
