import type { CallbackQuery, Message, MessageEntity, MessageReactionUpdated, Update } from '@grammyjs/types';
import type { NewUpdate } from '../../../../store/telegram/inbox.ts';
import type { FileFacts } from '../../../intake/attachments.ts';
import { sanitiseName, sanitiseText } from '../../../intake/sanitise.ts';
import { isShared, shownIn, type Unread } from './message-kinds.ts';

/** The kinds of updates that are requested. What is not in this list would not be read. */
export const ALLOWED_UPDATES = ['message', 'edited_message', 'callback_query', 'my_chat_member', 'message_reaction'];

/** The address of a chat: its id, and behind a slash the topic. Elsewhere a thread is only a chain of replies. */
const addressOf = ({ chat, is_topic_message, message_thread_id }: Message): string =>
  is_topic_message && message_thread_id !== undefined ? `${chat.id}/${message_thread_id}` : String(chat.id);

/** The key of a message: unique in its chat, whatever the id of its update. */
export const keyOf = (chatId: number, messageId: number): string => `${chatId}/${messageId}`;

/**
 * What is stored of an update; null for one that is not read. A message of a business connection or a guest query may
 * have the id of one of our chats and belong to another one.
 */
export function storable(update: Update): NewUpdate | null {
  const member = update.my_chat_member;
  if (member)
    return {
      kind: 'member',
      key: `${member.chat.id}/member/${member.date}/${member.new_chat_member.status}`,
      chat: String(member.chat.id),
      userId: member.from.id,
      content: member,
    };
  const reaction = update.message_reaction;
  if (reaction)
    return {
      kind: 'reaction',
      key: `${keyOf(reaction.chat.id, reaction.message_id)}/reaction/${reaction.user?.id}/${reaction.date}/${emojiOf(reaction)}`,
      chat: String(reaction.chat.id),
      userId: reaction.user?.id ?? null,
      content: reaction,
    };
  const message = update.message ?? update.edited_message;
  if (message) {
    if (message.business_connection_id !== undefined || message.guest_query_id !== undefined) return null;
    const key = keyOf(message.chat.id, message.message_id);
    const of = { chat: addressOf(message), userId: message.from?.id ?? null, content: message };
    return update.message
      ? { ...of, kind: 'message', key }
      : { ...of, kind: 'edit', key: `${key}/edit/${message.edit_date ?? message.date}` };
  }
  const press = update.callback_query;
  const under = press?.message;
  // a press that the app repeats after a lost connection has a new id
  return press && under
    ? {
        kind: 'press',
        key: `${keyOf(under.chat.id, under.message_id)}/press/${press.from.id}/${(press.data ?? '').slice(0, 100)}`,
        chat: 'text' in under || 'is_topic_message' in under ? addressOf(under as Message) : String(under.chat.id),
        userId: press.from.id,
        content: press,
      }
    : null;
}

/** The emoji that somebody has put on a message just now; empty when one was taken off. */
export const emojiOf = ({ old_reaction: was, new_reaction: now }: MessageReactionUpdated): string => {
  const emoji = (of: MessageReactionUpdated['new_reaction']) =>
    of.flatMap((each) => (each.type === 'emoji' ? [each.emoji as string] : []));
  return emoji(now).find((each) => !emoji(was).includes(each)) ?? '';
};

/** A file that came with a message. */
export interface IncomingFile extends FileFacts {
  fileId: string;
  /** as announced; may be absent */
  bytes: number | null;
}

/** A message as the channel reads it. */
export interface Incoming {
  message: Message;
  address: string;
  user: { id: number; name: string };
  text: string;
  /** where in its text others are named; of the text or the caption */
  entities: readonly MessageEntity[];
  file: IncomingFile | null;
  /** what the person is told where nothing of it can be read */
  unreadable: Unread | null;
  quoted: { text: string; messageId: number | null; fromUs: boolean; own: boolean } | null;
  ofOthers: 'forwarded' | 'from another bot' | 'shared' | null;
  at: Date;
}

/** Why a message is nobody's words, or null. Anonymous administrators and channels write as somebody else. */
export function nobodys(message: Message): string | null {
  if (!message.from) return 'channel';
  if (message.sender_chat) return 'anonymous';
  return message.from.is_bot ? 'bot' : null;
}

