import { createDecipheriv, hkdfSync } from 'node:crypto';
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
import { sanitiseName } from '../../../intake/sanitise.ts';
import { type Media, mediaOf } from './media-kinds.ts';
import {
  answerTo,
  isShared,
  isViewOnce,
  kindsOf,
  type Opened,
  opened,
  seenOnce,
  textOf,
  type Unread,
} from './message-kinds.ts';

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
  /** announces pictures and videos that follow, each in a message of its own */
  | { kind: 'album'; expects: number }
  /** nothing for the model; where everything is answered, the person is told `say` */
  | { kind: 'unreadable'; say: Unread }
  | {
      kind: 'nothing';
      why: 'stub' | 'protocol' | 'empty' | 'copy' | 'malformed' | 'forged' | 'status' | 'newsletter' | 'broadcast';
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
  /** `author`: JID of its author, as the sender names it */
  quoted: { id: string; text: string; author: string | null } | null;
  mentions: string[];
  /** opens what comes sealed for this message later */
  secret: Uint8Array | null;
  /** how the text of somebody else came into the message; null when its author wrote it */
  ofOthers: OfOthers | null;
  /** id of the message that announced the album to which this picture belongs */
  album: string | null;
  /** after how many seconds messages of this chat disappear (0: never), and since when; null when it does not say */
  timer: { seconds: number; since: Date } | null;
  /** as it came: what it quotes and whom it mentions, and whether it was forwarded */
  context: proto.IContextInfo | null;
  content: Content;
}

export type OfOthers = 'forwarded' | 'forwarded many times' | 'shared' | 'quoted';

/**
 * Decodes a row of the inbox. Never throws: bytes that are no message come back as `malformed`. Baileys is loaded on
 * first use.
 */
export async function decodeRow(row: NewReceived & { receivedAt: Date }, me: Me): Promise<Incoming> {
  const { proto } = await import('@whiskeysockets/baileys');
  const place = placeOf(row, me);
  const base = {
    key: keyOf(row),
    at: sentAt(row),
    name: sanitiseName(row.attrs.notify),
    ...place,
    quoted: null,
    mentions: [],
    secret: null,
    ofOthers: null,
    album: null,
    timer: null,
    context: null,
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
  if (isTooDeep(whole)) return nothing('malformed');
  // only our own devices may report what was sent in our name
  if (whole.deviceSentMessage && !row.fromMe) return nothing('forged');
  const sent = whole.deviceSentMessage?.message ?? whole;
  const open = opened(sent);
  const { message } = open;
  const { protocolMessage: protocol } = message;
  if (protocol) {
    const target = protocol.key?.id;
    const types = proto.Message.ProtocolMessage.Type;
    if (protocol.type === types.EPHEMERAL_SETTING || protocol.type === types.EPHEMERAL_SYNC_RESPONSE)
      return { ...nothing('protocol'), timer: timerOf(protocol.ephemeralExpiration ?? 0, null, base.at) };
    if (protocol.type === types.REVOKE && target) return { ...base, content: { kind: 'revoke', target } };
    if (protocol.type === types.MESSAGE_EDIT && target && protocol.editedMessage) {
      const now = opened(protocol.editedMessage).message;
      return { ...base, content: { kind: 'edit', target, text: textOf(now), message: now } };
    }
    return nothing('protocol');
  }
  // a kind of message that this version of the library does not know leaves nothing but its length
  if (kindsOf(message).length === 0 && proto.Message.encode(whole).finish().length >= row.content.length)
    return nothing('empty');
  const contexts = contextsOf(message);
  // a quote without an id is one of something else, too
  const quote = contexts.find((context) => context.stanzaId || context.quotedMessage);
  const quotedMessage = quote?.quotedMessage && opened(quote.quotedMessage);
  const timed = contexts.find((context) => typeof context.expiration === 'number');
  const secrets = [message, sent, whole].map((part) => part.messageContextInfo?.messageSecret);
  const { MEDIA_ALBUM } = proto.MessageAssociation.AssociationType;
  return {
    ...base,
    quoted: quote
      ? {
          id: quote.stanzaId ?? '',
          text: quotedMessage && !isViewOnce(quotedMessage) ? textOf(quotedMessage.message) : '',
          author: quote.participant ? canonicalUser(quote.participant) : null,
        }
      : null,
    mentions: contexts.flatMap((context) => context.mentionedJid ?? []).map(canonicalUser),
    secret: secrets.find((secret) => secret?.length === SECRET_BYTES) ?? null,
    ofOthers: ofOthersIn(open, contexts),
    album: open.association?.associationType === MEDIA_ALBUM ? (open.association.parentMessageKey?.id ?? null) : null,
    timer: timed ? timerOf(timed.expiration!, timed.ephemeralSettingTimestamp, base.at) : null,
    context: contexts[0] ?? null,
    content: isCopy(open.association, proto) ? { kind: 'nothing', why: 'copy' } : contentOf(open),
  };
}

/** Phones nest some twenty parts. A forged message that can be read may be too deep to be written again. */
const MOST_NESTED = 100;

const isTooDeep = (part: unknown, left = MOST_NESTED): boolean =>
  typeof part === 'object' &&
  part !== null &&
  !ArrayBuffer.isView(part) &&
  (left === 0 || Object.values(part).some((inner) => isTooDeep(inner, left - 1)));

const SECRET_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** What a sealed message may be, by its type, and the words for it in its key. Changes of a poll are not read. */
const SEALED: Readonly<Record<number, string>> = { 1: 'Event Edit', 2: 'Message Edit' };

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
  const { proto } = await import('@whiskeysockets/baileys');
  for (const author of people) {
    for (const editor of people) {
      try {
        const key = hkdfSync('sha256', secret, '', `${target}${author}${editor}${use}`, 32);
        const open = createDecipheriv('aes-256-gcm', Buffer.from(key), encIv, { authTagLength: TAG_BYTES });
        open.setAuthTag(encPayload.subarray(-TAG_BYTES));
        const inner = proto.Message.decode(
          Buffer.concat([open.update(encPayload.subarray(0, -TAG_BYTES)), open.final()]),
        );
        const protocol = opened(inner).message.protocolMessage;
        const isEdit = protocol?.type === proto.Message.ProtocolMessage.Type.MESSAGE_EDIT;
        if (protocol && (!isEdit || (protocol.key?.id ?? target) !== target)) return null;
        const now = protocol ? protocol.editedMessage : inner;
        if (!now) return null;
        const { message } = opened(now);
        return { kind: 'edit', target, text: textOf(message), message };
      } catch {
        // the other form, or it was sealed with something else
      }
    }
  }
  return null;
}

