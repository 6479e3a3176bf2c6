import { writeFileSync } from 'node:fs';

/**
 * A model for llama.cpp with random weights, in a few hundred KB: one layer, a token for each byte, and Mistral's tokens
 * and template. Two tables are laid over the weights, so that its answers are known: which token follows another, and
 * which a grammar rather takes. After a question it calls `report_progress`, after the result it says a sentence.
 */

const SPECIAL = [
  '<unk>',
  '<s>',
  '</s>',
  '[INST]',
  '[/INST]',
  '[TOOL_CALLS]',
  '[AVAILABLE_TOOLS]',
  '[/AVAILABLE_TOOLS]',
  '[TOOL_RESULTS]',
  '[/TOOL_RESULTS]',
];
const SENTENCE = ['The', ' heron', ' stands', ' in', ' the', ' water', '.'];
/** Of all that a grammar allows, the first of these. */
const PREFERRED = ['report_progress', 'Reading', '"', 'message', '}', ']', ' '];

const WIDTH = 64;
const CONTEXT = 65_536;

/** Writes the file. `endless`: the sentence begins again and again, up to the end of the context. */
export function writeTinyModel(file: string, { endless = false } = {}): void {
  const words = new Vocabulary([...SENTENCE, ...PREFERRED]);
  const size = words.tokens.length;
  const random = numbers();
  const embedding = random(size * WIDTH, 1);
  const output = random(size * WIDTH, 0.02);
  const add = (token: string, vector: (at: number) => number) => {
    const row = words.id(token) * WIDTH;
    for (let at = 0; at < WIDTH; at++) output[row + at]! += vector(at);
  };
  // the first number is the same for each token, so it says nothing of what follows which
  const follows = (before: string, next: string) =>
    add(next, (at) => (at === 0 ? 0 : 3 * embedding[words.id(before) * WIDTH + at]!));
  for (let row = 0; row < size; row++) embedding[row * WIDTH] = 2;
  for (const [at, token] of PREFERRED.entries()) add(token, (place) => (place === 0 ? 4 - (4 * at) / 10 : 0));
  follows('[/INST]', '[TOOL_CALLS]');
  // a text of hundreds of characters would be as long as the grammar allows
  follows('"', 'Reading');
  follows('Reading', '"');
  follows('[/TOOL_RESULTS]', SENTENCE[0]!);
  for (const [at, word] of SENTENCE.slice(1).entries()) follows(SENTENCE[at]!, word);
  follows(SENTENCE.at(-1)!, endless ? SENTENCE[0]! : '</s>');
  const ones = () => new Float32Array(WIDTH).fill(1);
  const square = (): [number[], Float32Array] => [[WIDTH, WIDTH], random(WIDTH * WIDTH, 0.01)];
  writeGguf(
    file,
    {
      'general.architecture': 'llama',
      'general.name': 'tiny',
      'llama.context_length': uint(CONTEXT),
      'llama.embedding_length': uint(WIDTH),
      'llama.block_count': uint(1),
      'llama.feed_forward_length': uint(WIDTH),
      'llama.attention.head_count': uint(2),
      'llama.rope.dimension_count': uint(WIDTH / 2),
      'llama.attention.layer_norm_rms_epsilon': 1e-5,
      'llama.vocab_size': uint(size),
      'tokenizer.ggml.model': 'gpt2',
      'tokenizer.ggml.pre': 'tekken',
      'tokenizer.ggml.tokens': words.tokens,
      'tokenizer.ggml.token_type': words.tokens.map((_, at) => int(at < SPECIAL.length ? 3 : 1)),
      'tokenizer.ggml.merges': words.merges,
      'tokenizer.ggml.bos_token_id': uint(1),
      'tokenizer.ggml.eos_token_id': uint(2),
      'tokenizer.ggml.unknown_token_id': uint(0),
      'tokenizer.ggml.add_bos_token': true,
      'tokenizer.chat_template': TEMPLATE,
    },
    {
      'token_embd.weight': [[WIDTH, size], embedding],
      'output.weight': [[WIDTH, size], output],
      'output_norm.weight': [[WIDTH], ones()],
      'blk.0.attn_norm.weight': [[WIDTH], ones()],
      'blk.0.ffn_norm.weight': [[WIDTH], ones()],
      ...Object.fromEntries(
        ['attn_q', 'attn_k', 'attn_v', 'attn_output', 'ffn_gate', 'ffn_up', 'ffn_down'].map((name) => [
          `blk.0.${name}.weight`,
          square(),
        ]),
      ),
    },
  );
}

/** The vocabulary of GPT-2: a token for each byte, and merges that lead to some words. */
class Vocabulary {
  readonly tokens: string[];
  readonly merges: string[] = [];
  private readonly letters: string[] = [];

  constructor(words: readonly string[]) {
    for (let byte = 0, others = 0; byte < 256; byte++) {
      const shows = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
      this.letters.push(String.fromCodePoint(shows ? byte : 256 + others++));
    }
    this.tokens = [...SPECIAL, ...this.letters];
    for (const word of words) this.learn([...this.written(word)]);
  }

  id(token: string): number {
    return this.tokens.indexOf(SPECIAL.includes(token) ? token : this.written(token));
  }

  private written(word: string): string {
    return [...Buffer.from(word)].map((byte) => this.letters[byte]).join('');
  }

