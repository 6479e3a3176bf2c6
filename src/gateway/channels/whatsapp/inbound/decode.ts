import { createDecipheriv, hkdfSync } from 'node:crypto';
import type { normalizeMessageContent, proto } from '@whiskeysockets/baileys';
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
  | { kind: 'edit'; target: string; text: string; message: proto.IMessage }
  /** only the secret of the edited message opens it; `use` is a part of the key */
  | { kind: 'sealed_edit'; target: string; use: string; encPayload: Uint8Array; encIv: Uint8Array }
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
  /** opens what comes sealed for this message later */
  secret: Uint8Array | null;
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
    secret: null,
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
  const protocol = protocolOf(sent, normalizeMessageContent);
  if (protocol) {
    const target = protocol.key?.id;
    if (protocol.type === proto.Message.ProtocolMessage.Type.REVOKE && target)
      return { ...base, content: { kind: 'revoke', target } };
    if (protocol.type === proto.Message.ProtocolMessage.Type.MESSAGE_EDIT && target && protocol.editedMessage) {
      const now = normalizeMessageContent(protocol.editedMessage) ?? {};
      return { ...base, content: { kind: 'edit', target, text: textOf(now), message: now } };
    }
    return nothing('protocol');
  }
  const message = normalizeMessageContent(sent) ?? {};
  const secrets = [message, sent, whole].map((part) => part.messageContextInfo?.messageSecret);
  const context = contextOf(message);
  const quotedMessage = normalizeMessageContent(context?.quotedMessage ?? undefined);
  return {
    ...base,
    quoted: context?.stanzaId ? { id: context.stanzaId, text: quotedMessage ? textOf(quotedMessage) : '' } : null,
    mentions: (context?.mentionedJid ?? []).map(canonicalUser),
    secret: secrets.find((secret) => secret?.length === SECRET_BYTES) ?? null,
    content: contentOf(message),
  };
}

const SECRET_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** What a sealed message may be, by its type, and the words for it in its key. Changes of a poll are not read. */
const SEALED: Readonly<Record<number, string>> = { 1: 'Event Edit', 2: 'Message Edit' };

const protocolOf = (
  message: proto.IMessage,
  normalize: typeof normalizeMessageContent,
): proto.Message.IProtocolMessage | null | undefined =>
  (message.editedMessage?.message ?? normalize(message))?.protocolMessage;

/**
 * Opens a sealed edit with the secret of its message. `people`: every address that its author may have in the key; the
 * phone used one form for the message and one for the edit, without saying which. Null when it does not open, or is no
 * edit of that message.
 */
export async function openedEdit(
  { target, use, encPayload, encIv }: Extract<Content, { kind: 'sealed_edit' }>,
  secret: Uint8Array,
  people: readonly string[],
): Promise<Extract<Content, { kind: 'edit' }> | null> {
  const { proto, normalizeMessageContent } = await import('@whiskeysockets/baileys');
  for (const author of people) {
    for (const editor of people) {
      try {
        const key = hkdfSync('sha256', secret, '', `${target}${author}${editor}${use}`, 32);
        const open = createDecipheriv('aes-256-gcm', Buffer.from(key), encIv, { authTagLength: TAG_BYTES });
        open.setAuthTag(encPayload.subarray(-TAG_BYTES));
        const inner = proto.Message.decode(
          Buffer.concat([open.update(encPayload.subarray(0, -TAG_BYTES)), open.final()]),
        );
        const protocol = protocolOf(inner, normalizeMessageContent);
        const isEdit = protocol?.type === proto.Message.ProtocolMessage.Type.MESSAGE_EDIT;
        if (protocol && (!isEdit || (protocol.key?.id ?? target) !== target)) return null;
        const message = normalizeMessageContent(protocol ? (protocol.editedMessage ?? undefined) : inner);
        return message ? { kind: 'edit', target, text: textOf(message), message } : null;
      } catch {
        // the other form, or it was sealed with something else
      }
    }
  }
  return null;
}

function contentOf(message: proto.IMessage): Content {
  const { reactionMessage: reaction, pollUpdateMessage: vote, secretEncryptedMessage: sealed } = message;
  if (sealed) {
    const { encPayload, encIv, secretEncType, targetMessageKey } = sealed;
    const use = SEALED[secretEncType ?? 0];
    const target = targetMessageKey?.id;
    return use && target && encPayload && encPayload.length > TAG_BYTES && encIv?.length === IV_BYTES
      ? { kind: 'sealed_edit', target, use, encPayload, encIv }
      : { kind: 'nothing', why: 'empty' };
  }
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