function contentOf(open: Opened): Content {
  const { message } = open;
  const { reactionMessage: reaction, pollUpdateMessage: vote, albumMessage: album } = message;
  const { secretEncryptedMessage: sealed } = message;
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
  if (album) {
    const expects = Math.min((album.expectedImageCount ?? 0) + (album.expectedVideoCount ?? 0), MOST_IN_ALBUM);
    return expects > 0 ? { kind: 'album', expects } : { kind: 'nothing', why: 'empty' };
  }
  if (isViewOnce(open)) return { kind: 'unreadable', say: answerTo(seenOnce())! };
  const media = mediaOf(message);
  if (media) return { kind: 'media', text: textOf(message), media, message };
  const text = textOf(message);
  if (text.trim()) return { kind: 'text', text };
  const say = answerTo(message);
  return say === null ? { kind: 'nothing', why: 'empty' } : { kind: 'unreadable', say };
}

/** More do not fit an album of a phone. */
const MOST_IN_ALBUM = 100;

/** The same picture or video once more, in another quality, or the film around a picture. */
function isCopy(
  association: proto.IMessageAssociation | null,
  { MessageAssociation: { AssociationType: types } }: typeof proto,
): boolean {
  const copies = [
    types.HD_IMAGE_DUAL_UPLOAD,
    types.HD_VIDEO_DUAL_UPLOAD,
    types.HEVC_VIDEO_DUAL_UPLOAD,
    types.MOTION_PHOTO,
  ];
  return copies.some((type) => association?.associationType === type);
}

/** WhatsApp shows "forwarded many times" from here on. */
const MANY_FORWARDS = 5;

function ofOthersIn({ message, wrappers }: Opened, contexts: readonly proto.IContextInfo[]): OfOthers | null {
  const score = Math.max(0, ...contexts.map((context) => context.forwardingScore ?? 0));
  if (score >= MANY_FORWARDS) return 'forwarded many times';
  const forwarded = contexts.some(
    (context) =>
      context.isForwarded ||
      context.forwardOrigin ||
      context.forwardedNewsletterMessageInfo ||
      context.forwardedAiBotMessageInfo ||
      context.businessMessageForwardInfo,
  );
  if (score > 0 || forwarded || wrappers.includes('botForwardedMessage')) return 'forwarded';
  return isShared(message) ? 'shared' : null;
}

/** Longer than any choice that WhatsApp offers. */
const LONGEST_TIMER = 400 * (DAY / 1000);

/** `setAt`: when the person chose it, in seconds, as their phone says; never later than the message. */
function timerOf(seconds: number, setAt: unknown, at: Date): Incoming['timer'] {
  if (!Number.isInteger(seconds) || seconds < 0 || seconds > LONGEST_TIMER) return null;
  const chosen = Number(setAt ?? 0) * 1000;
  return { seconds, since: chosen > 0 && chosen < at.getTime() ? new Date(chosen) : at };
}

/** The contexts of the parts that a message has; nearly always there is one. */
const contextsOf = (message: proto.IMessage): proto.IContextInfo[] =>
  Object.values(message).flatMap((part) =>
    part && typeof part === 'object' && 'contextInfo' in part && part.contextInfo
      ? [part.contextInfo as proto.IContextInfo]
      : [],
  );

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
