import { createHash } from 'node:crypto';

/** Ids and names in the forms that every server accepts. */

const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';

/** Characters of a hash; the same text gives the same ones in every process. */
function hashed(text: string, length: number): string {
  const bytes = createHash('sha256').update(text).digest();
  return Array.from(bytes.subarray(0, length), (byte) => LETTERS[byte % LETTERS.length]).join('');
}

/**
 * The id of a call on the wire: nine letters or digits, as Mistral wants it. It is made of our id, so that a request
 * repeats the beginning of the one before.
 * `nth`: another one, where the request has it already.
 */
export const wireId = (id: string, nth = 0): string => hashed(nth === 0 ? id : `${id}\n${nth}`, 9);

/** What OpenAI takes; Gemini wants a letter or `_` first. */
const FITS = /^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$/;
const names = new Map<string, string>();

/**
 * The name of a tool on the wire: at most 64 letters, digits, `_` and `-`. A name that is changed ends with a hash, so
 * that two stay two.
 */
export function wireName(name: string): string {
  if (FITS.test(name)) return name;
  let known = names.get(name);
  if (known === undefined) {
    const plain = name.replace(/[^a-zA-Z0-9_-]+/g, '_').replace(/^(?![a-zA-Z_])/, '_');
    known = `${plain.slice(0, 55)}_${hashed(name, 8)}`;
    // names of calls come from models, so they have no end
    if (names.size >= 10_000) names.clear();
    names.set(name, known);
  }
  return known;
}
