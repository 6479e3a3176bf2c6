/**
 * A JSON reader that knows where each value stands, so that an error names line and column in the words that clients of
 * the runtime API already know (those of serde_json). `JSON.parse` gives neither positions nor duplicate keys.
 */

export type JsonKind = 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object';
export interface JsonNode {
  kind: JsonKind;
  value: unknown;
  /** byte offsets: of the first byte, and after the last one */
  start: number;
  end: number;
  items?: JsonNode[];
  /** in order; a repeated key is listed again */
  fields?: Array<{ key: string; keyEnd: number; node: JsonNode }>;
}

/** `at` is a count of bytes: what was read when the error was seen. */
export class JsonSyntaxError extends Error {
  readonly path: string;
  readonly at: number;
  constructor(path: string, what: string, at: number) {
    super(what);
    this.path = path;
    this.at = at;
  }
}

/** `line 1 column 5`: lines from 1, columns count bytes. */
export function position(bytes: Buffer, at: number): string {
  const before = bytes.subarray(0, at);
  let line = 1;
  for (const byte of before) if (byte === 10) line += 1;
  return `line ${line} column ${at - (before.lastIndexOf(10) + 1)}`;
}

/** `answers[0].id` */
export const joinPath = (path: string, step: string | number): string => (typeof step === 'number' ? `${path}[${step}]` : path ? `${path}.${step}` : step);

const DEPTH = 128;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const QUOTE = 34;
const BACKSLASH = 92;

/** @throws JsonSyntaxError */
export function readJson(bytes: Buffer): JsonNode {
  // one char per byte: offsets in it are byte offsets
  const text = bytes.toString('latin1');
  let at = 0;

  const seen = (path: string, what: string): JsonSyntaxError => new JsonSyntaxError(path, what, Math.min(at, bytes.length));
  const peeked = (path: string, what: string): JsonSyntaxError => new JsonSyntaxError(path, what, Math.min(at + 1, bytes.length));
  const space = () => {
    while (at < text.length && ' \n\t\r'.includes(text[at]!)) at += 1;
  };

  const word = (path: string, name: string, kind: JsonKind, value: unknown): JsonNode => {
    const start = at;
    for (const letter of name) {
      if (at >= text.length) throw seen(path, 'EOF while parsing a value');
      if (text[at++] !== letter) throw seen(path, 'expected ident');
    }
    return { kind, value, start, end: at };
  };

  const number = (path: string): JsonNode => {
    const start = at;
    NUMBER.lastIndex = at;
    const found = NUMBER.exec(text)?.[0];
    if (found === undefined) {
      at += 1;
      throw peeked(path, at >= text.length ? 'EOF while parsing a value' : 'invalid number');
    }
    at += found.length;
    if (/[0-9.eE]/.test(text[at] ?? '')) {
      at += 1;
      throw at >= text.length ? seen(path, 'EOF while parsing a value') : peeked(path, 'invalid number');
    }
    return { kind: 'number', value: Number(found), start, end: at };
  };

  const string = (path: string): JsonNode => {
    const start = at;
    let escaped = false;
    at += 1;
    for (;;) {
      if (at >= bytes.length) throw seen(path, 'EOF while parsing a string');
      const byte = bytes[at++]!;
      if (byte === QUOTE) break;
      if (byte < 32) throw seen(path, 'control character (\\u0000-\\u001F) found while parsing a string');
      if (byte !== BACKSLASH) continue;
      escaped = true;
      if (at >= bytes.length) throw seen(path, 'EOF while parsing a string');
      const kind = text[at++]!;
      if (kind === 'u') {
        if (!/^[0-9a-fA-F]{4}$/.test(text.slice(at, at + 4))) {
          at += 1;
          throw seen(path, at >= text.length ? 'EOF while parsing a string' : 'invalid escape');
        }
        at += 4;
      } else if (!'"\\/bfnrt'.includes(kind)) {
        throw seen(path, 'invalid escape');
      }
    }
    let value: string;
    try {
      value = utf8.decode(bytes.subarray(start + 1, at - 1));
    } catch {
      throw seen(path, 'invalid unicode code point');
    }
    if (escaped) value = JSON.parse(`"${value}"`) as string;
    if (!value.isWellFormed()) throw seen(path, 'lone leading surrogate in hex escape');
    return { kind: 'string', value, start, end: at };
  };

  const array = (path: string, depth: number): JsonNode => {
    const start = at;
    const items: JsonNode[] = [];
    at += 1;
    for (;;) {
      space();
      if (at >= text.length) throw peeked(path, 'EOF while parsing a list');
      if (text[at] === ']') break;
      if (items.length > 0) {
        if (text[at] !== ',') throw peeked(path, 'expected `,` or `]`');
        at += 1;
        space();
        if (text[at] === ']') throw peeked(path, 'trailing comma');
      }
      items.push(value(joinPath(path, items.length), depth + 1));
    }
    at += 1;
    return { kind: 'array', value: items.map((item) => item.value), start, end: at, items };
  };

  const object = (path: string, depth: number): JsonNode => {
    const start = at;
    const fields: NonNullable<JsonNode['fields']> = [];
    at += 1;
    for (;;) {
      space();
      if (at >= text.length) throw peeked(path, 'EOF while parsing an object');
      if (text[at] === '}') break;
      if (fields.length > 0) {
        if (text[at] !== ',') throw peeked(path, 'expected `,` or `}`');
        at += 1;
        space();
        if (at >= text.length) throw peeked(path, 'EOF while parsing a value');
        if (text[at] === '}') throw peeked(path, 'trailing comma');
      }
      if (text[at] !== '"') throw peeked(path, 'key must be a string');
      const key = string(path);
      const inner = joinPath(path, key.value as string);
      space();
      if (at >= text.length) throw peeked(inner, 'EOF while parsing an object');
      if (text[at] !== ':') throw peeked(inner, 'expected `:`');
      at += 1;
      fields.push({ key: key.value as string, keyEnd: key.end, node: value(inner, depth + 1) });
    }
    at += 1;
    // fromEntries defines own properties: a key `__proto__` is just a key
    return { kind: 'object', value: Object.fromEntries(fields.map(({ key, node }) => [key, node.value])), start, end: at, fields };
  };

  const value = (path: string, depth: number): JsonNode => {
    if (depth > DEPTH) throw peeked(path, 'recursion limit exceeded');
    space();
    const first = text[at];
    if (first === undefined) throw peeked(path, 'EOF while parsing a value');
    if (first === '{') return object(path, depth);
    if (first === '[') return array(path, depth);
    if (first === '"') return string(path);
    if (first === 'n') return word(path, 'null', 'null', null);
    if (first === 't') return word(path, 'true', 'boolean', true);
    if (first === 'f') return word(path, 'false', 'boolean', false);
    if (first === '-' || (first >= '0' && first <= '9')) return number(path);
    throw peeked(path, 'expected value');
  };

  const root = value('', 1);
  space();
  if (at < text.length) throw peeked('', 'trailing characters');
  return root;
}
