import type { BinaryNode, proto } from '@whiskeysockets/baileys';
import { LRUCache } from 'lru-cache';
import type { MessageKey, NewReceived } from '../../../store/whatsapp/inbox.ts';
import type { Baileys } from '../link/library/baileys.ts';

type Attrs = Record<string, string>;
type SenderKey = { item: proto.Message.ISenderKeyDistributionMessage; authorJid: string };

/** Turns stanzas and decrypted messages into rows. */
export interface StanzaReader {
  /** inbox rows of a decrypted message (none for what only Baileys needs), and a group key that came with it */
  read(attrs: Attrs, plaintext: Uint8Array): { rows: NewReceived[]; senderKey: SenderKey | null };
  /** the stub of a message that could not be decrypted; none when it was decrypted before */
  stubs(attrs: Attrs, error: Error): NewReceived[];
  /** the stub of a message without content; the own phone is asked for it */
  withoutContent(node: BinaryNode): NewReceived[];
  /** the key of the row that a stanza would become; null when it names no chat */
  keyOf(attrs: Attrs): MessageKey | null;
  /** stored content as decryption would return it, without the group key that was learned with it, because learning it again would set its chain back */
  asDecrypted(content: Uint8Array): Uint8Array;
  /** false for what Baileys drops undecrypted */
  concerns(attrs: Attrs): boolean;
}

/** Parts of a message that hold nothing for a person. */
const CARRIERS = new Set(['senderKeyDistributionMessage', 'messageContextInfo']);
/** Kinds of messages whose content never follows: bots, hosted numbers, pictures to be viewed once. */
const NEVER_FOLLOWS = new Set(['bot_unavailable_fanout', 'hosted_unavailable_fanout', 'view_once_unavailable_fanout']);

export const isIgnored = (jid: string): boolean => jid === 'status@broadcast' || jid.endsWith('@newsletter');

/**
 * Reads stanzas and their plaintexts into inbox rows, keyed by account, chat, author, direction and id, without device suffixes. Content is the protobuf of the
 * decrypted message, without padding. Messages that were typed on the own phone are still wrapped in their `deviceSentMessage`.
 */
export function createStanzaReader(options: { baileys: Baileys; account: string; me(): { id: string; lid: string } }): StanzaReader {
  const { baileys, account, me } = options;
  const { proto, jidNormalizedUser } = baileys;
  // the phone's answer names a message differently from the row that waits for it
  const asked = new LRUCache<string, { row: NewReceived }>({ max: 1_000 });

  const opened = (attrs: Attrs): { row: NewReceived; author: string } => {
    const { id, lid } = me();
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
  };

  const resent = (message: proto.IMessage): NewReceived[] => {
    const results = message.protocolMessage?.peerDataOperationRequestResponseMessage?.peerDataOperationResult ?? [];
    return results.flatMap((result) => {
      const bytes = result.placeholderMessageResendResponse?.webMessageInfoBytes;
      if (!bytes) return [];
      const info = proto.WebMessageInfo.decode(bytes);
      if (!info.message || !info.key?.id || !info.key.remoteJid) return [];
      const content = Buffer.from(proto.Message.encode(info.message).finish());
      const known = asked.get(info.key.id)?.row;
      if (known) return [{ ...known, content }];
      const participant = info.key.participant ? jidNormalizedUser(info.key.participant) : '';
      const attrs: Attrs = {
        id: info.key.id,
        from: info.key.remoteJid,
        t: String(info.messageTimestamp ?? ''),
        ...(participant && { participant }),
        ...(info.pushName && { notify: info.pushName }),
      };
      return [{ account, chat: jidNormalizedUser(info.key.remoteJid), participant, fromMe: info.key.fromMe === true, messageId: info.key.id, content, attrs }];
    });
  };

  return {
    read(attrs, plaintext) {
      let bytes: Uint8Array;
      let message: proto.IMessage;
      try {
        bytes = baileys.unpadRandomMax16(plaintext);
        message = proto.Message.decode(bytes);
      } catch {
        // not a message; the ratchet has moved anyway, and Baileys asks for it again
        return { rows: [], senderKey: null };
      }
      const { row, author } = opened(attrs);
      const inner = message.deviceSentMessage?.message ?? message;
      const key = inner.senderKeyDistributionMessage;
      const senderKey = key?.groupId && key.axolotlSenderKeyDistributionMessage ? { item: key, authorJid: author } : null;
      // messages of our own phone to this device: Baileys reads them, but a message that was asked for again is one for us
      if (attrs.category === 'peer') return { rows: row.fromMe ? resent(inner) : [], senderKey };
      const says = Object.entries(inner).some(([name, value]) => !CARRIERS.has(name) && value !== null && value !== undefined);
      return { rows: says ? [{ ...row, content: Buffer.from(bytes) }] : [], senderKey };
    },
    stubs(attrs, error) {
      const decryptedBefore = error.message === baileys.MISSING_KEYS_ERROR_TEXT || error.message.startsWith('Received message with old counter');
      if (decryptedBefore || attrs.category === 'peer') return [];
      try {
        return [opened(attrs).row];
      } catch {
        return [];
      }
    },
    withoutContent(node) {
      const children = Array.isArray(node.content) ? node.content : [];
      const unavailable = children.find((child) => child.tag === 'unavailable');
      const attrs = node.attrs as Attrs;
      const readable = children.some((child) => child.tag === 'enc' || child.tag === 'plaintext');
      if (readable || attrs.category === 'peer' || NEVER_FOLLOWS.has(unavailable?.attrs.type ?? '')) return [];
      try {
        const { row } = opened(attrs);
        if (isIgnored(row.chat)) return [];
        asked.set(row.messageId, { row });
        return [row];
      } catch {
        return [];
      }
    },
    keyOf(attrs) {
      try {
        return opened(attrs).row;
      } catch {
        return null;
      }
    },
    asDecrypted(content) {
      const message = proto.Message.decode(content);
      for (const each of [message, message.deviceSentMessage?.message]) if (each) each.senderKeyDistributionMessage = null;
      // one byte of padding, whose value is its length
      return Buffer.concat([proto.Message.encode(message).finish(), Buffer.of(1)]);
    },
    concerns: (attrs) => !isIgnored(attrs.from ?? ''),
  };
}
