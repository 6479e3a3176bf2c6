import type { Author } from '../../../contracts/workspace-ops.ts';
import { isTooLong } from './commands.ts';

/**
 * Who the commits are by, as a whole message says it: `sign as me`, `sign as Ada Lovelace <ada@example.com>`, `sign as
 * fetch`. `null`: Fetch itself.
 */
export type SignOrder = { as: 'me' | Author | null } | { problem: 'sign.form' } | 'who';

const NAME = /^[^<>\p{Cc}]{1,100}$/u;
const EMAIL = /^[^\s<>@\p{Cc}]{1,100}@[^\s<>@\p{Cc}]{1,100}$/u;

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
  return /[<@]/.test(who) ? { problem: 'sign.form' } : null;
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
