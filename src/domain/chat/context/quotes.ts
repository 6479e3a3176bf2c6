import type { Source } from '../../../contracts/taint.ts';
import { oneLine, quotation } from '../../text/fences.ts';
import { storableText } from '../../text/storable.ts';

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
