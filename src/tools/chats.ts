import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { capabilitiesOf } from '../contracts/channels.ts';
import { unionOf } from '../domain/consent/taint.ts';
import { describeTime } from '../domain/cron.ts';
import { withoutInternal } from '../domain/text/internal.ts';
import { suggestion } from '../domain/text/nearest.ts';
import { cut } from '../domain/text/storable.ts';
import { english } from '../domain/texts/say.ts';
import { findOutgoing } from '../store/chats/messages/outbox.ts';
import { zoneOf } from '../store/chats/preferences.ts';
import { type LogEntry, searchLog } from '../store/owner/chat-log.ts';
import { isMainChat } from '../store/owner/memories.ts';
import { listedGroups, listPlaces, namedPlaces, type Place, wholeName } from '../store/owner/places.ts';
import { recordNotice } from '../store/turns/complete-turn.ts';
import { taintOfCall } from '../store/turns/steps/taint.ts';
import { defineTool, named, shown, type Tool, type ToolContext, type ToolOutcome } from './tool.ts';

/**
 * `chats`, `send_message`, `conversation_search`: the chats that there are, and what is said in them. The owner's own
 * chat reaches each; every other chat reaches only itself.
 */

const common = { effect: 'idempotent', runsIn: 'worker', family: 'chats', notARoutineStep: true } as const;

const no = (output: string): ToolOutcome => ({ ok: false, output });

/** A chat by its name, as `chats` lists it. */
export const chatArgument = z.string().trim().min(1).max(120).optional().describe('Another chat, by its name');

/** The chat that is meant: the own one when none is named. A text says why there is none. */
async function placeOf({ db, chatId }: ToolContext, wanted: string | undefined): Promise<Place | string> {
  if (wanted === undefined)
    return { chatId, channel: chatId.split('/')[0] as Place['channel'], name: 'this chat', group: null, members: null };
  const all = (await listPlaces(db)).filter((place) => place.chatId !== chatId);
  const byAddress = all.filter(({ group }) => group?.address === wanted);
  const found = byAddress.length > 0 ? byAddress : namedPlaces(all, wanted);
  if (found.length === 1) return found[0]!;
  if (found.length > 1) return english('did.severalChats', { groups: found.map((each) => wholeName(each)).join(', ') });
  const names = all.map(({ name }) => name);
  return `${english('did.noChat', { name: named(wanted) })}${suggestion(wanted, names)}`;
}

/** The same call in the chat that is meant, or why there is none. */
export async function inChat(context: ToolContext, wanted: string | undefined): Promise<ToolContext | string> {
  if (wanted === undefined) return context;
  const place = await placeOf(context, wanted);
  return typeof place === 'string' ? place : { ...context, chatId: place.chatId };
}

const fullName = (place: Place): string => wholeName({ ...place, members: null });

/** How long a message may take until it is told that it waits. */
const SENT_WITHIN_MS = 8_000;
const LOOK_MS = 200;

/** The message is stored, and goes out as soon as its channel can send. */
async function send(place: Place, text: string, context: ToolContext): Promise<ToolOutcome> {
  const { db, callId, signal } = context;
  const outboxId = `out_${callId}_said`;
  const sources = (await taintOfCall(db, callId))?.sources ?? [];
  await recordNotice(db, { chatId: place.chatId, outboxId, text, kind: 'notice', sources });
  await context.deliver?.(outboxId, place.chatId);
  const until = Date.now() + SENT_WITHIN_MS;
  let row = await findOutgoing(db, outboxId);
  while (row?.state === 'queued' && Date.now() < until) {
    await pause(LOOK_MS, undefined, { signal });
    row = await findOutgoing(db, outboxId);
  }
  const to = place.name === 'this chat' ? 'here' : `to ${fullName(place)}`;
  const { label } = capabilitiesOf(place.channel);
  const chat = place.name === 'this chat' ? undefined : place.name;
  if (row?.state === 'sent') return { ok: true, output: `Sent ${to}.`, metadata: { state: 'sent', chat } };
  if (row?.state === 'queued')
    return {
      ok: true,
      output: `It is not sent yet: ${label} cannot be reached now, and it goes ${to} as soon as it can.`,
      metadata: { state: 'queued', chat },
    };
  return no(`It was not sent: ${label} refused it.`);
}

