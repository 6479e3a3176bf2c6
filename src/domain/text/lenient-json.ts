/** Deeper values are refused: reading calls itself for each level. */
const MOST_LEVELS = 100;

/** Literals of JSON and of Python. */
const LITERALS: Record<string, unknown> = {
  true: true,
  false: false,
  null: null,
  True: true,
  False: false,
  None: null,
};

const ESCAPES: Record<string, string> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' };

/** Why a text is no JSON, in words for the model that wrote it. */
export class NotJson extends Error {}

/**
 * Reads JSON as models write it: with trailing commas, single quotes, names without quotes, Python literals, line ends
 * and unknown escapes inside of texts, and without the brackets at the end. A text or a number that breaks off is
 * refused, because nobody knows the rest of it. Throws `NotJson`.
 *
 * @returns the first value, and the position behind it
 */
export function lenientJson(text: string): { value: unknown; end: number } {
  const reader = new Reader(text);
  const value = reader.value(0);
  return { value, end: reader.skipSpace() };
}

class Reader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  skipSpace(): number {
    while (/\s/.test(this.#text[this.#at] ?? '')) this.#at++;
    return this.#at;
  }

  value(level: number): unknown {
    if (level > MOST_LEVELS) throw new NotJson('it is nested too deeply');
    this.skipSpace();
    const char = this.#text[this.#at];
    if (char === undefined) throw new NotJson('it ends where a value is expected');
    if (char === '{') return this.#object(level);
    if (char === '[') return this.#list(level);
    if (char === '"' || char === "'") return this.#string(char);
    return this.#plain();
  }

  #object(level: number): Record<string, unknown> {
    const entries: Array<[string, unknown]> = [];
    this.#at++;
    while (!this.#closes('}', entries.length)) {
      const name = this.#name();
      this.skipSpace();
      if (this.#text[this.#at] !== ':') throw new NotJson(`a colon is expected behind "${name.slice(0, 50)}"`);
      this.#at++;
      entries.push([name, this.value(level + 1)]);
    }
    return Object.fromEntries(entries);
  }

  #list(level: number): unknown[] {
    const values: unknown[] = [];
    this.#at++;
    while (!this.#closes(']', values.length)) values.push(this.value(level + 1));
    return values;
  }

  /** Whether an object or list is over. Takes the comma before the next part. */
  #closes(bracket: '}' | ']', parts: number): boolean {
    this.skipSpace();
    const comma = this.#text[this.#at] === ',' && parts > 0;
    if (comma) {
      this.#at++;
      this.skipSpace();
    }
    const char = this.#text[this.#at];
    if (char === bracket) {
      this.#at++;
      return true;
    }
    if (char === undefined && parts > 0 && !comma) return true;
    if (char === undefined) throw new NotJson('it breaks off');
    if (parts > 0 && !comma)
      throw new NotJson(`a comma or "${bracket}" is expected before "${this.#text.slice(this.#at, this.#at + 20)}"`);
    return false;
  }

  #name(): string {
    const char = this.#text[this.#at];
    if (char === '"' || char === "'") return this.#string(char);
    const name = /^[\p{L}_$][\p{L}\p{N}_$-]*/u.exec(this.#text.slice(this.#at, this.#at + 200))?.[0];
    if (!name) throw new NotJson(`a name in quotes is expected before "${this.#text.slice(this.#at, this.#at + 20)}"`);
    this.#at += name.length;
    return name;
  }

  #string(quote: string): string {
    let out = '';
    for (this.#at++; ; this.#at++) {
      const char = this.#text[this.#at];
      if (char === undefined) throw new NotJson('a text in it breaks off');
      if (char === quote) break;
      out += char === '\\' ? this.#escape() : char;
    }
    this.#at++;
    return out;
  }

  /** Leaves the position at the last character of the escape. */
  #escape(): string {
    const char = this.#text[++this.#at];
    if (char === undefined) throw new NotJson('a text in it breaks off');
    if (char === 'u') {
      const code = /^[0-9a-fA-F]{4}/.exec(this.#text.slice(this.#at + 1, this.#at + 5))?.[0];
      if (!code) return '\\u';
      this.#at += 4;
      return String.fromCharCode(Number.parseInt(code, 16));
    }
    // an unknown escape is most likely one of a regular expression, written once instead of twice
    return ESCAPES[char] ?? (/["'\\/\n]/.test(char) ? char : `\\${char}`);
  }

  #plain(): unknown {
    const word = /^[-+.\w]+/.exec(this.#text.slice(this.#at, this.#at + 400))?.[0] ?? '';
    const isNumber = /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?$/.test(word);
    if (!isNumber && !Object.hasOwn(LITERALS, word))
      throw new NotJson(`a value is expected before "${this.#text.slice(this.#at, this.#at + 20)}"`);
    this.#at += word.length;
    if (isNumber && this.#text[this.#at] === undefined) throw new NotJson('a number in it breaks off');
    return isNumber ? Number(word) : LITERALS[word];
  }
}

/**
 * How deep the arguments of a call may be nested. No tool needs more, and what walks through them calls itself for each
 * level.
 */
const DEEPEST = 50;

/** Whether a JSON value has more levels than any tool needs. Looks level by level, so that no depth ends it. */
export function isTooDeep(value: unknown): boolean {
  let level = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > DEEPEST) return true;
    level = level.flatMap((each) => (typeof each === 'object' && each !== null ? Object.values(each) : []));
  }
  return false;
}
