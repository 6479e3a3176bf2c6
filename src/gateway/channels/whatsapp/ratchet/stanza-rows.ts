import type { BinaryNode, proto } from '@whiskeysockets/baileys';
import { LRUCache } from 'lru-cache';
import type { MessageKey, NewReceived } from '../../../../store/whatsapp/inbox.ts';
import { isViewOnce, kindsOf, opened, seenOnce } from '../inbound/message-kinds.ts';
import type { Baileys } from '../library/baileys.ts';

type Attrs = Record<string, string>;
type SenderKey = { item: proto.Message.ISenderKeyDistributionMessage; authorJid: string };

/** Kinds of messages whose content never follows: of bots, and of hosted numbers. */
const NEVER_FOLLOWS = new Set(['bot_unavailable_fanout', 'hosted_unavailable_fanout']);
/** A picture to be seen once, which WhatsApp shows on the phone only. */
const SEEN_ONCE = 'view_once_unavailable_fanout';

export const isIgnored = (jid: string): boolean => jid === 'status@broadcast' || jid.endsWith('@newsletter');

interface StanzaReaderOptions {
  baileys: Baileys;
  account: string;
  /** own identity as Baileys knows it */
  me(): { id: string; lid: string };
}

/**
 * Reads stanzas and their plaintexts into inbox rows, keyed by account, chat, author, direction and id, without device
 * suffixes. Content is the protobuf of the decrypted message, without padding. Messages that were typed on the own
 * phone are still wrapped in their `deviceSentMessage`.
 */
export class StanzaReader {
  private readonly options: StanzaReaderOptions;
  private readonly baileys: Baileys;
  /** the phone's answer names a message differently from the row that waits for it */
  private readonly asked = new LRUCache<string, { row: NewReceived }>({ max: 1_000 });

  constructor(options: StanzaReaderOptions) {
    this.options = options;
    this.baileys = options.baileys;
  }

  /** Inbox rows of a decrypted message (none for what only Baileys needs), and a group key that came with it. */
  read(attrs: Attrs, plaintext: Uint8Array): { rows: NewReceived[]; senderKey: SenderKey | null } {
    const { baileys } = this;
    let bytes: Uint8Array;
    let message: proto.IMessage;
    try {
      bytes = baileys.unpadRandomMax16(plaintext);
      message = baileys.proto.Message.decode(bytes);
    } catch {
      // not a message; the ratchet has moved anyway, and Baileys asks for it again
      return { rows: [], senderKey: null };
    }
    const { row, author } = this.opened(attrs);
    const inner = message.deviceSentMessage?.message ?? message;
    const key = inner.senderKeyDistributionMessage;
    const senderKey = key?.groupId && key.axolotlSenderKeyDistributionMessage ? { item: key, authorJid: author } : null;
    // messages of our own phone to this device: Baileys reads them, but a message that was asked for again is one for
    // us
    if (attrs.category === 'peer') return { rows: row.fromMe ? this.resent(inner) : [], senderKey };
    const content = this.keptOf(message, inner, bytes);
    return { rows: content ? [{ ...row, content }] : [], senderKey };
  }

  /** What is stored of a message: nothing of what only Baileys needs, and no file that may be seen once. */
  private keptOf(message: proto.IMessage, inner: proto.IMessage, bytes: Uint8Array): Buffer | null {
    const { encode } = this.baileys.proto.Message;
    if (isViewOnce(opened(inner))) {
      const { deviceSentMessage } = message;
      const kept = deviceSentMessage
        ? { deviceSentMessage: { ...deviceSentMessage, message: seenOnce() } }
        : seenOnce();
      return Buffer.from(encode(kept).finish());
    }
    // a kind of message that this version of the library does not know is lost when it is decoded
    const unknown = !inner.senderKeyDistributionMessage && encode(message).finish().length < bytes.length;
    return kindsOf(inner).length > 0 || unknown ? Buffer.from(bytes) : null;
  }

  /** The stub of a message that could not be decrypted; none when it was decrypted before. */
  stubs(attrs: Attrs, error: Error): NewReceived[] {
    const { MISSING_KEYS_ERROR_TEXT } = this.baileys;
    const decryptedBefore =
      error.message === MISSING_KEYS_ERROR_TEXT || error.message.startsWith('Received message with old counter');
    if (decryptedBefore || attrs.category === 'peer') return [];
    try {
      return [this.opened(attrs).row];
    } catch {
      return [];
    }
  }

