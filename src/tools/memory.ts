import { z } from 'zod';
import { MEMORY_CHARS, memoryLine } from '../domain/chat/context/memory.ts';
import { unionOf } from '../domain/consent/taint.ts';
import { secretIn } from '../domain/text/secrets.ts';
import {
  addMemory,
  countMemories,
  EVERYONE,
  findMemories,
  isMainChat,
  memoryOwner,
  removeMemories,
} from '../store/owner/memories.ts';
import { taintOfCall } from '../store/turns/steps/taint.ts';
import { untold } from './declarations.ts';
import { defineTool, idFromCall, shown, type Tool, type ToolContext, type ToolOutcome } from './tool.ts';

/**
 * `remember`, `recall`, `forget`: what holds beyond a conversation. The chats that only the owner reads share one
 * memory.
 */

const common = { effect: 'idempotent', runsIn: 'worker', timeoutMs: 10_000, notARoutineStep: true, reads: [] } as const;

/** Most memories of one owner. */
const MOST = 1_000;
const ALL = 'all';

const no = (output: string): ToolOutcome => ({ ok: false, output });
const ownerIn = ({ db, chatId, config }: ToolContext): Promise<string> => memoryOwner(db, chatId, config);

export const memoryTools: Tool[] = [
  defineTool({
    ...common,
    name: 'remember',
    family: 'core',
    onStore: 'writes',
    sends: ['memory'],
    sent: ({ text }) => ({ texts: [text] }),
    description: 'Keep a fact or wish of the person for later conversations.',
    schema: z.strictObject({
      text: z.string().trim().min(1).max(MEMORY_CHARS).describe('Stands alone'),
      everyone: z.boolean().optional().meta(untold('Known in every chat, groups too; only from the owner’s own chat')),
    }),
    danger: 'MODERATE',
    dangerOf: ({ everyone }) => (everyone ? 'DANGEROUS' : 'MODERATE'),
    inQuestion: ['text', 'everyone'],
    asks: ({ text, everyone }, _, say) =>
      say(everyone ? 'ask.rememberAll' : 'ask.remember', { text: shown(text, MEMORY_CHARS) }),
    run: async ({ text, everyone }, context) => {
      const { db, callId } = context;
      const secret = secretIn(text);
      if (secret) return no(`This has what looks like ${secret}. Secrets are not remembered.`);
      const own = await ownerIn(context);
      if (everyone && !(await isMainChat(db, context.chatId, context.config)))
        return no('Only the owner’s own chat decides what is known in every chat.');
      const owner = everyone ? EVERYONE : own;
      if ((await countMemories(db, owner)) >= MOST)
        return no(`${MOST} things are remembered, and no more are allowed. Forget some first.`);
      // a yes to the words does not make them the person's own
      const sources = (await taintOfCall(db, callId))?.sources ?? [];
      const memory = await addMemory(db, { id: idFromCall('mem_', callId), owner, body: text, sources });
      const apart =
        memory.sources.length > 0 ? ' It was made after text of others was read, so only recall finds it.' : '';
      return { ok: true, output: `Remembered as ${memory.id}.${apart}`, metadata: { id: memory.id } };
    },
  }),
  defineTool({
    ...common,
    name: 'recall',
    family: 'core',
    sends: [],
    description: 'Search what was remembered; without a query the newest.',
    schema: z.strictObject({
      query: z.string().trim().max(200).optional(),
      limit: z.int().min(1).max(50).default(10).meta(untold('Most memories')),
    }),
    danger: 'SAFE',
    onStore: 'reads',
    run: async ({ query = '', limit }, context) => {
      const found = await findMemories(context.db, await ownerIn(context), query, limit);
      return {
        ok: true,
        output: found.length > 0 ? found.map(memoryLine).join('\n') : 'Nothing of that is remembered.',
        metadata: { memories: found.map(({ id, body, created_at }) => ({ id, text: body, createdAt: created_at })) },
        sources: unionOf(...found.map(({ sources }) => sources)),
      };
    },
  }),
  defineTool({
    ...common,
    name: 'forget',
    family: 'settings',
    onStore: 'writes',
    sends: ['memory'],
    sent: ({ id }) => ({ texts: [id] }),
    description: 'Delete one memory, or "all".',
    schema: z.strictObject({ id: z.string().trim().min(1).max(40) }),
    danger: 'MODERATE',
    dangerOf: ({ id }) => (id === ALL ? 'DANGEROUS' : 'MODERATE'),
    inQuestion: ['id'],
    asks: ({ id }, _, say) =>
      id === ALL ? say('ask.forgetAll') : say('ask.forget', { text: shown(id, MEMORY_CHARS) }),
    run: async ({ id }, context) => {
      const gone = await removeMemories(context.db, await ownerIn(context), id === ALL ? null : id);
      if (gone.length === 0)
        return no(
          id === ALL ? 'Nothing is remembered here.' : `Nothing is remembered as ${shown(id)}. recall lists what is.`,
        );
      return {
        ok: true,
        output: `Forgotten: ${gone.length}.`,
        metadata: { forgotten: gone.map((memory) => memory.id) },
      };
    },
  }),
];
