import { proto } from '@whiskeysockets/baileys';
import type { Companion } from './companion.ts';
import { stanzaType } from './content.ts';
import type { Handset } from './handset.ts';
import { corrupted, type Encrypted, pad } from './signal.ts';
import { el, type Stanza, seconds } from './stanza.ts';
import { linked, type World } from './world.ts';

/** From a phone to the linked devices of the account: encrypt for each, queue for each. */

export interface Envelope {
  attrs: Record<string, string | undefined>;
  group?: string;
  /** typed on the own phone: the chat that it went to, inside the encrypted part */
  deviceSentTo?: string;
}

export interface SendFlags {
  /** when it was sent, for messages that are late */
  at?: Date;
  /** the first delivery cannot be decrypted; resends can */
  corrupt?: boolean;
  /** sent unencrypted, which nobody should accept */
  plaintext?: boolean;
  /** sent without content: the client has to ask the own phone for it */
  unavailable?: boolean;
  /** encrypted as they are, in the place of the message */
  rawBytes?: Uint8Array;
  /** from this broadcast list (`status@broadcast`) instead of the direct chat */
  broadcast?: string;
}

export interface SentMessage {
  id: string;
  chat: string;
  addressing: 'lid' | 'pn';
  message: proto.IMessage;
  envelope: Envelope;
  edit: string | undefined;
  flags: SendFlags;
  /** what the client has reported: delivered, inactive, sender, read, played, retry */
  receipts: string[];
}

/** Resolves when the message is in the queue of every linked device, in the order of the calls. */
export function transmit(world: World, from: Handset, sent: SentMessage): Promise<void> {
  return from.signal.inTurn(async () => {
    for (const companion of linked(world)) companion.deliver(stanzaOf(sent, await contentFor(from, companion, sent)));
  });
}

/** The same message once more for one device, in a new session. */
export function retransmit(from: Handset, sent: SentMessage, companion: Companion, count: number): Promise<void> {
  return from.signal.inTurn(async () => {
    const { envelope, message } = sent;
    let again = message;
    if (envelope.group) {
      const axolotlSenderKeyDistributionMessage = await from.signal.senderKeys.distribution(envelope.group);
      again = {
        ...message,
        senderKeyDistributionMessage: { groupId: envelope.group, axolotlSenderKeyDistributionMessage },
      };
    }
    const body = await from.signal.encrypt(companion, encode(again, envelope));
    companion.deliver(stanzaOf(sent, [enc(body, sent, count)]));
  });
}

async function contentFor(from: Handset, companion: Companion, sent: SentMessage): Promise<Stanza[]> {
  const { message, envelope, flags } = sent;
  if (flags.unavailable) return [el('unavailable')];
  const plain = flags.rawBytes ?? encode(message, envelope);
  if (flags.plaintext) return [el('plaintext', {}, plain)];
  const damage = (encrypted: Encrypted) => (flags.corrupt ? corrupted(encrypted) : encrypted);
  if (!envelope.group) return [enc(damage(await from.signal.encrypt(companion, plain)), sent)];
  const out: Stanza[] = [];
  const { senderKeys } = from.signal;
  if (senderKeys.markGiven(envelope.group, companion.address)) {
    const axolotlSenderKeyDistributionMessage = await senderKeys.distribution(envelope.group);
    const given = { senderKeyDistributionMessage: { groupId: envelope.group, axolotlSenderKeyDistributionMessage } };
    const { type, body } = await from.signal.encrypt(companion, proto.Message.encode(given).finish());
    out.push(el('enc', { v: 2, type }, body));
  }
  const body = await senderKeys.encrypt(envelope.group, pad(plain));
  return [...out, enc(damage({ type: 'skmsg', body }), sent)];
}

function encode(message: proto.IMessage, { deviceSentTo }: Envelope): Uint8Array {
  const full = deviceSentTo
    ? { deviceSentMessage: { destinationJid: deviceSentTo, message }, messageContextInfo: message.messageContextInfo }
    : message;
  return proto.Message.encode(full).finish();
}

const enc = ({ type, body }: Encrypted, sent: SentMessage, count?: number): Stanza =>
  el('enc', { v: 2, type, mediatype: stanzaType(sent.message).mediatype, count }, body);

function stanzaOf(sent: SentMessage, content: Stanza[]): Stanza {
  const { type } = stanzaType(sent.message);
  return el(
    'message',
    { id: sent.id, t: seconds(sent.flags.at?.getTime()), type, edit: sent.edit, ...sent.envelope.attrs },
    content,
  );
}
