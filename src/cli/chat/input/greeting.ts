import type { Colors } from 'picocolors/types.js';
import { styleLine } from '../screen/text.ts';

/** What an empty chat begins with. */
export function greeting(
  things: readonly string[],
  { whatsapp, colors }: { whatsapp: boolean; colors: Colors },
): string {
  return [
    'Hello. Write what you need in your own words. Three things to try:',
    ...things.map((thing, index) => `  ${index + 1}. ${thing}`),
    `\`help\` shows them again.${whatsapp ? ' `whatsapp` links your phone.' : ''} Alt+Enter begins a new line, Ctrl-D leaves.`,
  ]
    .map((line) => styleLine(line, false, colors))
    .join('\n');
}

/** A message that asks for WhatsApp. While a question is open, the bare word may be its answer. */
export const asksForWhatsApp = (text: string, asked: boolean): boolean =>
  /^\/(?:whatsapp|pair)$/i.test(text) || (!asked && /^(?:(?:link|connect|pair) )?whatsapp[.!]?$|^pair$/i.test(text));
