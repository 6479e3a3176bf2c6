import { parseGroupOrder } from '../../../domain/chat/groups.ts';
import { isTooLong } from '../../../domain/chat/words/commands.ts';
import { listGroups } from '../../../store/chats/groups.ts';
import { attachmentId, saveAttachment } from '../../../store/chats/messages/attachments.ts';
import { chosenIn } from '../../../store/chats/preferences.ts';
import { logInMarkdown } from '../../../store/owner/chat-log.ts';
import { isMainChat } from '../../../store/owner/memories.ts';
import { listedGroups, listPlaces, namedPlaces } from '../../../store/owner/places.ts';
import { command, saying } from './command.ts';
import { toolTurn } from './tools.ts';

/** Chats beside this one: in which groups I answer, and what was said. */

export const groups = command({
  topic: 'trust',
  help: ['helps.groups'],
  parse: saying('groups', 'list groups', 'show groups', 'my groups'),
  mayAnswer: 'question',
  ownersOnly: () => 'owner.groups',
  run: async (_, { tx, config, shared, say }) => {
    if (shared) return say('own.chat');
    const found = await listedGroups(tx.now, config, null, say);
    if (found.length === 0) return say('groups.none');
    return found.map(({ line }) => line).join('\n');
  },
});

export const answerIn = command({
  help: [],
  parse: parseGroupOrder,
  // "answer in German, please" goes on
  mayContinue: true,
  mayAnswer: true,
  run: async ({ group }, context) => {
    const { tx, text, owned, shared, say } = context;
    const known = namedPlaces(await listGroups(tx.now), group);
    if (known.length === 0) return null;
    if (!owned) return say('owner.answerIn');
    return shared ? say('own.chat') : toolTurn(context, text.trim().startsWith('/') ? text.trim() : `/${text.trim()}`);
  },
});

/** The name of a chat, or null for this one. */
function parseExport(text: string): { chat: string | null } | null {
  if (isTooLong(text)) return null;
  const said = text.trim().replace(/(?<![.!])[.!]+$/, '');
  if (/^\/?export(?: (?:this|the|our) (?:chat|conversation))?$/i.test(said)) return { chat: null };
  const chat = /^\/?export (\S.{0,99})$/i.exec(said)?.[1];
  return chat === undefined ? null : { chat };
}

export const exportChat = command({
  topic: 'trust',
  help: ['helps.export'],
  parse: parseExport,
  mayAnswer: true,
  mayContinue: true,
  run: async ({ chat }, { tx, config, inboxId, owned, shared, say }) => {
    const [place, ...others] = chat === null ? [] : namedPlaces(await listPlaces(tx.now), chat);
    // "export the table as a file" is about something else
    if (chat !== null && !place) return null;
    if (!owned) return say('owner.export');
    if (chat !== null && (shared || !(await isMainChat(tx.now, tx.chatId, config)))) return say('own.chat');
    if (others.length > 0) return say('export.several', { name: place!.name });
    const { preferences } = await chosenIn(tx.now, tx.chatId);
    const zone = preferences.timeZone ?? config.FETCH_TIME_ZONE;
    const text = await logInMarkdown(tx.now, place?.chatId ?? tx.chatId, place?.name ?? 'Conversation', zone);
    const id = attachmentId(inboxId, 'export');
    const data = Buffer.from(text);
    const file = {
      kind: 'document',
      mime: 'text/markdown',
      name: 'conversation.md',
      data,
      preview: null,
      text: null,
    } as const;
    await saveAttachment(tx.now, { id, threadId: tx.threadId, ...file });
    return `${say('export.here')}\n\n![conversation.md](attachment:${id})`;
  },
});
