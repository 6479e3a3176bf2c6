/** A parsed JSON text, with the place of each value. */
type JsonKind = 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object';
export interface JsonNode {
  kind: JsonKind;
  /** byte offsets: of the first byte, and behind the last one */
  start: number;
  end: number;
  /** length of an array; `items` holds only its first elements */
  length?: number;
  items?: JsonNode[];
  /** in order; a repeated key is listed again */
  fields?: Array<{ key: string; keyEnd: number; node: JsonNode }>;
}

/** `at` counts bytes: how much was read when the error was found. */
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
export const joinPath = (path: string, segment: string | number): string =>
  typeof segment === 'number' ? `${path}[${segment}]` : path ? `${path}.${segment}` : segment;

/**
 * Positions of the values in a JSON text, so that an error can name line and column in the words of serde_json, which
 * clients of the runtime API already know.
 * `JSON.parse` gives neither positions nor duplicate keys. The values themselves come from it.
 */

const DEPTH = 128;
/**
 * No body of the API is nested deeper, or has more children where it matters. What lies beyond is checked but not kept.
 */
const KEPT_DEPTH = 4;
const KEPT_CHILDREN = 1000;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const code = (char: string): number => char.charCodeAt(0);
const [QUOTE, BACKSLASH, COMMA, COLON] = [code('"'), code('\\'), code(','), code(':')];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [code('['), code(']'), code('{'), code('}')];
const [MINUS, PLUS, POINT, ZERO, NINE, SMALL_E, LARGE_E, SMALL_U] = [
  code('-'),
  code('+'),
  code('.'),
  code('0'),
  code('9'),
  code('e'),
  code('E'),
  code('u'),
];
const ESCAPABLE = new Set(Buffer.from('"\\/bfnrt'));

const isSpace = (byte: number | undefined): boolean => byte === 32 || byte === 10 || byte === 9 || byte === 13;
const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= ZERO && byte <= NINE;
const isHexDigit = (byte: number | undefined): boolean =>
  byte !== undefined && /[0-9a-fA-F]/.test(String.fromCharCode(byte));

/** @throws JsonSyntaxError */
export const readJson = (bytes: Buffer): JsonNode => new Reader(bytes).read();

