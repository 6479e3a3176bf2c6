import { z } from 'zod';
import { SHOWN_OUTPUT_CHARS } from '../domain/chat/context/context.ts';
import { betweenPairs, prefix } from '../domain/text/storable.ts';
import { attachmentOfChat } from '../store/chats/messages/attachments.ts';
import { defineTool, type Tool, type ToolOutcome } from './tool.ts';

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

const readAttachment = defineTool({
  name: 'read_attachment',
  family: 'attachments',
  reads: ['attachment'],
  readFrom: (args) => args.id,
  sends: [],
  description:
    'Read a document, or the transcript of a recording, that came with a message: from the beginning, or on from where it was shown cut. Not for pictures: you see them.',
  schema: z.strictObject({
    id: z.string().trim().min(1).max(100).describe('att_…, as listed with the message'),
    offset: z.int().min(0).default(0),
    // a longer output would be cut again when it is shown
    limit: z
      .int()
      .min(1)
      .max(SHOWN_OUTPUT_CHARS - 100)
      .default(7_500),
  }),
  danger: 'SAFE',
  effect: 'idempotent',
  runsIn: 'worker',
  onStore: 'reads',
  timeoutMs: 30_000,
  summarise: (args) => `from ${args.offset}`,
  run: async ({ id, offset, limit }, { db, chatId }) => {
    const file = await attachmentOfChat(db, chatId, id);
    if (!file) return { ok: false, output: `There is no attachment ${id} in this chat.` };
    const { kind, mime, name, text } = file;
    if (text === null || text === '')
      return { ok: false, output: `${name ?? id} (${kind}, ${mime}) has no text that can be read here.` };
    const { metadata, ...read } = excerpt(text, { offset, limit, of: `The text of ${name ?? id}` });
    return { ...read, ...(metadata && { metadata: { id, ...metadata } }) };
  },
});

export const attachmentTools: Tool[] = [readAttachment];
