import { randomBytes } from 'node:crypto';
import { proto } from '@whiskeysockets/baileys';
import type { MediaServer } from './media.ts';
import type { MediaKind } from './media-crypto.ts';

/** What a test says that a person sends, and the protobuf that a phone makes of it. */

export interface MediaContent {
  caption?: string;
  mimetype?: string;
  fileName?: string;
  /** seconds of sound */
  seconds?: number;
  /** a voice note rather than a sound file */
  ptt?: boolean;
  /** lies of the sender, for tests of hostile media */
  url?: string;
  directPath?: string;
  fileLength?: number;
  /** id of the message that announced the album */
  album?: string;
}

export type Content =
  | string
  | { text: string; mentions?: string[] }
  | ({ image: Buffer } & MediaContent)
  | ({ video: Buffer } & MediaContent)
  | ({ audio: Buffer } & MediaContent)
  | ({ document: Buffer } & MediaContent)
  | { poll: { name: string; options: string[]; selectable?: number } }
  /** any other message, as it is */
  | { proto: proto.IMessage };

const MIMETYPES: Record<Exclude<MediaKind, 'history'>, string> = {
  image: 'image/jpeg',
  video: 'video/mp4',
  audio: 'audio/ogg; codecs=opus',
  document: 'application/octet-stream',
};

export function buildMessage(content: Content, id: string, media: MediaServer): proto.IMessage {
  if (typeof content === 'string') return { conversation: content };
  if ('proto' in content) return content.proto;
  if ('text' in content)
    return { extendedTextMessage: { text: content.text, contextInfo: { mentionedJid: content.mentions ?? [] } } };
  if ('poll' in content) {
    const { name, options, selectable } = content.poll;
    return {
      pollCreationMessageV3: {
        name,
        options: options.map((optionName) => ({ optionName })),
        selectableOptionsCount: selectable ?? 1,
      },
      messageContextInfo: { messageSecret: randomBytes(32) },
    };
  }
  if ('image' in content)
    return {
      imageMessage: file('image', content.image, content, id, media),
      ...(content.album && { messageContextInfo: inAlbum(content.album) }),
    };
  if ('video' in content)
    return {
      videoMessage: file('video', content.video, content, id, media),
      ...(content.album && { messageContextInfo: inAlbum(content.album) }),
    };
  if ('audio' in content) {
    const { caption: _, ...sound } = file('audio', content.audio, content, id, media);
    return { audioMessage: { ...sound, seconds: content.seconds ?? 1, ptt: content.ptt ?? false } };
  }
  return {
    documentMessage: {
      ...file('document', content.document, content, id, media),
      fileName: content.fileName ?? 'file',
    },
  };
}

const inAlbum = (id: string): proto.IMessageContextInfo => ({
  messageAssociation: {
    associationType: proto.MessageAssociation.AssociationType.MEDIA_ALBUM,
    parentMessageKey: { id },
  },
});

function file(
  kind: Exclude<MediaKind, 'history'>,
  plain: Buffer,
  content: MediaContent,
  id: string,
  media: MediaServer,
) {
  const { path, mediaKey, fileSha256, fileEncSha256, fileLength } = media.store(id, kind, plain);
  return {
    url: content.url ?? media.url(path),
    directPath: content.directPath ?? path,
    mediaKey,
    fileSha256,
    fileEncSha256,
    fileLength: content.fileLength ?? fileLength,
    mediaKeyTimestamp: Math.floor(Date.now() / 1000),
    mimetype: content.mimetype ?? MIMETYPES[kind],
    caption: content.caption,
  };
}

/** The same message with a context: what it quotes, as phones send it. */
export function withContext(message: proto.IMessage, context: proto.IContextInfo): proto.IMessage {
  if (message.conversation) return { extendedTextMessage: { text: message.conversation, contextInfo: context } };
  const out: proto.IMessage = { ...message };
  for (const name of [
    'extendedTextMessage',
    'imageMessage',
    'videoMessage',
    'audioMessage',
    'documentMessage',
  ] as const) {
    const part = out[name];
    if (part) (out as Record<string, unknown>)[name] = { ...part, contextInfo: { ...part.contextInfo, ...context } };
  }
  return out;
}

/** The stanza's `type` and the `mediatype` of its ciphertext. */
export function stanzaType(message: proto.IMessage): { type: string; mediatype?: string } {
  if (message.reactionMessage) return { type: 'reaction' };
  if (message.pollCreationMessage || message.pollCreationMessageV3 || message.pollUpdateMessage)
    return { type: 'poll' };
  if (message.imageMessage) return { type: 'media', mediatype: 'image' };
  if (message.videoMessage) return { type: 'media', mediatype: 'video' };
  if (message.audioMessage) return { type: 'media', mediatype: message.audioMessage.ptt ? 'ptt' : 'audio' };
  if (message.documentMessage) return { type: 'media', mediatype: 'document' };
  return { type: 'text' };
}
