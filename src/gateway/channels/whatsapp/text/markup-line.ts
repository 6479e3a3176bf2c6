import { canClose, canOpen, isDelimiter, NEUTRAL } from './phone-text.ts';

/**
 * A part of a line before it becomes characters. `text` must be shown as it is; `code`, `url` and `structure` (list
 * marks, brackets around addresses) stay unchanged; a `mark` is one half of a pair of delimiters.
 */
export type Piece =
  | { kind: 'text' | 'code' | 'url' | 'structure'; value: string }
  | { kind: 'mark'; value: '*' | '_' | '~'; pair: symbol }
  | { kind: 'break'; value: '' };

/**
 * One row of a message: a line of pieces, or the lines of a fenced block, which get no indentation and no quote mark.
 */
export type Row = { pieces: Piece[] } | { verbatim: string };

export const text = (value: string): Piece => ({ kind: 'text', value });
export const structure = (value: string): Piece => ({ kind: 'structure', value });

/**
 * Puts delimiters around the runs of text. Code, addresses and line ends interrupt them, and white space stays outside,
 * as WhatsApp requires.
 */
export function emphasise(pieces: readonly Piece[], value: '*' | '_' | '~'): Piece[] {
  const out: Piece[] = [];
  let run: Piece[] = [];
  const flush = () => {
    out.push(...marked(run, value));
    run = [];
  };
  for (const piece of pieces) {
    if (piece.kind === 'text' || piece.kind === 'mark') run.push(piece);
    else {
      flush();
      out.push(piece);
    }
  }
  flush();
  return out;
}

function marked(run: Piece[], value: '*' | '_' | '~'): Piece[] {
  const before: Piece[] = [];
  const after: Piece[] = [];
  const inner = [...run];
  for (let first = inner[0]; first?.kind === 'text' && /^\s|^$/.test(first.value); first = inner[0]) {
    const rest = first.value.trimStart();
    before.push(text(first.value.slice(0, first.value.length - rest.length)));
    inner.splice(0, 1, ...(rest === '' ? [] : [text(rest)]));
  }
  for (let last = inner.at(-1); last?.kind === 'text' && /\s$|^$/.test(last.value); last = inner.at(-1)) {
    const rest = last.value.trimEnd();
    after.unshift(text(last.value.slice(rest.length)));
    inner.splice(-1, 1, ...(rest === '' ? [] : [text(rest)]));
  }
  const [first, last] = [inner[0], inner.at(-1)];
  // a literal delimiter at the edge would be read together with ours
  const clash = (piece: Piece, char: string | undefined) =>
    piece.kind === 'text' && (isDelimiter(char) || char === '`');
  if (!first || !last || clash(first, first.value[0]) || clash(last, last.value.at(-1))) return run;
  const pair = Symbol(value);
  return [...before, { kind: 'mark', value, pair }, ...inner, { kind: 'mark', value, pair }, ...after];
}

interface Char {
  char: string;
  kind: Piece['kind'];
  pair?: symbol;
}

/**
 * The characters of a line, so that a phone shows the text as meant: marks that a phone would not recognise are
 * dropped, and literal characters that it would take for marks are protected.
 */
export function finishLine(pieces: readonly Piece[]): string {
  const chars = effective(
    pieces.flatMap((piece): Char[] =>
      piece.kind === 'mark'
        ? [{ char: piece.value, kind: 'mark', pair: piece.pair }]
        : Array.from(piece.value, (char) => ({ char, kind: piece.kind })),
    ),
  );
  const shielded = new Set<number>();
  for (const delimiter of ['*', '_', '~']) {
    const said: number[] = [];
    let [ours, opened, closed] = [false, false, false];
    chars.forEach(({ char, kind }, i) => {
      if (char !== delimiter) return;
      if (kind === 'mark') ours = true;
      else if (kind === 'text') {
        const [before, after] = [chars[i - 1]?.char, chars[i + 1]?.char];
        const [opens, closes] = [canOpen(before, after), canClose(before, after)];
        if (opens || closes) said.push(i);
        closed ||= closes && opened;
        opened ||= opens;
      }
    });
    if (ours || closed) for (const i of said) shielded.add(i);
  }
  const written = chars.map(({ char, kind }, i) =>
    shielded.has(i) || (kind === 'text' && char === '`') ? NEUTRAL + char + NEUTRAL : char,
  );
  const first = chars.findIndex(({ kind }) => kind !== 'structure');
  // a literal dash, asterisk or arrow at the start would become a list or a quote
  if (chars[first]?.kind === 'text' && /^(?:[-*◦☐☑](?: |$)|>)/.test(written.slice(first, first + 2).join('')))
    written[first] = NEUTRAL + written[first];
  return written.join('').trimEnd();
}

/** Without pairs of marks that WhatsApp would show as characters, such as those inside a word or next to an address. */
function effective(chars: readonly Char[]): Char[] {
  const refused = new Set<symbol>();
  const opened = new Set<symbol>();
  /**
   * The character next to a pair. A letter stands for what no mark may touch: an address, or a literal delimiter, which
   * may get protected.
   */
  const neighbour = (from: number, step: 1 | -1): string | undefined => {
    let i = from + step;
    while (chars[i]?.kind === 'mark') i += step;
    const found = chars[i];
    return found?.kind === 'url' || (found?.kind === 'text' && (isDelimiter(found.char) || found.char === '`'))
      ? 'x'
      : found?.char;
  };
  /** A phone may take everything up to the next space as part of an address. */
  const behindAddress = (from: number): boolean => {
    for (let i = from - 1; i >= 0 && /\S/.test(chars[i]!.char); i--) if (chars[i]!.kind === 'url') return true;
    return false;
  };
  chars.forEach(({ pair }, i) => {
    if (pair === undefined) return;
    const fits = opened.has(pair)
      ? canClose('x', neighbour(i, 1))
      : canOpen(neighbour(i, -1), 'x') && !behindAddress(i);
    opened.add(pair);
    if (!fits) refused.add(pair);
  });
  return refused.size === 0 ? [...chars] : chars.filter(({ pair }) => pair === undefined || !refused.has(pair));
}
