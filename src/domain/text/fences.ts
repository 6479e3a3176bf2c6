import { prefix } from './storable.ts';

/**
 * Text of others inside a message for the model. It is marked line by line, so that no text can end its own fence or begin another
 * one, whatever stands in it. There is no secret in a mark: the same text gives the same message, and caches of providers hold.
 */

/** Everything that a reader may take for the end of a line. */
const LINE_END = /\r\n|[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]/;

const marked = (text: string, mark: string): string[] => text.split(LINE_END).map((line) => mark + line);

/** A text as a quotation: every line of it begins with `| `. */
export const quotation = (text: string): string => marked(text, '| ').join('\n');

/** How a message begins that stands in the role of a user and is of nobody. */
const NOTE = '[Not a message of the person: ';

/** What a program has to say in the role of a user: a report, a summary. */
export const note = (what: string, text: string): string => `${NOTE}${oneLine(what)}]\n${quotation(text)}`;
export const isNote = (content: string): boolean => content.startsWith(NOTE);

/** A name as part of a line: nothing in it ends the line, a bracket or the name. */
export const oneLine = (name: string, limit = 80): string => {
  const plain = name
    .replace(/[\p{Cc}\p{Cf}\u2028\u2029[\](){}<>:|"`]+/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return plain.length > limit ? `${prefix(plain, limit)}…` : plain;
};

/**
 * A message of one of several people: `Ann (member): text`. Only the system can put the bracket there, and further lines are indented, so
 * that no text begins a message of somebody else.
 */
export const saidBy = (author: { name: string; owner: boolean }, text: string): string =>
  `${oneLine(author.name) || 'Somebody'} (${author.owner ? 'owner' : 'member'}): ${continued(text)}`;

/** A text whose further lines are indented. */
export const continued = (text: string): string => text.split(LINE_END).join('\n  ');
