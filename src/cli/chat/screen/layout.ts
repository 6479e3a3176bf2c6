import stringWidth from 'fast-string-width';

/** A row of a text: the characters from `start` to `end`. */
interface Row {
  start: number;
  end: number;
}

const segmenter = new Intl.Segmenter();
const STYLE = /\x1b\[[0-9;]{0,20}m/y;
const TAB = '    ';

/**
 * Most columns of one visible character. Terminals disagree about joined emoji. A row must not overflow on any
 * terminal, because a row that the terminal breaks itself is not counted.
 */
function columnsOf(grapheme: string): number {
  if (grapheme === '\t') return TAB.length;
  if (grapheme.length === 1) return stringWidth(grapheme);
  let apart = 0;
  for (const character of grapheme) apart += stringWidth(character);
  return Math.max(apart, stringWidth(grapheme));
}

/** How a text is drawn: a tab's width depends on the terminal, so spaces replace it. */
export const drawn = (text: string): string => text.replaceAll('\t', TAB);

/** The visible characters of a line, each with its columns; styles have none. */
function* piecesOf(line: string): Generator<{ text: string; at: number; columns: number }> {
  for (let at = 0; at < line.length; ) {
    STYLE.lastIndex = at;
    const style = STYLE.exec(line)?.[0];
    if (style) {
      yield { text: style, at, columns: 0 };
      at += style.length;
      continue;
    }
    const next = line.indexOf('\x1b[', at + 1);
    const plain = next < 0 ? line.slice(at) : line.slice(at, next);
    for (const { segment, index } of segmenter.segment(plain))
      yield { text: segment, at: at + index, columns: columnsOf(segment) };
    at += plain.length;
  }
}

export function widthOf(line: string): number {
  let width = 0;
  for (const { columns } of piecesOf(line)) width += columns;
  return width;
}

/** Scripts without spaces between words: a line may be broken at any character. */
const IDEOGRAPH = /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;

/**
 * The rows of one line, broken behind a space, or inside a word that is longer than a row. `hang`: by how many columns
 * the rows after the first are narrower.
 * `trimmed`: spaces at the end of a row are not drawn, so they need no columns.
 */
export function rowsOf(line: string, width: number, { hang = 0, trimmed = false } = {}): Row[] {
  const rows: Row[] = [];
  let row: Row = { start: 0, end: 0 };
  let used = 0;
  /** where the row may end, and its columns up to there */
  let space: { end: number; used: number } | null = null;
  for (const { text, at, columns } of piecesOf(line)) {
    // the text behind the space may not fit either
    while (used > 0 && !(trimmed && text === ' ') && used + columns > (rows.length === 0 ? width : width - hang)) {
      // a space that does not fit breaks the row there
      const end = space && text !== ' ' ? space : { end: at, used };
      rows.push({ start: row.start, end: end.end });
      row = { start: end.end, end: at };
      used -= end.used;
      space = null;
    }
    if (used > 0 && IDEOGRAPH.test(text)) space = { end: at, used };
    used += columns;
    row.end = at + text.length;
    if (text === ' ' || IDEOGRAPH.test(text)) space = { end: row.end, used };
  }
  rows.push(row);
  return rows;
}

/** A row fits at least one character. */
const NARROWEST = 16;
const LIST = /^\s{0,20}(?:(?:[-*•✓✗?│›]|\d{1,3}[.)]) {1,4})?/;

/** Text for a terminal of `width` columns: lines broken at words, further rows of a list item below its first word. */
export function wrap(text: string, width: number): string {
  return drawn(text)
    .split('\n')
    .map((line) => wrapLine(line, width))
    .join('\n');
}

function wrapLine(line: string, width: number): string {
  const lead = LIST.exec(line.replace(/\x1b\[[0-9;]{0,20}m/g, ''))![0];
  const hang = width - widthOf(lead) >= NARROWEST ? widthOf(lead) : 0;
  const rows = rowsOf(line, width, { hang, trimmed: true }).map(({ start, end }) => line.slice(start, end));
  return rows
    .map((row, index) => (index === 0 ? trimEnd(row) : ' '.repeat(hang) + trimEnd(row.trimStart())))
    .join('\n');
}

const trimEnd = (row: string): string => row.replace(/(?<! ) +$/, '');
