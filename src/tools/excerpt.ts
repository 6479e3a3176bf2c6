import type { ToolOutcome } from './tool.ts';

/** A part of a long text for the model, with how to read on; offsets in characters. `of` names the text where there is nothing at the offset. */
export function excerpt(whole: string, { offset, limit, of }: { offset: number; limit: number; of: string }): ToolOutcome {
  const total = whole.length;
  if (offset >= total && total > 0) return { ok: false, output: `${of} ends at ${total} characters.` };
  const text = whole.slice(offset, offset + limit);
  const end = offset + text.length;
  const note = `[characters ${offset} to ${end} of ${total}; ${end < total ? `read on with offset ${end}` : 'this is the end'}]`;
  return { ok: true, output: `${text.toWellFormed()}\n\n${note}`, metadata: { offset, end, total } };
}
