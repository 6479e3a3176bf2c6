import type { Author } from '../../../contracts/workspace-ops.ts';
import { isTooLong } from './commands.ts';

/**
 * Who the commits are by, as a whole message says it: `sign as me`, `sign as Ada Lovelace <ada@example.com>`, `sign as
 * fetch`. `null`: Fetch itself.
 */
export type SignOrder = { as: 'me' | Author | null } | { problem: string } | 'who';

const NAME = /^[^<>\p{Cc}]{1,100}$/u;
const EMAIL = /^[^\s<>@\p{Cc}]{1,100}@[^\s<>@\p{Cc}]{1,100}$/u;

/** How to write it. */
export const SIGN_FORM = '`sign as Ada Lovelace <ada@example.com>`';

export function parseSignOff(text: string): SignOrder | null {
  if (isTooLong(text)) return null;
  const [matches, who] = /^\/?sign(?: off)?(?: as (.+?))?[.!]?$/i.exec(text.trim()) ?? [];
  if (matches === undefined) return null;
  if (who === undefined) return 'who';
  if (/^(?:me|myself)$/i.test(who)) return { as: 'me' };
  if (/^fetch$/i.test(who)) return { as: null };
  const [, name = '', email = ''] = /^"?([^"<]*?)"? ?<([^>]*)>$/.exec(who) ?? [];
  if (NAME.test(name.trim()) && EMAIL.test(email)) return { as: { name: name.trim(), email } };
  // without an address it is a sentence about something else, such as "sign as many as you can"
  return /[<@]/.test(who) ? { problem: `A name and an address in angle brackets are needed: ${SIGN_FORM}.` } : null;
}

export const signature = ({ name, email }: Author): string => `${name} <${email}>`;

/** A commit message that the person signs off. */
export const signedOff = (message: string, by: Author | null): string => {
  if (!by) return message;
  const line = `Signed-off-by: ${signature(by)}`;
  // trailers are one paragraph
  const last = message.trimEnd().split('\n').at(-1) ?? '';
  return `${message.trimEnd()}${/^[\w-]+: \S/.test(last) && message.includes('\n\n') ? '\n' : '\n\n'}${line}`;
};

/** Asked once, when the first coding task of a person begins. */
export const askWhoSigns = (own: Author): string =>
  `Whose name shall the commits have? Git on this machine knows ${signature(own)}: say \`sign as me\` for that, or ${SIGN_FORM} for another. Until then they are by Fetch. Nothing waits for this, and I ask it only once.`;

export const signText = (by: Author | null): string =>
  by
    ? `Commits from now on are by ${signature(by)}, who signs them off. \`sign as fetch\` ends that.`
    : `Commits from now on are by Fetch. ${SIGN_FORM} gives them a person's name.`;
