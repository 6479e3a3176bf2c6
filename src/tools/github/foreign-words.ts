import { inline, quotation, visible } from '../../domain/text/foreign-text.ts';
import { prefix } from '../../domain/text/storable.ts';

/**
 * How words of strangers stand in our own: a name on its line, a title in quotes, a text with a mark before each line.
 */

export const name = (text: string): string => inline(text, 100);
export const title = (text: string): string => JSON.stringify(inline(text, 256));
export const day = (at: string): string => inline(at.slice(0, 10));

/** A text of at most `most` characters. */
export function body(text: string, most: number): string {
  const whole = visible(text).trim();
  const shown = prefix(whole, most);
  const cut =
    shown.length < whole.length ? `\n[cut at ${most} of ${text.length} characters; the page has the rest]` : '';
  return quotation(shown) + cut;
}
