import { prefix } from './storable.ts';

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