/** @param botId our own id, by which our messages are known in a quote */
export function decode(message: Message, botId: number): Incoming {
  const from = message.from!;
  const source = message.text ?? message.caption ?? '';
  const entities = (message.entities ?? message.caption_entities ?? []).filter((each) => isWithin(each, source));
  const shown = shownIn(message);
  const reply = message.reply_to_message;
  const words = message.quote?.text ?? reply?.text ?? reply?.caption;
  const elsewhere = message.external_reply !== undefined;
  return {
    message,
    address: addressOf(message),
    user: { id: from.id, name: sanitiseName([from.first_name, from.last_name].join(' ')) ?? 'Somebody' },
    text: sanitiseText(source === '' && typeof shown === 'string' ? shown : withAddresses(source, entities)),
    entities,
    file: fileOf(message),
    unreadable: shown !== null && typeof shown === 'object' ? shown.say : null,
    quoted:
      reply || elsewhere
        ? {
            text: sanitiseText(words ?? ''),
            messageId: reply?.message_id ?? null,
            fromUs: reply?.from?.id === botId,
            own: reply?.from?.id === from.id && reply.forward_origin === undefined,
          }
        : null,
    ofOthers: message.forward_origin
      ? 'forwarded'
      : message.via_bot
        ? 'from another bot'
        : isShared(message)
          ? 'shared'
          : null,
    at: new Date(message.date * 1000),
  };
}

/** An entity that lies outside of its text, or begins or ends within a character, means nothing. */
function isWithin({ offset, length }: MessageEntity, text: string): boolean {
  const end = offset + length;
  const splits = (at: number) => /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(at - 1, at + 1));
  return Number.isInteger(offset) && offset >= 0 && length > 0 && end <= text.length && !splits(offset) && !splits(end);
}

/** A link shows other words than its address, which would be lost. */
function withAddresses(text: string, entities: readonly MessageEntity[]): string {
  let out = text;
  // from the end, because each address moves what follows it
  for (const entity of entities.toSorted((a, b) => b.offset + b.length - a.offset - a.length))
    if (entity.type === 'text_link') {
      const end = entity.offset + entity.length;
      out = `${out.slice(0, end)} (${entity.url})${out.slice(end)}`;
    }
  return out;
}

function fileOf(message: Message): IncomingFile | null {
  const { voice, audio, document, video, animation, video_note, live_photo } = message;
  // the sizes of one picture, the largest last
  const photo = (message.photo ?? message.live_photo?.photo)?.at(-1);
  if (photo) return file(photo, { kind: 'image', mime: 'image/jpeg' });
  if (voice) return file(voice, { kind: 'audio', mime: voice.mime_type ?? 'audio/ogg', voice: true });
  if (audio) return file(audio, { kind: 'audio', mime: audio.mime_type ?? 'audio/mpeg', name: audio.file_name });
  const film = video ?? animation ?? video_note ?? live_photo;
  if (film) return file(film, { kind: 'video', mime: 'video/mp4' });
  if (!document) return null;
  const mime = document.mime_type ?? 'application/octet-stream';
  // an original picture comes as a document
  const kind = /^image\/(jpeg|png|webp|gif)$/.test(mime) ? 'image' : 'document';
  return file(document, { kind, mime, name: document.file_name });
}

function file(
  { file_id, file_size, duration }: { file_id: string; file_size?: number; duration?: number },
  {
    kind,
    mime,
    name,
    voice = false,
  }: Pick<FileFacts, 'kind' | 'mime'> & { name?: string | undefined; voice?: boolean },
): IncomingFile {
  const seconds = duration ?? 0;
  return { fileId: file_id, bytes: file_size ?? null, kind, mime, name: sanitiseName(name) ?? null, voice, seconds };
}

/**
 * The text that is meant for us: in a group only what names the bot, answers it or begins with the trigger. Null: it is
 * talk between people. A command for another bot is nobody's. `always`: a group in which every message is for us.
 */
export function meantForUs(
  { message, text, entities, quoted }: Pick<Incoming, 'message' | 'text' | 'entities' | 'quoted'>,
  bot: { id: number; username: string },
  afterTrigger: (text: string) => string | null,
  always = false,
): string | null {
  const source = message.text ?? message.caption ?? '';
  const ours = (name: string) => name.toLowerCase() === `@${bot.username.toLowerCase()}`;
  const command = entities.find(({ type, offset }) => type === 'bot_command' && offset === 0);
  const [word, target] = command ? (/^(\/\w+)(@\w+)?$/.exec(source.slice(0, command.length))?.slice(1) ?? []) : [];
  if (target !== undefined && !ours(target)) return null;
  const said = word !== undefined && target !== undefined ? word + text.slice(command!.length) : text;
  if (message.chat.type === 'private') return afterTrigger(said)?.trim() ?? said;
  if (target !== undefined || quoted?.fromUs) return afterTrigger(said)?.trim() ?? said;
  const mention = entities.find(
    (entity) =>
      (entity.type === 'mention' && ours(source.slice(entity.offset, entity.offset + entity.length))) ||
      (entity.type === 'text_mention' && entity.user.id === bot.id),
  );
  if (!mention) return afterTrigger(said)?.trim() ?? (always ? said : null);
  return mention.offset === 0 ? said.slice(mention.length).replace(/^[\s,:;]{1,20}/, '') : said;
}

/** The message below whose text the buttons were pressed, and what they carry. */
export const pressIn = ({ data, message, from, id }: CallbackQuery) => ({
  queryId: id,
  userId: from.id,
  data: data ?? '',
  chat: message?.chat.id ?? 0,
  messageId: message?.message_id ?? 0,
});