const chats = defineTool({
  ...common,
  name: 'chats',
  reads: ['member'],
  readFrom: () => 'names of chats',
  sends: [],
  onStore: 'reads',
  description: 'List chats and groups, and how groups are answered.',
  danger: 'SAFE',
  schema: z.strictObject({}),
  timeoutMs: 10_000,
  run: async (_args, { db, config, chatId }) => {
    const main = await isMainChat(db, chatId, config);
    const places = (await listPlaces(db)).filter((place) => main || place.chatId === chatId);
    const people = places.filter(({ group }) => group === null).map((place) => `- ${fullName(place)}`);
    const groups = await listedGroups(db, config, main ? null : chatId);
    return {
      ok: true,
      output: [
        ...(groups.length > 0 ? ['Groups:', ...groups.map(({ line }) => line)] : ['There are no groups.']),
        ...(people.length > 0 ? ['Chats:', ...people] : []),
      ].join('\n'),
      metadata: { groups: groups.map(({ line: _, ...group }) => group), chats: places.map(({ name }) => name) },
    };
  },
});

const sendMessage = defineTool({
  ...common,
  name: 'send_message',
  reads: [],
  sends: ['message'],
  // what is said here only its own people read
  sent: ({ text, chat }) => (chat === undefined ? { texts: [] } : { texts: [text] }),
  description: 'Write into this chat at once, or into another (owner’s own chat only).',
  danger: 'SAFE',
  dangerOf: ({ chat }) => (chat === undefined ? 'SAFE' : 'DANGEROUS'),
  mainOnly: ({ chat }) => chat !== undefined,
  schema: z.strictObject({ text: z.string().trim().min(1).max(4_000), chat: chatArgument }),
  timeoutMs: 30_000,
  inQuestion: ['text', 'chat'],
  asks: ({ text, chat }, _, say) => say('ask.message', { chat: shown(chat, 120), text: shown(text, 4_000) }),
  run: async (args, context) => {
    const text = withoutInternal(args.text);
    if (text === '') return no('Nothing is left of the text without its internal parts.');
    const place = await placeOf(context, args.chat);
    if (typeof place === 'string') return no(place);
    if (args.chat === undefined && capabilitiesOf(context.chatId).screen !== null)
      return {
        ok: true,
        output: 'The person has been told.',
        metadata: { state: 'sent' },
        told: { summary: cut(text, 280), detail: text, metadata: { call_id: context.callId } },
      };
    return await send(place, text, context);
  },
});

const FOUND = 10;
const EXCERPT = 500;

const conversationSearch = defineTool({
  ...common,
  name: 'conversation_search',
  reads: ['output'],
  readFrom: () => 'an earlier conversation',
  sends: [],
  onStore: 'reads',
  description: 'Search all that was said in this chat, or in another (owner’s own chat only).',
  danger: 'SAFE',
  mainOnly: ({ chat }) => chat !== undefined,
  schema: z.strictObject({
    query: z.string().trim().min(1).max(200).describe('Words that all occur'),
    chat: chatArgument,
    before: z.int().min(1).optional().describe('Number of an entry: only older ones'),
  }),
  timeoutMs: 20_000,
  run: async ({ query, chat, before = null }, context) => {
    const { db, config, chatId } = context;
    const place = await placeOf(context, chat);
    if (typeof place === 'string') return no(place);
    const found = await searchLog(db, place.chatId, query, { before, limit: FOUND });
    if (found.length === 0) return { ok: true, output: 'Nothing of that was said.', ours: true };
    const zone = await zoneOf(db, chatId, config);
    return {
      ok: true,
      output: found
        .map((entry) => `${entry.ord}. ${describeTime(entry.created_at, zone)}, ${textOf(entry, query)}`)
        .join('\n\n'),
      metadata: { entries: found.map(({ ord, created_at }) => ({ id: ord, at: created_at })) },
      sources: unionOf(...found.map(({ sources }) => sources)),
      // only what the person wrote themselves is nobody else's
      ...(found.every(({ role, sources }) => role === 'user' && sources.length === 0) && { ours: true }),
    };
  },
});

/** Who said it, and the part around the first word that was looked for. */
function textOf({ role, content }: LogEntry, query: string): string {
  const word = query.match(/[\p{L}\p{N}]+/u)?.[0] ?? '';
  const at = Math.max(0, content.toLowerCase().indexOf(word.toLowerCase()) - EXCERPT / 2);
  const part = content.slice(at, at + EXCERPT).toWellFormed();
  return `${role === 'user' ? 'said here' : 'you said'}: ${at > 0 ? '…' : ''}${part}${content.length > at + EXCERPT ? '…' : ''}`;
}

export const chatTools: Tool[] = [chats, sendMessage, conversationSearch];
