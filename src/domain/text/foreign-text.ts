import type { Source } from '../../contracts/taint.ts';
import { prefix, storableText } from './storable.ts';

/**
 * Makes text from outside (a container, a page, a repository) safe to show. Nothing in it can move a cursor, hide a
 * part of itself, change the direction of reading, or look like our own line.
 */

// CSI, OSC and short escape sequences; the rest of a broken one is a control character, which goes as well
const ESCAPES =
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b\]|\u009d)[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)?|\u001b[ -/]*[0-Z^-~]/g;
// control characters except tab and newline; soft hyphen, direction marks and overrides, invisible operators,
// interlinear marks, tags. The joiners of emoji and scripts stay.
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;
// a character has one selector of its form at most; in more of them bytes can be hidden
const SELECTORS = /(?<=[\ufe00-\ufe0f\u{e0100}-\u{e01ef}])[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]+/gu;

/** Without escape sequences and invisible characters; every kind of line end becomes a newline. */
export const visible = (text: string): string =>
  text
    .replace(ESCAPES, '')
    .replace(/\r\n?|[\u0085\u2028\u2029\u000b\u000c]/g, '\n')
    .replace(HIDDEN, '')
    .replace(SELECTORS, '')
    .toWellFormed();

/** On one line and cut, to stand inside one of our sentences. */
export function inline(text: string, most = 300): string {
  const line = visible(text).replace(/\s+/g, ' ').trim();
  return line.length <= most ? line : `${line.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** Every line is marked as quoted, so that none looks like ours. */
export const blockQuote = (text: string): string =>
  visible(text)
    .trim()
    .split('\n')
    .map((line) => `> ${line}`.trimEnd())
    .join('\n');

/** In a fence that is longer than any fence in the text, so that the text cannot close it. */
export function codeFence(text: string, language = ''): string {
  const shown = visible(text);
  const longest = Math.max(2, ...(shown.match(/`+/g) ?? []).map((run) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${shown}\n${fence}`;
}

/** Applies `visible` to every text in a value. */
export function visibleWithin<T>(value: T): T {
  if (typeof value === 'string') return visible(value) as T;
  if (Array.isArray(value)) return value.map(visibleWithin) as T;
  if (value && Object.getPrototypeOf(value) === Object.prototype)
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, visibleWithin(each)])) as T;
  return value;
}

/**
 * Text of others inside a message for the model. Every line is marked, so that no text can end its own fence or begin
 * another one. A mark holds no secret: the same text gives the same message, and the caches of providers keep working.
 */

/** Everything that a reader may take for a line end. */
const LINE_END = /\r\n|[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]/;

const marked = (text: string, mark: string): string[] => text.split(LINE_END).map((line) => mark + line);

/** A text as a quotation: every line of it begins with `| `. */
export const quotation = (text: string): string => marked(text, '| ').join('\n');

/** Begins a message that has the role of a user but comes from no person. */
const NOTE = '[Not a message of the person: ';

/** A program's message in the role of a user: a report or a summary. */
export const note = (what: string, text: string): string => `${NOTE}${oneLine(what)}]\n${quotation(text)}`;
export const isNote = (content: string): boolean => content.startsWith(NOTE);

const TIME = 'the time';
/** The only message of a request that is another one each time. */
export const timeNote = (text: string): string => note(TIME, text);
export const isTimeNote = (content: string): boolean => content.startsWith(`${NOTE}${TIME}]`);

/** A name inside a line: it cannot end the line, a bracket or the name. */
export const oneLine = (name: string, limit = 80): string => {
  const plain = name
    .replace(/[\p{Cc}\p{Cf}\u2028\u2029[\](){}<>:|"`]+/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return plain.length > limit ? `${prefix(plain, limit)}…` : plain;
};

/**
 * A message of one of several people: `Ann (member): text`. Only the system writes the bracket, and further lines are
 * indented, so that no text can begin a message of somebody else.
 */
export const saidBy = (author: { name: string; owner: boolean }, text: string): string =>
  `${oneLine(author.name) || 'Somebody'} (${author.owner ? 'owner' : 'member'}): ${continued(text)}`;

/** A text whose further lines are indented. */
export const continued = (text: string): string => text.split(LINE_END).join('\n  ');

/** A text that came with a message, such as a file that an editor has open. */
interface Quote {
  name: string;
  text: string;
}

/** The message as the model reads it: the person's words, then what came with them, marked as words of others. */
export function withQuotes(
  words: string,
  quotes: readonly Quote[],
): { shown: string; heard: { sources: Source[]; words: string } } {
  const parts = quotes.map(
    ({ name, text }) => `[With it came: ${oneLine(name, 200)}]\n${quotation(storableText(text))}`,
  );
  const sources = quotes.map(({ name }) => ({ kind: 'attachment' as const, label: oneLine(name, 80) }));
  return { shown: [words, ...parts].join('\n\n'), heard: { sources, words } };
}