class Reader {
  readonly #bytes: Buffer;
  #at = 0;
  /** the current position; made into a string only for an error */
  readonly #path: Array<string | number> = [];

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  read(): JsonNode {
    const root = this.#value(1);
    this.#space();
    if (this.#at < this.#bytes.length) throw this.#peeked('trailing characters');
    return root;
  }

  #error(what: string, at: number): JsonSyntaxError {
    const path = this.#path.reduce<string>((joined, segment) => joinPath(joined, segment), '');
    return new JsonSyntaxError(path, what, Math.min(at, this.#bytes.length));
  }
  #seen = (what: string): JsonSyntaxError => this.#error(what, this.#at);
  #peeked = (what: string): JsonSyntaxError => this.#error(what, this.#at + 1);
  #ended = (): boolean => this.#at >= this.#bytes.length;
  #space(): void {
    while (isSpace(this.#bytes[this.#at])) this.#at += 1;
  }

  #value(depth: number): JsonNode {
    if (depth > DEPTH) throw this.#peeked('recursion limit exceeded');
    this.#space();
    const start = this.#at;
    const first = this.#bytes[start];
    if (first === undefined) throw this.#peeked('EOF while parsing a value');
    if (first === OPEN_OBJECT) return this.#object(depth);
    if (first === OPEN_LIST) return this.#list(depth);
    if (first === QUOTE) {
      this.#string(false);
      return { kind: 'string', start, end: this.#at };
    }
    if (first === MINUS || isDigit(first)) return this.#number();
    for (const [name, kind] of [
      ['null', 'null'],
      ['true', 'boolean'],
      ['false', 'boolean'],
    ] as const)
      if (first === code(name)) return this.#word(name, kind);
    throw this.#peeked('expected value');
  }

  #word(name: string, kind: JsonKind): JsonNode {
    const start = this.#at;
    for (const letter of name) {
      if (this.#ended()) throw this.#seen('EOF while parsing a value');
      if (this.#bytes[this.#at++] !== code(letter)) throw this.#seen('expected ident');
    }
    return { kind, start, end: this.#at };
  }

  #digits(): number {
    const from = this.#at;
    while (isDigit(this.#bytes[this.#at])) this.#at += 1;
    return this.#at - from;
  }

  #number(): JsonNode {
    const bytes = this.#bytes;
    const start = this.#at;
    if (bytes[this.#at] === MINUS) this.#at += 1;
    if (bytes[this.#at] === ZERO) this.#at += 1;
    else if (this.#digits() === 0) {
      this.#at = start + 1;
      throw this.#peeked(this.#ended() ? 'EOF while parsing a value' : 'invalid number');
    }
    const part = (skip: number) => {
      const before = this.#at;
      this.#at += skip;
      if (this.#digits() === 0) this.#at = before;
    };
    if (bytes[this.#at] === POINT) part(1);
    if (bytes[this.#at] === SMALL_E || bytes[this.#at] === LARGE_E)
      part(bytes[this.#at + 1] === PLUS || bytes[this.#at + 1] === MINUS ? 2 : 1);
    const next = bytes[this.#at];
    if (isDigit(next) || next === POINT || next === SMALL_E || next === LARGE_E) {
      this.#at += 1;
      throw this.#ended() ? this.#seen('EOF while parsing a value') : this.#peeked('invalid number');
    }
    return { kind: 'number', start, end: this.#at };
  }

  /** Reads past the string; returns its value only when `wanted`. */
  #string(wanted: boolean): string {
    const bytes = this.#bytes;
    const start = this.#at;
    let plain = true;
    let escaped = false;
    this.#at += 1;
    for (;;) {
      if (this.#ended()) throw this.#seen('EOF while parsing a string');
      const byte = bytes[this.#at++]!;
      if (byte === QUOTE) break;
      if (byte < 32) throw this.#seen('control character (\\u0000-\\u001F) found while parsing a string');
      if (byte > 127) plain = false;
      if (byte === BACKSLASH) escaped = this.#escape() || escaped;
    }
    if (plain && !escaped && !wanted) return '';
    return this.#text(bytes.subarray(start + 1, this.#at - 1), escaped);
  }

  /** Reads past an escape. Returns true: the value must be decoded. */
  #escape(): true {
    if (this.#ended()) throw this.#seen('EOF while parsing a string');
    const kind = this.#bytes[this.#at++]!;
    if (kind === SMALL_U) {
      for (let digit = 0; digit < 4; digit++) {
        if (isHexDigit(this.#bytes[this.#at + digit])) continue;
        this.#at += 1;
        throw this.#seen(this.#ended() ? 'EOF while parsing a string' : 'invalid escape');
      }
      this.#at += 4;
    } else if (!ESCAPABLE.has(kind)) throw this.#seen('invalid escape');
    return true;
  }

  #text(inside: Buffer, escaped: boolean): string {
    let text: string;
    try {
      text = utf8.decode(inside);
    } catch {
      throw this.#seen('invalid unicode code point');
    }
    if (escaped) text = JSON.parse(`"${text}"`) as string;
    if (!text.isWellFormed()) throw this.#seen('lone leading surrogate in hex escape');
    return text;
  }

  #list(depth: number): JsonNode {
    const start = this.#at;
    const items: JsonNode[] = [];
    let length = 0;
    this.#at += 1;
    for (;;) {
      this.#space();
      if (this.#ended()) throw this.#peeked('EOF while parsing a list');
      if (this.#bytes[this.#at] === CLOSE_LIST) break;
      if (length > 0) {
        if (this.#bytes[this.#at] !== COMMA) throw this.#peeked('expected `,` or `]`');
        this.#at += 1;
        this.#space();
        if (this.#bytes[this.#at] === CLOSE_LIST) throw this.#peeked('trailing comma');
      }
      this.#path.push(length);
      const item = this.#value(depth + 1);
      this.#path.pop();
      if (depth < KEPT_DEPTH && items.length < KEPT_CHILDREN) items.push(item);
      length += 1;
    }
    this.#at += 1;
    return { kind: 'array', start, end: this.#at, length, items };
  }

  #object(depth: number): JsonNode {
    const start = this.#at;
    const fields: NonNullable<JsonNode['fields']> = [];
    let empty = true;
    this.#at += 1;
    for (;;) {
      this.#space();
      if (this.#ended()) throw this.#peeked('EOF while parsing an object');
      if (this.#bytes[this.#at] === CLOSE_OBJECT) break;
      if (!empty) {
        if (this.#bytes[this.#at] !== COMMA) throw this.#peeked('expected `,` or `}`');
        this.#at += 1;
        this.#space();
        if (this.#ended()) throw this.#peeked('EOF while parsing a value');
        if (this.#bytes[this.#at] === CLOSE_OBJECT) throw this.#peeked('trailing comma');
      }
      const field = this.#field(depth);
      if (depth < KEPT_DEPTH && fields.length < KEPT_CHILDREN) fields.push(field);
      empty = false;
    }
    this.#at += 1;
    return { kind: 'object', start, end: this.#at, fields };
  }

  #field(depth: number): { key: string; keyEnd: number; node: JsonNode } {
    if (this.#bytes[this.#at] !== QUOTE) throw this.#peeked('key must be a string');
    const key = this.#string(true);
    const keyEnd = this.#at;
    this.#path.push(key);
    this.#space();
    if (this.#ended()) throw this.#peeked('EOF while parsing an object');
    if (this.#bytes[this.#at] !== COLON) throw this.#peeked('expected `:`');
    this.#at += 1;
    const node = this.#value(depth + 1);
    this.#path.pop();
    return { key, keyEnd, node };
  }
}
