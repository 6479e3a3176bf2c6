import type { AnyMessageContent, proto, WAMessage } from '@whiskeysockets/baileys';
import { prefix } from '../../../../domain/text/storable.ts';
import { isGroup } from '../../../../domain/whatsapp/identity.ts';
import type { Quotable } from '../../../../store/whatsapp/outgoing.ts';
import { quietLogger } from '../library/baileys.ts';
import type { Live, WhatsAppDeps } from '../live.ts';

/** The content of a message, with files as bytes. Nothing is ever fetched from an address here. */
export type Sendable =
  | { kind: 'text'; text: string }
  | { kind: 'poll'; name: string; options: string[] }
  | {
      kind: 'media';
      as: 'image' | 'video' | 'audio' | 'document';
      data: Buffer;
      mime: string;
      name: string;
      caption: string;
    }
  | { kind: 'edit'; text: string; messageId: string };

const UPLOAD_TIMEOUT_MS = 60_000;
/** A quote is shown in two lines, so more text only makes the message larger. */
const QUOTED_LENGTH = 1000;

/** The bytes of a message, the same on every attempt. Files are uploaded here, once. */
export async function encode(
  sendable: Sendable,
  {
    live,
    jid,
    messageId,
    quoted,
    timer,
    log,
  }: {
    live: Live;
    jid: string;
    messageId: string;
    quoted: Quotable | null;
    /** seconds after which messages of the chat disappear; 0: never; null: not known */
    timer: number | null;
    log: WhatsAppDeps['log'];
  },
): Promise<Buffer> {
  const { generateWAMessageContent, generateWAMessageFromContent, proto } = await import('@whiskeysockets/baileys');
  const inner = await generateWAMessageContent(contentOf(sendable, jid), {
    upload: live.sock.waUploadToServer,
    mediaUploadTimeoutMs: UPLOAD_TIMEOUT_MS,
    logger: quietLogger(log) as never,
    jid,
  });
  const context = sendable.kind === 'edit' || !quoted ? null : await quote(quoted, live, jid);
  const expiration = timer ?? context?.expiration ?? 0;
  const whole = generateWAMessageFromContent(jid, inner, {
    userJid: ownJid(live, jid),
    messageId,
    ...(context && { quoted: context.message }),
    ...(expiration > 0 && { ephemeralExpiration: expiration }),
  });
  const edited = whole.message!.protocolMessage?.editedMessage?.extendedTextMessage;
  // the library leaves edits as they are
  if (edited && expiration > 0) edited.contextInfo = { ...edited.contextInfo, expiration };
  return Buffer.from(proto.Message.encode(whole.message!).finish());
}

function contentOf(sendable: Sendable, jid: string): AnyMessageContent {
  switch (sendable.kind) {
    case 'text':
      return { text: sendable.text, linkPreview: null };
    case 'edit':
      return { text: sendable.text, linkPreview: null, edit: { remoteJid: jid, fromMe: true, id: sendable.messageId } };
    case 'poll':
      return { poll: { name: sendable.name, values: sendable.options, selectableCount: 1 } };
    case 'media': {
      const { data, mime, name, caption } = sendable;
      const said = caption === '' ? {} : { caption };
      if (sendable.as === 'image') return { image: data, mimetype: mime, ...said };
      if (sendable.as === 'video') return { video: data, mimetype: mime, ...said };
      // a given length keeps the library from measuring the sound
      if (sendable.as === 'audio') return { audio: data, mimetype: mime, seconds: 0 };
      return { document: data, mimetype: mime, fileName: name, ...said };
    }
  }
}

/** Our own address in the form of the chat; group members are LIDs. */
const ownJid = (live: Live, jid: string): string =>
  live.me.lid && (jid.endsWith('@lid') || isGroup(jid)) ? live.me.lid : live.me.jid;

/**
 * The received message as a quote, and the time after which messages of its chat disappear; null when it cannot be
 * quoted.
 */
async function quote(
  quotable: Quotable,
  live: Live,
  jid: string,
): Promise<{ message: WAMessage; expiration: number | null } | null> {
  const { getContentType, normalizeMessageContent, proto } = await import('@whiskeysockets/baileys');
  let content: proto.IMessage | undefined;
  try {
    const received = proto.Message.decode(quotable.content);
    content = normalizeMessageContent(received.deviceSentMessage?.message ?? received);
  } catch {
    return null;
  }
  const kind = content && getContentType(content);
  if (!content || !kind || !QUOTABLE.has(kind)) return null;
  const part = content[kind as keyof proto.IMessage];
  const expiration =
    typeof part === 'object' && part !== null && 'contextInfo' in part
      ? (part.contextInfo as proto.IContextInfo | null)?.expiration
      : null;
  const author = quotable.fromMe ? ownJid(live, jid) : quotable.participant || jid;
  return {
    message: {
      key: { remoteJid: jid, fromMe: quotable.fromMe, id: quotable.messageId, participant: author },
      message: shortened(content),
    } as WAMessage,
    expiration: expiration ?? null,
  };
}

const QUOTABLE: ReadonlySet<string> = new Set([
  'conversation',
  'extendedTextMessage',
  'imageMessage',
  'videoMessage',
  'audioMessage',
  'documentMessage',
  'stickerMessage',
  'contactMessage',
  'locationMessage',
]);

function shortened(content: proto.IMessage): proto.IMessage {
  const text = content.conversation ?? content.extendedTextMessage?.text;
  return text ? { conversation: text.length > QUOTED_LENGTH ? `${prefix(text, QUOTED_LENGTH)}…` : text } : content;
}

/** Attributes of the stanza that follow from the content: an edit is marked as an edit, a poll as a new poll. */
export function relayExtras(message: proto.IMessage): {
  additionalAttributes?: Record<string, string>;
  additionalNodes?: Array<{ tag: string; attrs: Record<string, string> }>;
} {
  if (message.protocolMessage?.editedMessage) return { additionalAttributes: { edit: '1' } };
  if (message.pollCreationMessage ?? message.pollCreationMessageV2 ?? message.pollCreationMessageV3) {
    return { additionalNodes: [{ tag: 'meta', attrs: { polltype: 'creation' } }] };
  }
  return {};
}
