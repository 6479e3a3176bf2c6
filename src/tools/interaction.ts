import { z } from 'zod';
import { ASK_USER } from '../contracts/conversation.ts';
import { findCallOutput } from '../store/turns/steps/calls.ts';
import { messageOfChat } from '../store/turns/steps/transcript.ts';
import { excerpt } from './attachments.ts';
import { untold } from './declarations.ts';
import { defineTool, type Tool } from './tool.ts';

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

const readOutput = defineTool({
  name: 'read_output',
  family: 'core',
  reads: ['output'],
  readFrom: (args) => args.callId,
  sends: [],
  description: 'Read on in an output or message that was shown cut, by the id and offset that stand there.',
  schema: z.strictObject({
    callId: z.string().trim().min(1).max(100),
    offset: z.int().min(0).default(0),
    limit: z.int().min(1).max(20_000).default(8000).meta(untold('Characters')),
  }),
  danger: 'SAFE',
  effect: 'idempotent',
  runsIn: 'worker',
  onStore: 'reads',
  timeoutMs: 10_000,
  summarise: (args) => `from ${args.offset}`,
  run: async ({ callId, offset, limit }, { db, chatId }) => {
    const message = callId.startsWith('msg_') ? await messageOfChat(db, chatId, callId) : undefined;
    if (message) return excerpt(message.content, { offset, limit, of: `The message ${callId}` });
    const call = await findCallOutput(db, chatId, callId);
    if (!call) return { ok: false, output: `There is no tool call ${callId} in this chat.` };
    if (call.output === null)
      return { ok: false, output: `${call.name} (${callId}) has no output${call.state === 'done' ? '' : ' yet'}.` };
    const { metadata, ...read } = excerpt(call.output, { offset, limit, of: `The output of ${callId}` });
    // anybody in a group may have answered a question
    const ours = call.sources?.length === 0 && call.name !== ASK_USER;
    return { ...read, ...(ours && { ours }), ...(metadata && { metadata: { callId, ...metadata } }) };
  },
});

export const interactionTools: Tool[] = [askUser, reportProgress, readOutput];
