import { betweenPairs, prefix } from '../domain/text/storable.ts';
import type { ToolOutcome } from './tool.ts';

/**
 * A part of a long text for the model, with how to read on. Offsets in characters. `of` names the text when there is
 * nothing at the offset.
 */
export function excerpt(
  whole: string,
  { offset, limit, of }: { offset: number; limit: number; of: string },
): ToolOutcome {
  const total = whole.length;
  if (offset >= total && total > 0) return { ok: false, output: `${of} ends at ${total} characters.` };
  // an offset that the model made up may split a surrogate pair, and a limit of 1 is less than a pair
  const from = betweenPairs(whole, offset);
  const text = prefix(whole.slice(from), limit) || whole.slice(from, from + 2);
  const end = from + text.length;
  const note = `[characters ${from} to ${end} of ${total}; ${end < total ? `read on with offset ${end}` : 'this is the end'}]`;
  return { ok: true, output: `${text}\n\n${note}`, metadata: { offset: from, end, total } };
}
