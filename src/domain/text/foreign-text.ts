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

/** Without escape sequences and invisible characters; every kind of line end becomes a newline. */
export const visible = (text: string): string =>
  text
    .replace(ESCAPES, '')
    .replace(/\r\n?|[\u0085\u2028\u2029\u000b\u000c]/g, '\n')
    .replace(HIDDEN, '')
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
