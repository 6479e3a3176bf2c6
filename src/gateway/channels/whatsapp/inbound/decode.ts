import type { proto } from '@whiskeysockets/baileys';
import { DAY } from '../../../../domain/time.ts';
import {
  canonicalUser,
  isBroadcast,
  isGroup,
  isNewsletter,
  isStatus,
  samePerson,
} from '../../../../domain/whatsapp/identity.ts';
import type { Forms } from '../../../../store/whatsapp/contacts.ts';
import type { MessageKey, NewReceived } from '../../../../store/whatsapp/inbox.ts';
import { sanitiseName, sanitiseText } from '../../../intake/attachments/sanitise.ts';
import { type Media, mediaOf, shownAsText } from './media-kinds.ts';

/** The linked account's own addresses, without device; null before the first pairing. */
export interface Me {
  jid: string | null;
  lid: string | null;
}

export type Content =
  | { kind: 'text'; text: string }
  /** `text` is the caption, '' without one */
  | { kind: 'media'; text: string; media: Media; message: proto.IMessage }
  /** `emoji` is empty when a reaction was removed */
  | { kind: 'reaction'; target: string; emoji: string }
  | { kind: 'vote'; poll: string; encPayload: Uint8Array; encIv: Uint8Array }
  /** `content`: the bytes of the edited message */
  | { kind: 'edit'; target: string; text: string; content: Buffer }
  | { kind: 'revoke'; target: string }
  | {
      kind: 'nothing';
      why: 'stub' | 'protocol' | 'empty' | 'malformed' | 'forged' | 'status' | 'newsletter' | 'broadcast';
    };

/** A stored message, decoded. */
export interface Incoming {
  key: MessageKey;
  /** when the server took it */
  at: Date;
  /** push name of the author, cleaned */
  name: string | null;
  chat: { kind: 'self' | 'direct' | 'group'; jid: string; forms: Forms };
  author: Forms;
  quoted: { id: string; text: string } | null;
  mentions: string[];
  content: Content;
}

/**
 * Decodes a row of the inbox. Never throws: bytes that are no message come back as `malformed`. Baileys is loaded on
 * first use.
 */
export async function decodeRow(row: NewReceived & { receivedAt: Date }, me: Me): Promise<Incoming> {
  const { proto, normalizeMessageContent } = await import('@whiskeysockets/baileys');
  const place = placeOf(row, me);
  const base = {
    key: keyOf(row),
    at: sentAt(row),
    name: sanitiseName(row.attrs.notify),
    ...place,
    quoted: null,
    mentions: [],
  };
  const nothing = (why: Extract<Content, { kind: 'nothing' }>['why']): Incoming => ({
    ...base,
    content: { kind: 'nothing', why },
  });

  if (isStatus(row.chat)) return nothing('status');
  if (isNewsletter(row.chat)) return nothing('newsletter');
  if (isBroadcast(row.chat)) return nothing('broadcast');
  if (!row.content) return nothing('stub');
  if (row.attrs.category === 'peer') return nothing('protocol');
  let whole: proto.IMessage;
  try {
    whole = proto.Message.decode(row.content);
  } catch {
    return nothing('malformed');
  }
  // only our own devices may report what was sent in our name
  if (whole.deviceSentMessage && !row.fromMe) return nothing('forged');
  const sent = whole.deviceSentMessage?.message ?? whole;
  const edited = sent.editedMessage?.message;
  const protocol = (edited ?? normalizeMessageContent(sent))?.protocolMessage;
  if (protocol) {
    const target = protocol.key?.id;
    if (protocol.type === proto.Message.ProtocolMessage.Type.REVOKE && target)
      return { ...base, content: { kind: 'revoke', target } };
    if (protocol.type === proto.Message.ProtocolMessage.Type.MESSAGE_EDIT && target && protocol.editedMessage) {
      const now = normalizeMessageContent(protocol.editedMessage) ?? {};
      return {
        ...base,
        content: { kind: 'edit', target, text: textOf(now), content: Buffer.from(proto.Message.encode(now).finish()) },
      };
    }
    return nothing('protocol');
  }
  const message = normalizeMessageContent(sent) ?? {};
  const context = contextOf(message);
  const quotedMessage = normalizeMessageContent(context?.quotedMessage ?? undefined);
  return {
    ...base,
    quoted: context?.stanzaId ? { id: context.stanzaId, text: quotedMessage ? textOf(quotedMessage) : '' } : null,
    mentions: (context?.mentionedJid ?? []).map(canonicalUser),
    content: contentOf(message),
  };
}