  private learn([first = '', ...rest]: string[]): void {
    let left = first;
    for (const letter of rest) {
      if (!this.tokens.includes(left + letter)) {
        this.tokens.push(left + letter);
        this.merges.push(`${left} ${letter}`);
      }
      left += letter;
    }
  }
}

/** Random numbers around 0, the same in each run. */
function numbers(): (count: number, width: number) => Float32Array {
  let state = 1;
  return (count, width) =>
    Float32Array.from({ length: count }, () => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
      return (state / 0x7fff_ffff - 0.5) * width;
    });
}

/** A whole number with its type in the file. */
interface Whole {
  type: 4 | 5;
  value: number;
}
const uint = (value: number): Whole => ({ type: 4, value });
const int = (value: number): Whole => ({ type: 5, value });

type Value = string | number | boolean | Whole | readonly string[] | readonly Whole[];
type Tensor = [shape: number[], data: Float32Array];

/** https://github.com/ggml-org/ggml/blob/master/docs/gguf.md */
function writeGguf(file: string, metadata: Record<string, Value>, tensors: Record<string, Tensor>): void {
  let offset = 0;
  const infos = Object.entries(tensors).map(([name, [shape, data]]) => {
    const info = [text(name), int32(shape.length), ...shape.map(int64), int32(0), int64(offset)];
    offset += padded(Buffer.from(data.buffer)).length;
    return Buffer.concat(info);
  });
  const head = Buffer.concat([
    ...[Buffer.from('GGUF'), int32(3), int64(infos.length), int64(Object.keys(metadata).length)],
    ...Object.entries(metadata).flatMap(([key, value]) => [text(key), typed(value)]),
    ...infos,
  ]);
  const data = Object.values(tensors).map(([, each]) => padded(Buffer.from(each.buffer)));
  writeFileSync(file, Buffer.concat([padded(head), ...data]));
}

const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};
const int64 = (value: number): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
};
const float32 = (value: number): Buffer => Buffer.from(new Float32Array([value]).buffer);
const text = (value: string): Buffer => Buffer.concat([int64(Buffer.byteLength(value)), Buffer.from(value)]);
const padded = (bytes: Buffer): Buffer => Buffer.concat([bytes, Buffer.alloc((32 - (bytes.length % 32)) % 32)]);

/** A value behind the number of its type. */
function typed(value: Value): Buffer {
  if (!Array.isArray(value)) return Buffer.concat(plain(value as Exclude<Value, readonly unknown[]>));
  const all = value.map((each: string | Whole) => plain(each));
  return Buffer.concat([int32(9), all[0]?.[0] ?? int32(8), int64(all.length), ...all.map(([, bytes]) => bytes)]);
}

const plain = (value: string | number | boolean | Whole): [type: Buffer, bytes: Buffer] => {
  if (typeof value === 'string') return [int32(8), text(value)];
  if (typeof value === 'number') return [int32(6), float32(value)];
  return typeof value === 'boolean'
    ? [int32(7), Buffer.from([Number(value)])]
    : [int32(value.type), int32(value.value)];
};

/** Mistral's template with the checks that it makes: ids of nine characters, and roles that alternate. */
const TEMPLATE = `
{%- if messages[0]['role'] == 'system' %}
  {%- set system = messages[0]['content'] + '\\n\\n' %}
  {%- set talk = messages[1:] %}
{%- else %}
  {%- set system = '' %}
  {%- set talk = messages %}
{%- endif %}
{%- set turn = namespace(user=true, last=0) %}
{%- for message in talk %}
  {%- if message['role'] == 'user' %}
    {%- set turn.last = loop.index0 %}
  {%- endif %}
  {%- if message['role'] == 'user' or (message['role'] == 'assistant' and not message['tool_calls']) %}
    {%- if (message['role'] == 'user') != turn.user %}
      {{- raise_exception('After the optional system message, conversation roles must alternate user/assistant/user/assistant/...') }}
    {%- endif %}
    {%- set turn.user = not turn.user %}
  {%- endif %}
{%- endfor %}
{{- bos_token }}
{%- for message in talk %}
  {%- if message['role'] == 'user' %}
    {%- if tools and loop.index0 == turn.last %}
      {{- '[AVAILABLE_TOOLS]' + (tools | tojson) + '[/AVAILABLE_TOOLS]' }}
    {%- endif %}
    {{- '[INST]' + (system if loop.index0 == turn.last else '') + message['content'] + '[/INST]' }}
  {%- elif message['tool_calls'] %}
    {{- '[TOOL_CALLS][' }}
    {%- for call in message['tool_calls'] %}
      {%- if call['id'] | length != 9 %}
        {{- raise_exception('Tool call IDs should be alphanumeric strings with length 9!') }}
      {%- endif %}
      {{- call['function'] | tojson | replace('}}', '}') }}
      {{- ', "id": "' + call['id'] + '"}' }}
      {{- ', ' if not loop.last else ']' + eos_token }}
    {%- endfor %}
  {%- elif message['role'] == 'assistant' %}
    {{- message['content'] + eos_token }}
  {%- elif message['role'] == 'tool' %}
    {{- '[TOOL_RESULTS]{"content": ' + message['content'] | string + ', "call_id": "' + message['tool_call_id'] + '"}[/TOOL_RESULTS]' }}
  {%- else %}
    {{- raise_exception('Only user, system, assistant and tool roles are supported!') }}
  {%- endif %}
{%- endfor %}`;
