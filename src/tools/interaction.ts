import { z } from 'zod';
import { ASK_USER } from '../contracts/conversation.ts';
import { betweenPairs, prefix } from '../domain/text/storable.ts';
import { attachmentOfChat } from '../store/chats/messages/attachments.ts';
import type { Db } from '../store/postgres/database.ts';
import { findCallOutput } from '../store/turns/steps/calls.ts';
import { messageOfChat } from '../store/turns/steps/transcript.ts';
import { untold } from './declarations.ts';
import { defineTool, type Tool, type ToolOutcome } from './tool.ts';

const unique = (values: string[]): boolean =>
  new Set(values.map((value) => value.trim().toLowerCase())).size === values.length;

const askUser = defineTool({
  name: ASK_USER,
  family: 'core',
  reads: [],
  sends: [],
  description:
    'Ask the person and wait, for days if needed. Only for what you cannot go on without; permission for a tool is asked for you.',
  schema: z.strictObject({
    question: z.string().trim().min(1).max(500),
    options: z
      .array(z.string().trim().min(1).max(100))
      .max(10)
      .refine(unique, 'options must differ from each other')
      .optional(),
  }),
  danger: 'SAFE',
  effect: 'idempotent',
  runsIn: 'worker',
  timeoutMs: 10_000,
  notARoutineStep: true,
  summarise: () => 'question to the person',
  // the conversation workflow asks and waits: an activity that waits for days would take a worker slot all the time
  run: async () => {
    throw new Error('ask_user is handled by the conversation workflow and has no run of its own');
  },
});

const reportProgress = defineTool({
  name: 'report_progress',
  family: 'core',
  reads: [],
  sends: [],
  description: 'Tell the person in a sentence how long work goes; your turn goes on.',
  schema: z.strictObject({
    message: z.string().trim().min(1).max(500),
    percent: z.number().min(0).max(100).optional(),
  }),
  danger: 'SAFE',
  effect: 'idempotent',
  runsIn: 'worker',
  onStore: 'reads',
  timeoutMs: 10_000,
  summarise: (args) => (args.percent === undefined ? 'to the person' : `${args.percent} %`),
  notARoutineStep: true,
  run: async ({ message, percent }, { callId }) => ({
    ok: true,
    output: 'The person has been told.',
    metadata: { sent: true },
    told: {
      summary: percent === undefined ? message : `${message} (${percent} %)`,
      detail: message,
      metadata: { call_id: callId, ...(percent !== undefined && { percent }) },
    },
  }),
});

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

const readOutput = defineTool({
  name: 'read_output',
  family: 'core',
  reads: ['output'],
  readFrom: (args) => args.callId,
  sends: [],
  description:
    'Read on in an output, message or document that was shown cut, by the id and offset that stand there; by its att_… id also the transcript of a recording.',
  schema: z.strictObject({
    callId: z.string().trim().min(1).max(100),
    offset: z.int().min(0).default(0),
    limit: z.int().min(1).max(20_000).default(7_500).meta(untold('Characters')),
  }),
  danger: 'SAFE',
  effect: 'idempotent',
  runsIn: 'worker',
  onStore: 'reads',
  timeoutMs: 10_000,
  summarise: (args) => `from ${args.offset}`,
  run: async ({ callId: id, ...part }, { db, chatId }) => {
    if (id.startsWith('att_')) return await ofAttachment(db, chatId, id, part);
    const message = id.startsWith('msg_') ? await messageOfChat(db, chatId, id) : undefined;
    if (message) return excerpt(message.content, { ...part, of: `The message ${id}` });
    const call = await findCallOutput(db, chatId, id);
    if (!call) return { ok: false, output: `There is no tool call ${id} in this chat.` };
    if (call.output === null)
      return { ok: false, output: `${call.name} (${id}) has no output${call.state === 'done' ? '' : ' yet'}.` };
    const { metadata, ...read } = excerpt(call.output, { ...part, of: `The output of ${id}` });
    // anybody in a group may have answered a question
    const ours = call.sources?.length === 0 && call.name !== ASK_USER;
    return { ...read, ...(ours && { ours }), ...(metadata && { metadata: { callId: id, ...metadata } }) };
  },
});

async function ofAttachment(
  db: Db,
  chatId: string,
  id: string,
  part: { offset: number; limit: number },
): Promise<ToolOutcome> {
  const file = await attachmentOfChat(db, chatId, id);
  if (!file) return { ok: false, output: `There is no attachment ${id} in this chat.` };
  const { kind, mime, name, text } = file;
  if (text === null || text === '')
    return { ok: false, output: `${name ?? id} (${kind}, ${mime}) has no text that can be read here.` };
  const { metadata, ...read } = excerpt(text, { ...part, of: `The text of ${name ?? id}` });
  const sources = [{ kind: 'attachment' as const, label: id }];
  return { ...read, ours: true, sources, ...(metadata && { metadata: { id, ...metadata } }) };
}

export const interactionTools: Tool[] = [askUser, reportProgress, readOutput];
