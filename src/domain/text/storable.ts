/**
 * Text from outside in a form that the database, the model and the screen accept, and how it is cut. A JavaScript
 * string may hold NUL and halves of surrogate pairs. PostgreSQL accepts neither, and model endpoints refuse them.
 */

/** The text without NUL, and with U+FFFD for each half of a surrogate pair. */
export const storableText = (text: string): string =>
  (text.includes('\0') ? text.replaceAll('\0', '') : text).toWellFormed();

/** JSON in which all texts, keys included, are as `storableText` makes them. */
export function storableJson(value: unknown): string {
  const text: string = JSON.stringify(value);
  // most values need no change. A literal backslash may match too; then parsing and writing gives the same text
  return ESCAPED.test(text) ? JSON.stringify(mended(JSON.parse(text))) : text;
}

/** How `JSON.stringify` writes a NUL or a half of a pair. jsonb refuses both escapes. */
const ESCAPED = /\\u(?:0000|d[89a-f])/;

function mended(value: unknown): unknown {
  if (typeof value === 'string') return storableText(value);
  if (Array.isArray(value)) return value.map(mended);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [storableText(key), mended(each)]));
}

/**
 * How far back the start of a visible character is searched. A longer one (many marks on one letter) is cut between two
 * code points.
 */
const LONGEST_CHARACTER = 64;
/** Made when a text is first cut inside other than plain letters: making it takes a browser long. */
let characters: Intl.Segmenter | undefined;

/** The beginning of a text, at most `length` UTF-16 units. It ends between two visible characters. */
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

/** A text of at most `length` UTF-16 units, with dots where it was cut. */
export const cut = (text: string, length: number): string =>
  text.length <= length ? text : `${prefix(text, length - 3)}...`;

/** The part of a stream that can be shown now: without the first half of a pair whose second half is still to come. */
export const wholePairs = (text: string): string => (/[\ud800-\udbff]$/.test(text) ? text.slice(0, -1) : text);

/** The last index at or before `at` between two visible characters. */
function boundary(text: string, at: number): number {
  // between two plain letters there is always a boundary
  if (text.charCodeAt(at - 1) < 0x80 && text.charCodeAt(at) < 0x80 && text[at - 1] !== '\r') return at;
  characters ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  const from = betweenPairs(text, Math.max(0, at - LONGEST_CHARACTER));
  let best = -1;
  for (const { index } of characters.segment(text.slice(from, at + LONGEST_CHARACTER))) {
    if (from + index > at) break;
    best = from + index;
  }
  return best > from || best === at ? best : betweenPairs(text, at);
}

/** `at`, or the index before it when `at` is inside a surrogate pair. */
export const betweenPairs = (text: string, at: number): number => (isInsidePair(text, at) ? at - 1 : at);

function isInsidePair(text: string, at: number): boolean {
  const [before, after] = [text.charCodeAt(at - 1), text.charCodeAt(at)];
  return before >= 0xd800 && before <= 0xdbff && after >= 0xdc00 && after <= 0xdfff;
}

const known = new WeakMap<object, number>();

/** Characters of the JSON of an object that never changes. It is made once: each request counts its whole thread. */
export function jsonChars(value: object): number {
  const chars = known.get(value) ?? JSON.stringify(value).length;
  known.set(value, chars);
  return chars;
}
