/** A call as Python writes it: Llama 3.2 and 4, LFM2. */
interface PythonCall {
  name: string;
  args: Record<string, unknown>;
}

/**
 * `name(key=value, ...)`, or a list of such calls in brackets, at this place. Gemma prints them. Undefined for anything
 * else.
 */
export function pythonCalls(text: string, at: number): { calls: PythonCall[]; end: number } | undefined {
  return attempt(text, at, (reader) => {
    const closers = [...(reader.takePrint() ? [')'] : []), ...(reader.take('[') ? [']'] : [])];
    const calls = [reader.call()];
    while (closers.includes(']') && reader.take(',')) calls.push(reader.call());
    for (const closer of closers.reverse()) reader.expect(closer);
    return { calls, end: reader.at };
  });
}

/** A literal as Python writes it, such as a `dict`, at this place. Undefined for anything else. */
export const pythonValue = (text: string, at: number): { value: unknown; end: number } | undefined =>
  attempt(text, at, (reader) => ({ value: reader.value(), end: reader.at }));

function attempt<T>(text: string, at: number, read: (reader: PythonReader) => T): T | undefined {
  try {
    return read(new PythonReader(text, at));
  } catch (error) {
    if (error instanceof NotPython) return undefined;
    throw error;
  }
}

class NotPython extends Error {}

const DEEPEST = 50;

class PythonReader {
  at: number;
  private readonly text: string;
  private depth = 0;

  constructor(text: string, at: number) {
    this.text = text;
    this.at = at;
  }

  call(): PythonCall {
    const name = (this.match(/[A-Za-z_][\w.]*/y) ?? this.fail()).replace(/\.call$/, '');
    this.expect('(');
    const args: Record<string, unknown> = {};
    if (this.take('{')) {
      Object.assign(args, this.object());
      this.expect(')');
      return { name, args };
    }
    while (!this.take(')')) {
      const key = this.match(/[A-Za-z_]\w*/y) ?? this.fail();
      this.expect('=');
      args[key] = this.value();
      if (!this.take(',')) {
        this.expect(')');
        break;
      }
    }
    return { name, args };
  }

  take(mark: string): boolean {
    this.match(/\s*/y);
    if (!this.text.startsWith(mark, this.at)) return false;
    this.at += mark.length;
    this.match(/\s*/y);
    return true;
  }

  takePrint(): boolean {
    return this.match(/\s{0,9}print\s{0,9}\(/y) !== undefined;
  }

  expect(mark: string): void {
    if (!this.take(mark)) this.fail();
  }

  value(): unknown {
    if (this.depth >= DEEPEST) this.fail();
    this.depth += 1;
    const value = this.plainValue();
    this.depth -= 1;
    return value;
  }

  private plainValue(): unknown {
    if (this.take('[')) return this.list();
    if (this.take('{')) return this.object();
    const string = this.match(/"(?:[^"\\\n]|\\[\s\S])*"|'(?:[^'\\\n]|\\[\s\S])*'/y);
    if (string !== undefined) return unescaped(string.slice(1, -1));
    const word = this.match(/-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|True|False|None|true|false|null/y) ?? this.fail();
    const known = { True: true, true: true, False: false, false: false, None: null, null: null };
    return word in known ? known[word as keyof typeof known] : Number(word);
  }

  private list(): unknown[] {
    const items: unknown[] = [];
    while (!this.take(']')) {
      items.push(this.value());
      if (!this.take(',')) {
        this.expect(']');
        break;
      }
    }
    return items;
  }

  private object(): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    while (!this.take('}')) {
      const key = this.value();
      this.expect(':');
      object[String(key)] = this.value();
      if (!this.take(',')) {
        this.expect('}');
        break;
      }
    }
    return object;
  }

  private match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    if (found !== undefined) this.at += found.length;
    return found;
  }

  private fail(): never {
    throw new NotPython();
  }
}

const ESCAPES: Record<string, string> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', '\n': '' };

const unescaped = (text: string): string =>
  text.replace(/\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|([\s\S]))/g, (_, unicode, hex, mark) =>
    mark === undefined ? String.fromCharCode(Number.parseInt(unicode ?? hex, 16)) : (ESCAPES[mark] ?? mark),
  );
