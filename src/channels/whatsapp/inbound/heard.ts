import type { Source } from '../../../contracts/taint.ts';
import { unionOf } from '../../../domain/consent/taint.ts';
import { saidBy } from '../../../domain/text/fences.ts';
import type { Heard } from '../../../store/steps/transcript.ts';
import { withQuote } from './admit.ts';
import type { Pending } from './batcher.ts';

type Said = Pick<Pending, 'author' | 'by' | 'prepared' | 'message'>;

/** A message as the model reads it, and whose words it is made of. In a group only those of the owner are the person's. */
export function heardOf({ author, by, prepared, message }: Said): { text: string; heard: Heard } {
  const words = prepared!.text;
  const text = withQuote(words, message.quoted);
  if (author === null) return { text, heard: text === words ? {} : { words } };
  const owner = by.role === 'owner';
  const shown = saidBy({ name: author, owner }, text);
  if (!owner) return { text: shown, heard: { sources: [memberSource(author)], words: '' } };
  return { text: shown, heard: { words, ...(text !== words && { sources: [memberSource('a quoted message')] }) } };
}

export const memberSource = (label: string): Source => ({ kind: 'member', label });

/** Of messages that are said together. */
export function heardTogether(all: readonly Said[]): Heard {
  const each = all.map((said) => heardOf(said).heard);
  const sources = unionOf(...each.map((heard) => heard.sources ?? []));
  const words = each.map((heard, at) => heard.words ?? all[at]!.prepared!.text).filter((text) => text !== '');
  return { sources, words: words.join('\n') };
}
