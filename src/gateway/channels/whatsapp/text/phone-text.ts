/**
 * How a phone reads a message: which characters are markup, and which are shown. The writer of markup (markup.ts), the
 * splitter of long texts (split.ts) and the tests share this one description of WhatsApp's rules.
 */

/** Invisible. Beside a `*`, `_`, `~` or backtick it keeps that character from being markup. */
export const NEUTRAL = '\u200b';

const letter = /[\p{L}\p{N}\p{M}]/u;
const delimiters = '*_~';

export const isDelimiter = (char: string | undefined): boolean =>
  char !== undefined && char !== '' && delimiters.includes(char);

/** A delimiter opens after the start, a space or punctuation, when something follows it. */
export const canOpen = (before: string | undefined, after: string | undefined): boolean =>
  (before === undefined || (!letter.test(before) && before !== NEUTRAL)) &&
  after !== undefined &&
  /\S/.test(after) &&
  after !== NEUTRAL;

/** A delimiter closes before the end, a space or punctuation, when it follows something. */
export const canClose = (before: string | undefined, after: string | undefined): boolean =>
  before !== undefined &&
  /\S/.test(before) &&
  before !== NEUTRAL &&
  (after === undefined || (!letter.test(after) && after !== NEUTRAL));

/**
 * A block in monospace: `code` is from `codeStart` to `codeEnd`, the whole with its fences from `start` to `end`
 * (offsets). An unclosed block ends with the text.
 */
export interface Fenced {
  start: number;
  codeStart: number;
  codeEnd: number;
  end: number;
  fence: string;
}

/**
 * The fenced blocks of a message. A fence is a line of three or more backticks and nothing else; the same line closes
 * it.
 */
export function fencedBlocks(text: string): Fenced[] {
  const blocks: Fenced[] = [];
  // without `^` and `$`, which would take a line separator inside code for a line end
  const lines = /(?<![^\n])(`{3,})(?![^\n])/g;
  for (let opening = lines.exec(text); opening !== null; opening = lines.exec(text)) {
    const fence = opening[1]!;
    const codeStart = Math.min(text.length, lines.lastIndex + 1);
    let closing = lines.exec(text);
    while (closing !== null && closing[1] !== fence) closing = lines.exec(text);
    if (closing === null) {
      blocks.push({ start: opening.index, codeStart, codeEnd: text.length, end: text.length, fence });
      break;
    }
    // a block without a line of code has nothing between its fences
    const codeEnd = Math.max(codeStart, closing.index - 1);
    blocks.push({ start: opening.index, codeStart, codeEnd, end: closing.index + fence.length, fence });
  }
  return blocks;
}

/** A part of a line that is markup or protected from it; `start` and `end` include the delimiters. */
export interface Span {
  start: number;
  end: number;
  kind: 'code' | 'url' | '*' | '_' | '~';
  /** Length of the delimiter on each side, 0 for a url. */
  width: number;
}

/** The code, addresses and emphasis of one line outside fenced blocks. Spans of emphasis may contain the others. */
export function readLine(line: string): Span[] {
  const fixed: Span[] = [];
  const runs = [...line.matchAll(/`+/g)].filter(
    ({ 0: run, index }) => run.length !== 2 && !(line[index - 1] === NEUTRAL && line[index + run.length] === NEUTRAL),
  );
  // from the end: of each width, where the next run of it is
  const nextOf: number[] = [];
  const byWidth = new Map<number, number>();
  for (let i = runs.length - 1; i >= 0; i--) {
    const width = runs[i]![0].length;
    nextOf[i] = byWidth.get(width) ?? -1;
    byWidth.set(width, i);
  }
  const covered = new Uint8Array(line.length);
  const fix = (span: Span): void => {
    fixed.push(span);
    covered.fill(1, span.start, span.end);
  };
  for (let i = 0; i < runs.length; i++) {
    const j = nextOf[i]!;
    if (j < 0) continue;
    const width = runs[i]![0].length;
    fix({ start: runs[i]!.index, end: runs[j]!.index + width, kind: 'code', width });
    i = j;
  }
  for (const url of line.matchAll(/(?:https?:\/\/|www\.)\S+/gi)) {
    const end = url.index + url[0].length;
    if (!covered.subarray(url.index, end).includes(1)) fix({ start: url.index, end, kind: 'url', width: 0 });
  }
  return [...fixed, ...[...delimiters].flatMap((char) => emphasis(line, char as '*' | '_' | '~', covered))];
}

function emphasis(line: string, char: '*' | '_' | '~', covered: Uint8Array): Span[] {
  const spans: Span[] = [];
  let open = -1;
  for (let at = line.indexOf(char); at >= 0; at = line.indexOf(char, at + 1)) {
    if (covered[at]) continue;
    const [before, after] = [charBefore(line, at), charAfter(line, at)];
    if (open >= 0 && at > open + 1 && canClose(before, after)) {
      spans.push({ start: open, end: at + 1, kind: char, width: 1 });
      open = -1;
    } else if (open < 0 && canOpen(before, after) && after !== char) open = at;
  }
  return spans;
}

function charBefore(text: string, at: number): string | undefined {
  if (at <= 0) return undefined;
  const code = text.charCodeAt(at - 1);
  return code >= 0xdc00 && code <= 0xdfff && at > 1 ? text.slice(at - 2, at) : text[at - 1];
}

function charAfter(text: string, at: number): string | undefined {
  const code = text.codePointAt(at + 1);
  return code === undefined ? undefined : String.fromCodePoint(code);
}

/**
 * The words that a phone shows for a message, in order. Each piece of code is one entry, byte for byte; everything else
 * is split at white space. Marks of quotes, lists and emphasis are gone, and so are invisible characters.
 */
export function plainWords(text: string): string[] {
  const words: string[] = [];
  let at = 0;
  for (const block of fencedBlocks(text)) {
    for (const line of text.slice(at, block.start).split('\n')) words.push(...lineWords(line));
    words.push(text.slice(block.codeStart, block.codeEnd));
    at = block.end;
  }
  for (const line of text.slice(at).split('\n')) words.push(...lineWords(line));
  return words;
}

function lineWords(line: string): string[] {
  const spans = readLine(line);
  const hidden = new Uint8Array(line.length);
  const prefix = /^(?:> )*\s*(?:[-◦](?: |$))?(?:[☐☑] ?)?/u.exec(line)![0];
  hidden.fill(1, 0, prefix.length);
  for (const span of spans) {
    hidden.fill(1, span.start, span.start + span.width);
    hidden.fill(1, span.end - span.width, span.end);
  }
  const words: string[] = [];
  const shown = (start: number, end: number) => {
    let out = '';
    for (let i = start; i < end; i++) if (!hidden[i]) out += line[i];
    words.push(...(out.replace(/[\u200b\u202a-\u202e\u2066-\u2069]/g, '').match(/\S+/gu) ?? []));
  };
  let from = 0;
  for (const code of spans.filter(({ kind }) => kind === 'code').sort((a, b) => a.start - b.start)) {
    shown(from, code.start);
    const value = line.slice(code.start + code.width, code.end - code.width);
    words.push(code.width >= 3 ? value.replace(/^ (.*) $/s, '$1') : value);
    from = code.end;
  }
  shown(from, line.length);
  return words;
}
