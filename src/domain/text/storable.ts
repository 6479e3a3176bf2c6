/**
 * Text from outside: what a database, a model and a screen can all take, and how it is cut. A JavaScript string may hold a NUL and
 * halves of surrogate pairs; PostgreSQL takes neither, and endpoints of models refuse them.
 */

/** A text as every reader takes it: without NUL, and each half of a surrogate pair as U+FFFD. Anything else stays as it is. */
export const storableText = (text: string): string => (text.includes('\0') ? text.replaceAll('\0', '') : text).toWellFormed();

/** JSON whose texts, keys included, are as `storableText` makes them. */
export function storableJson(value: unknown): string {
  const text: string = JSON.stringify(value);
  // most values have nothing to mend. Literal backslashes may match as well: then the same text is made twice
  return ESCAPED.test(text) ? JSON.stringify(mended(JSON.parse(text))) : text;
}

/** How `JSON.stringify` writes a NUL and a half of a pair: jsonb refuses both escapes. */
const ESCAPED = /\\u(?:0000|d[89a-f])/;

function mended(value: unknown): unknown {
  if (typeof value === 'string') return storableText(value);
  if (Array.isArray(value)) return value.map(mended);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [storableText(key), mended(each)]));
}

/** A character as a reader sees it is looked for this far back; a longer one (many marks on one letter) is cut between two of its code points. */
const LONGEST_CHARACTER = 64;
const characters = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** The beginning of a text, at most `length` UTF-16 units: it ends between two characters as a reader sees them. */
export function prefix(text: string, length: number): string {
  if (text.length <= length) return text;
  return text.slice(0, boundary(text, Math.max(0, length)));
}

/** The end of a text, at most `length` UTF-16 units. */
export function suffix(text: string, length: number): string {
  if (text.length <= length) return text;
  const at = text.length - Math.max(0, length);
  return text.slice(isInsidePair(text, at) ? at + 1 : at);
}

/** A text of at most `length` UTF-16 units, with dots where its end is missing. */
export const cut = (text: string, length: number): string => (text.length <= length ? text : `${prefix(text, length - 3)}...`);

/** What of a stream can be shown now: without the first half of a pair whose second half is still to come. */
export const wholePairs = (text: string): string => (/[\ud800-\udbff]$/.test(text) ? text.slice(0, -1) : text);

/** The last place at or before `at` that lies between two characters. */
function boundary(text: string, at: number): number {
  // between two plain letters there is nothing to look for
  if (text.charCodeAt(at - 1) < 0x80 && text.charCodeAt(at) < 0x80 && text[at - 1] !== '\r') return at;
  const from = betweenPairs(text, Math.max(0, at - LONGEST_CHARACTER));
  let best = -1;
  for (const { index } of characters.segment(text.slice(from, at + LONGEST_CHARACTER))) {
    if (from + index > at) break;
    best = from + index;
  }
  return best > from || best === at ? best : betweenPairs(text, at);
}

/** `at`, or the place before it where it lies within a surrogate pair. */
export const betweenPairs = (text: string, at: number): number => (isInsidePair(text, at) ? at - 1 : at);

function isInsidePair(text: string, at: number): boolean {
  const [before, after] = [text.charCodeAt(at - 1), text.charCodeAt(at)];
  return before >= 0xd800 && before <= 0xdbff && after >= 0xdc00 && after <= 0xdfff;
}