  /** The stub of a message without content; the own phone is asked for it. */
  withoutContent(node: BinaryNode): NewReceived[] {
    const children = Array.isArray(node.content) ? node.content : [];
    const unavailable = children.find((child) => child.tag === 'unavailable');
    const attrs = node.attrs as Attrs;
    const readable = children.some((child) => child.tag === 'enc' || child.tag === 'plaintext');
    const once = unavailable?.attrs.type === SEEN_ONCE;
    if (readable || attrs.category === 'peer' || NEVER_FOLLOWS.has(unavailable?.attrs.type ?? '')) return [];
    try {
      const { row } = this.opened(attrs);
      if (isIgnored(row.chat)) return [];
      if (once) return [{ ...row, content: Buffer.from(this.baileys.proto.Message.encode(seenOnce()).finish()) }];
      this.asked.set(row.messageId, { row });
      return [row];
    } catch {
      return [];
    }
  }

  /** The key of the row that a stanza would become; null when it names no chat. */
  keyOf(attrs: Attrs): MessageKey | null {
    try {
      return this.opened(attrs).row;
    } catch {
      return null;
    }
  }

  /**
   * Stored content as decryption would return it, without the group key that was learned with it, because learning it
   * again would set its chain back.
   */
  asDecrypted(content: Uint8Array): Uint8Array {
    const { proto } = this.baileys;
    const message = proto.Message.decode(content);
    for (const each of [message, message.deviceSentMessage?.message])
      if (each) each.senderKeyDistributionMessage = null;
    // one byte of padding, whose value is its length
    return Buffer.concat([proto.Message.encode(message).finish(), Buffer.of(1)]);
  }

  /** False for what Baileys drops undecrypted. */
  concerns(attrs: Attrs): boolean {
    return !isIgnored(attrs.from ?? '');
  }

  private opened(attrs: Attrs): { row: NewReceived; author: string } {
    const { baileys, account } = this.options;
    const { jidNormalizedUser } = baileys;
    const { id, lid } = this.options.me();
    const { fullMessage, author } = baileys.decodeMessageNode({ tag: 'message', attrs }, id, lid);
    const { remoteJid, participant, fromMe, id: messageId } = fullMessage.key;
    const row: NewReceived = {
      account,
      chat: jidNormalizedUser(remoteJid ?? ''),
      participant: participant ? jidNormalizedUser(participant) : '',
      fromMe: fromMe === true,
      messageId: messageId ?? '',
      content: null,
      attrs,
    };
    return { row, author };
  }

  /** What the own phone was asked to send again. */
  private resent(message: proto.IMessage): NewReceived[] {
    const results = message.protocolMessage?.peerDataOperationRequestResponseMessage?.peerDataOperationResult ?? [];
    return results.flatMap(({ placeholderMessageResendResponse }) => {
      const bytes = placeholderMessageResendResponse?.webMessageInfoBytes;
      return bytes ? this.resentRow(this.baileys.proto.WebMessageInfo.decode(bytes)) : [];
    });
  }

  private resentRow({ message, key, messageTimestamp, pushName }: proto.IWebMessageInfo): NewReceived[] {
    const { proto, jidNormalizedUser } = this.baileys;
    if (!message || !key?.id || !key.remoteJid) return [];
    const content = this.keptOf(message, message, proto.Message.encode(message).finish());
    if (!content) return [];
    const known = this.asked.get(key.id)?.row;
    if (known) return [{ ...known, content }];
    const participant = key.participant ? jidNormalizedUser(key.participant) : '';
    const attrs: Attrs = {
      id: key.id,
      from: key.remoteJid,
      t: String(messageTimestamp ?? ''),
      ...(participant && { participant }),
      ...(pushName && { notify: pushName }),
    };
    const { account } = this.options;
    return [
      {
        account,
        chat: jidNormalizedUser(key.remoteJid),
        participant,
        fromMe: key.fromMe === true,
        messageId: key.id,
        content,
        attrs,
      },
    ];
  }
}