function contentOf(message: proto.IMessage): Content {
  const { reactionMessage: reaction, pollUpdateMessage: vote } = message;
  if (reaction)
    return reaction.key?.id
      ? { kind: 'reaction', target: reaction.key.id, emoji: reaction.text ?? '' }
      : { kind: 'nothing', why: 'empty' };
  if (vote) {
    const poll = vote.pollCreationMessageKey?.id;
    const { encPayload, encIv } = vote.vote ?? {};
    return poll && encPayload && encIv ? { kind: 'vote', poll, encPayload, encIv } : { kind: 'nothing', why: 'empty' };
  }
  const media = mediaOf(message);
  if (media) return { kind: 'media', text: textOf(message), media, message };
  const text = textOf(message);
  return text.trim() ? { kind: 'text', text } : { kind: 'nothing', why: 'empty' };
}

/**
 * What a person reads of a message: its text, its caption, or a line that describes it; empty when there is nothing to
 * read.
 */
function textOf(message: proto.IMessage): string {
  const said =
    message.conversation ??
    message.extendedTextMessage?.text ??
    message.imageMessage?.caption ??
    message.videoMessage?.caption ??
    message.documentMessage?.caption ??
    shownAsText(message);
  return sanitiseText(said ?? '');
}

/** The context of whichever part a message has. */
function contextOf(message: proto.IMessage): proto.IContextInfo | undefined {
  for (const part of Object.values(message)) {
    if (part && typeof part === 'object' && 'contextInfo' in part && part.contextInfo)
      return part.contextInfo as proto.IContextInfo;
  }
  return undefined;
}

const keyOf = ({ account, chat, participant, fromMe, messageId }: MessageKey): MessageKey => ({
  account,
  chat,
  participant,
  fromMe,
  messageId,
});

/** A stanza without a usable time counts from the moment it was stored. */
function sentAt(row: NewReceived & { receivedAt: Date }): Date {
  const seconds = Number(row.attrs.t);
  return Number.isFinite(seconds) && seconds > 0 && seconds * 1000 < row.receivedAt.getTime() + DAY
    ? new Date(seconds * 1000)
    : row.receivedAt;
}

function placeOf(row: NewReceived, me: Me): Pick<Incoming, 'chat' | 'author'> {
  const { attrs } = row;
  const own: Forms = { lid: me.lid && canonicalUser(me.lid), pn: me.jid && canonicalUser(me.jid) };
  if (isGroup(row.chat)) {
    const author = row.fromMe
      ? own
      : formsOf(row.participant, attrs.participant_pn ?? attrs.sender_pn, attrs.participant_lid ?? attrs.sender_lid);
    return { chat: { kind: 'group', jid: row.chat, forms: { lid: null, pn: null } }, author };
  }
  const partner = row.fromMe
    ? formsOf(row.chat, attrs.peer_recipient_pn ?? attrs.recipient_pn, attrs.peer_recipient_lid ?? attrs.recipient_lid)
    : formsOf(row.chat, attrs.sender_pn, attrs.sender_lid);
  const self = row.fromMe && samePerson(partner, own);
  return {
    chat: { kind: self ? 'self' : 'direct', jid: canonicalUser(row.chat), forms: self ? own : partner },
    author: row.fromMe ? own : partner,
  };
}

/** Both forms of an address, as far as the stanza has them. */
function formsOf(jid: string, pn: string | undefined, lid: string | undefined): Forms {
  const user = canonicalUser(jid);
  const isLid = user.endsWith('@lid');
  return { lid: isLid ? user : lid ? canonicalUser(lid) : null, pn: isLid ? (pn ? canonicalUser(pn) : null) : user };
}

/**
 * WhatsApp gives whole seconds. The end of the second is used, because an answer in the same second came after its
 * question.
 */
export const writtenAt = ({ at }: Incoming): Date => new Date(at.getTime() + 999);

/** The id of a message within its chat: unique also in a group, and over both directions. */
export const idOf = ({ key }: Incoming): string => `${key.fromMe ? 'me' : key.participant || 'them'}/${key.messageId}`;
