/** How names are shown, and which names look alike. */

const ESCAPES: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/**
 * Characters that print nothing or change how the text behind them is printed: controls, bidirectional marks,
 * zero-width characters, and U+FFFD for bytes that are not UTF-8.
 */
const UNSEEN =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffd]/gu;

/** A name on one line, without characters that a terminal or a chat would act on. */
export function shown(name: string): string {
  const escaped = (char: string) => ESCAPES[char] ?? `\\u${char.codePointAt(0)?.toString(16).padStart(4, '0')}`;
  return name.replace(UNSEEN, escaped);
}

/**
 * Whether a new name is allowed: it has no invisible characters, and no half of a pair, which UTF-8 cannot write and
 * TOML cannot read.
 */
export const isPlainName = (name: string): boolean => name.isWellFormed() && name.search(UNSEEN) < 0;

const LATIN: Record<string, string> = Object.fromEntries(
  // Cyrillic, Greek and other letters that look like a Latin letter when in lower case
  [
    'аa',
    'еe',
    'оo',
    'рp',
    'сc',
    'уy',
    'хx',
    'іi',
    'јj',
    'ѕs',
    'ԁd',
    'ԛq',
    'ԝw',
    'һh',
    'ӏl',
    'вb',
    'кk',
    'мm',
    'нh',
    'тt',
  ]
    .concat([
      'αa',
      'οo',
      'ρp',
      'νv',
      'υu',
      'ιi',
      'κk',
      'τt',
      'χx',
      'γy',
      'ηn',
      'ωw',
      'ɑa',
      'ɡg',
      'ıi',
      'ǀl',
      'ⅼl',
      '‐-',
      '‑-',
      '–-',
      '—-',
      '−-',
      '․.',
      '∕/',
      '⁄/',
    ])
    .map((pair) => [...pair] as [string, string]),
);

/**
 * Two names with the same skeleton look alike. It ignores letter case, width, composition of accents, invisible
 * characters, and the script of similar letters.
 */
export function skeleton(name: string): string {
  const folded = name
    .normalize('NFKC')
    .toLowerCase()
    .replace(UNSEEN, '')
    .replace(/\p{Variation_Selector}/gu, '')
    .normalize('NFC');
  return [...folded].map((char) => LATIN[char] ?? char).join('');
}

/**
 * The existing name in `others` that `name` would be mistaken for; null when there is none. Such a file must not be
 * created.
 */
export function lookAlike(name: string, others: Iterable<string>): string | null {
  const wanted = skeleton(name);
  for (const other of others) if (other !== name && skeleton(other) === wanted) return other;
  return null;
}

/** The candidate that was most likely meant, by edit distance; null when none is close. */
export function nearest(name: string, candidates: Iterable<string>): string | null {
  let best: string | null = null;
  let bound = Math.max(2, Math.floor(name.length / 3)) + 1;
  for (const candidate of candidates) {
    if (Math.abs(candidate.length - name.length) >= bound) continue;
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < bound) {
      bound = distance;
      best = candidate;
    }
  }
  return best;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length]!;
}

/**
 * A path component that some file system takes for `.git`: other case, dots or spaces at the end, short names,
 * invisible characters.
 */
export function isGitName(component: string): boolean {
  const plain = skeleton(component).replace(/(?<![. ])[. ]+$/, '');
  return plain === '.git' || /^git~\d+$/.test(plain);
}
