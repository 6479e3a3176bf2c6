import { normalizeMessageContent, type proto } from '@whiskeysockets/baileys';
import type { MediaServer } from './media.ts';
import { decryptMedia, type MediaKind } from './media-crypto.ts';

/** What a phone makes of a decrypted message. */

export type MessageKind =
  | 'text'
  | MediaKind
  | 'poll'
  | 'vote'
  | 'reaction'
  | 'edit'
  | 'revoke'
  | 'pin'
  | 'protocol'
  | 'other';

export interface ReadMedia {
  kind: MediaKind;
  mimetype: string;
  fileName: string | null;
  seconds: number | null;
  ptt: boolean;
  /** downloaded, MAC and hashes checked; null when `error` says why not */
  bytes: Buffer | null;
  error: string | null;
}

export interface Reading {
  kind: MessageKind;
  /** text, caption, new text of an edit, emoji of a reaction, question of a poll */
  text: string;
  /** the message that is edited, revoked, reacted to, voted in or pinned */
  target: string | null;
  quotedId: string | null;
  mentions: string[];
  media: ReadMedia | null;
  poll: { name: string; options: string[]; selectable: number } | null;
}

const PROTOCOL: Record<number, MessageKind> = { 0: 'revoke', 14: 'edit' };

export function readMessage(wrapped: proto.IMessage, media: MediaServer): Reading {
  const message = normalizeMessageContent(wrapped) ?? {};
  const reading: Reading = {
    kind: 'other',
    text: '',
    target: null,
    quotedId: null,
    mentions: [],
    media: null,
    poll: null,
  };
  if (message.protocolMessage) {
    const { type, key, editedMessage } = message.protocolMessage;
    reading.kind = PROTOCOL[type ?? 0] ?? 'protocol';
    reading.target = key?.id ?? null;
    if (editedMessage) reading.text = readMessage(editedMessage, media).text;
    return reading;
  }
  if (message.reactionMessage) {
    return {
      ...reading,
      kind: 'reaction',
      text: message.reactionMessage.text ?? '',
      target: message.reactionMessage.key?.id ?? null,
    };
  }
  if (message.pinInChatMessage) return { ...reading, kind: 'pin', target: message.pinInChatMessage.key?.id ?? null };
  if (message.pollUpdateMessage)
    return { ...reading, kind: 'vote', target: message.pollUpdateMessage.pollCreationMessageKey?.id ?? null };
  const poll = message.pollCreationMessageV3 ?? message.pollCreationMessageV2 ?? message.pollCreationMessage;
  if (poll) {
    const options = (poll.options ?? []).map(({ optionName }) => optionName ?? '');
    return {
      ...reading,
      kind: 'poll',
      text: poll.name ?? '',
      poll: { name: poll.name ?? '', options, selectable: poll.selectableOptionsCount ?? 0 },
    };
  }
  const file = message.imageMessage ?? message.videoMessage ?? message.audioMessage ?? message.documentMessage;
  const context = message.extendedTextMessage?.contextInfo ?? file?.contextInfo;
  reading.quotedId = context?.stanzaId ?? null;
  reading.mentions = context?.mentionedJid ?? [];
  if (file) {
    const kind: MediaKind = message.imageMessage
      ? 'image'
      : message.videoMessage
        ? 'video'
        : message.audioMessage
          ? 'audio'
          : 'document';
    const caption = 'caption' in file ? (file as { caption?: string | null }).caption : null;
    return { ...reading, kind, text: caption ?? '', media: download(kind, file, message, media) };
  }
  const text = message.conversation ?? message.extendedTextMessage?.text;
  return typeof text === 'string' && text !== '' ? { ...reading, kind: 'text', text } : reading;
}

type File =
  | proto.Message.IImageMessage
  | proto.Message.IVideoMessage
  | proto.Message.IAudioMessage
  | proto.Message.IDocumentMessage;

function download(kind: MediaKind, file: File, message: proto.IMessage, media: MediaServer): ReadMedia {
  const read: ReadMedia = {
    kind,
    mimetype: file.mimetype ?? '',
    fileName: message.documentMessage?.fileName ?? null,
    seconds: message.audioMessage?.seconds ?? null,
    ptt: message.audioMessage?.ptt ?? false,
    bytes: null,
    error: null,
  };
  try {
    const blob = media.read(file.directPath ?? '');
    if (!blob) throw new Error('the file is not on the media host');
    if (!file.mediaKey || !file.fileSha256 || !file.fileEncSha256)
      throw new Error('the message lacks the key or a hash of its file');
    const { mediaKey, fileSha256, fileEncSha256, fileLength } = file;
    read.bytes = decryptMedia(blob, kind, { mediaKey, fileSha256, fileEncSha256, fileLength: Number(fileLength ?? 0) });
  } catch (error) {
    read.error = (error as Error).message;
  }
  return read;
}
