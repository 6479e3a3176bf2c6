import { createCipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { proto } from '@whiskeysockets/baileys';
import { buildMessage, type Content, withContext } from './content.ts';
import { type Reading, readMessage } from './reading.ts';
import { type Envelope, type SendFlags, type SentMessage, transmit } from './sending.ts';
import { SignalParty } from './signal.ts';
import { isGroup, user } from './stanza.ts';
import type { World } from './world.ts';

/** A message as a phone has it, by its id. What the wire repeats is counted and shown once. */
export interface ReceivedMessage extends Reading {
  id: string;
  /** the chat: the other person's LID, or the group */
  chat: string;
  /** the author, in the form of the stanza */
  from: string;
  addressing: 'lid' | 'pn';
  /** milliseconds */
  at: number;
  /** how often it was on the wire, resends included */
  times: number;
  /** written by the client under test, typed on the account's own phone, or by another person */
  by: 'client' | 'phone' | 'person';
  message: proto.IMessage;
  /** as it is on the screen now */
  shown: { text: string; revoked: boolean; edits: string[]; reactions: string[] };
}

export interface Arrival {
  id: string;
  chat: string;
  from: string;
  addressing: 'lid' | 'pn';
  by: 'client' | 'phone' | 'person';
  message: proto.IMessage;
}

export interface SendOptions extends SendFlags {
  id?: string;
  /** a message that this phone has sent or received */
  quoted?: Target;
  addressing?: 'lid' | 'pn';
}

/** Each message that may be edited has a secret of its own. */
const withSecret = (message: proto.IMessage): proto.IMessage =>
  message.messageContextInfo?.messageSecret || message.protocolMessage || message.secretEncryptedMessage
    ? message
    : { ...message, messageContextInfo: { ...message.messageContextInfo, messageSecret: randomBytes(32) } };

export type Target = string | { id: string };
const idOf = (target: Target): string => (typeof target === 'string' ? target : target.id);

/** A phone in somebody's hand: Signal keys, what it has sent, what it shows. */
export abstract class Handset {
  readonly name: string;
  readonly pn: string;
  readonly lid: string;
  signal: SignalParty;
  readonly received: ReceivedMessage[] = [];
  readonly sent = new Map<string, SentMessage>();
  readonly unread = new Set<ReceivedMessage>();
  /** how often this phone has asked for a message again */
  readonly asked = new Map<string, number>();
  protected readonly world: World;
  readonly #byId = new Map<string, ReceivedMessage>();

  constructor(world: World, name: string, pn: string, lid: string) {
    this.world = world;
    this.name = name;
    this.pn = pn;
    this.lid = lid;
    this.signal = new SignalParty(user(lid));
  }

  /** Where a message to this chat comes from, as the server writes it. */
  protected abstract envelope(chat: string, addressing: 'lid' | 'pn'): Envelope;
  /** the other handsets of the chat see it too */
  protected abstract echo(arrival: Arrival): void;

  /** A message by its id; undefined before it arrived. */
  message(id: string): ReceivedMessage | undefined {
    return this.#byId.get(id);
  }
  /** The texts on the screen, in order, edits applied and revoked ones left out. */
  screen(chat?: string): string[] {
    const visible = this.received.filter((message) =>
      ['text', 'image', 'video', 'audio', 'document', 'poll'].includes(message.kind),
    );
    return visible
      .filter((message) => !message.shown.revoked && (!chat || message.chat === chat))
      .map((message) => message.shown.text);
  }

  accept(arrival: Arrival): ReceivedMessage | null {
    const known = this.#byId.get(arrival.id);
    if (known) {
      known.times++;
      return known;
    }
    const reading = readMessage(arrival.message, this.world.media);
    if (reading.kind === 'other' && arrival.message.senderKeyDistributionMessage) return null;
    const shown = { text: reading.text, revoked: false, edits: [], reactions: [] };
    const received: ReceivedMessage = { ...reading, ...arrival, at: Date.now(), times: 1, shown };
    this.received.push(received);
    this.#byId.set(received.id, received);
    if (!this.#isMine(received)) this.unread.add(received);
    this.#apply(received);
    this.world.hooks.emit('shown', received, this);
    return received;
  }

  #apply(change: ReceivedMessage): void {
    const target = change.target === null ? undefined : this.#byId.get(change.target);
    if (!target) return;
    if (change.kind === 'revoke') target.shown.revoked = true;
    if (change.kind === 'reaction')
      target.shown.reactions = change.text ? [...target.shown.reactions, change.text] : [];
    if (change.kind !== 'edit') return;
    target.shown.text = change.text;
    target.shown.edits.push(change.text);
  }

  protected async post(
    chat: string,
    content: Content,
    options: SendOptions = {},
    edit?: string,
    /** what the other handsets make of it, when it is sealed */
    opened?: proto.IMessage,
  ): Promise<{ id: string }> {
    const { id = `3A${randomBytes(9).toString('hex').toUpperCase()}`, quoted, addressing = 'lid', ...flags } = options;
    const built = buildMessage(content, id, this.world.media);
    const message = withSecret(quoted ? withContext(built, this.#quote(idOf(quoted))) : built);
    const sent: SentMessage = {
      id,
      chat,
      addressing,
      message,
      envelope: this.envelope(chat, addressing),
      edit,
      flags,
      receipts: [],
    };
    this.sent.set(id, sent);
    await transmit(this.world, this, sent);
    const by = this.#isOwn ? 'phone' : 'person';
    this.echo({ id, chat, from: addressing === 'pn' ? this.pn : this.lid, addressing, by, message: opened ?? message });
    return { id };
  }

  /** Empty takes the reaction back. */
  react(target: Target, emoji: string): Promise<{ id: string }> {
    const { chat, addressing, key } = this.#locate(idOf(target));
    return this.post(
      chat,
      { proto: { reactionMessage: { key, text: emoji, senderTimestampMs: Date.now() } } },
      { addressing },
    );
  }
  /** As phones send it since May 2026; `before` is the form until then. */
  edit(target: Target, text: string, form: 'sealed' | 'before' = 'sealed'): Promise<{ id: string }> {
    const { chat, addressing, key, author, message } = this.#locate(idOf(target));
    const protocolMessage = {
      key,
      type: proto.Message.ProtocolMessage.Type.MESSAGE_EDIT,
      editedMessage: { conversation: text },
      timestampMs: Date.now(),
    };
    const secret = message.messageContextInfo?.messageSecret;
    if (form === 'before' || !secret) return this.post(chat, { proto: { protocolMessage } }, { addressing }, '1');
    const seal = { id: key.id!, author, editor: addressing === 'pn' ? this.pn : this.lid };
    const secretEncryptedMessage = {
      targetMessageKey: key,
      secretEncType: proto.Message.SecretEncryptedMessage.SecretEncType.MESSAGE_EDIT,
      ...sealEdit(secret, seal, { protocolMessage }),
    };
    return this.post(chat, { proto: { secretEncryptedMessage } }, { addressing }, '1', { protocolMessage });
  }
  revoke(target: Target): Promise<{ id: string }> {
    const { chat, addressing, key } = this.#locate(idOf(target));
    return this.post(
      chat,
      { proto: { protocolMessage: { key, type: proto.Message.ProtocolMessage.Type.REVOKE } } },
      { addressing },
      '7',
    );
  }
  /** Votes for options by their text. Throws when the message is no poll or has no such option. */
  vote(target: Target, options: string[]): Promise<{ id: string }> {
    const { chat, addressing, key, author, message } = this.#locate(idOf(target));
    const poll = readMessage(message, this.world.media).poll;
    const secret = message.messageContextInfo?.messageSecret;
    if (!poll || !secret) throw new Error(`${idOf(target)} is no poll with a secret`);
    for (const option of options)
      if (!poll.options.includes(option)) throw new Error(`the poll has no option ${option}`);
    const voter = addressing === 'pn' ? this.pn : this.lid;
    const vote = sealVote(secret, { pollId: idOf(target), creator: author, voter }, options);
    const pollUpdateMessage = { pollCreationMessageKey: key, vote, senderTimestampMs: Date.now() };
    return this.post(chat, { proto: { pollUpdateMessage } }, { addressing });
  }

  get #isOwn(): boolean {
    return (this as Handset) === this.world.phone;
  }
  /** The client writes in the name of the own phone's owner. */
  #isMine({ by }: ReceivedMessage): boolean {
    return this.#isOwn && by !== 'person';
  }

  #quote(id: string): proto.IContextInfo {
    const { author, message } = this.#locate(id);
    return { stanzaId: id, participant: author, quotedMessage: message };
  }

  /** A message that this phone has sent or received, and its key as this phone writes it. */
  #locate(id: string): {
    chat: string;
    addressing: 'lid' | 'pn';
    author: string;
    key: proto.IMessageKey;
    message: proto.IMessage;
  } {
    const found = this.sent.get(id) ?? this.#byId.get(id);
    if (!found) throw new Error(`${this.name} has no message ${id}`);
    const { chat, addressing, message } = found;
    const own = addressing === 'pn' ? this.pn : this.lid;
    const mine = this.sent.has(id) || this.#isMine(found as ReceivedMessage);
    const author = mine ? own : (found as ReceivedMessage).from;
    const remoteJid = addressing === 'pn' && !isGroup(chat) && !mine ? author : chat;
    return {
      chat,
      addressing,
      author,
      message,
      key: { remoteJid, fromMe: mine, id, ...(isGroup(chat) && { participant: author }) },
    };
  }
}

/** A message that only the secret of the message it is about opens. */
export function sealEdit(
  secret: Uint8Array,
  { id, author, editor }: { id: string; author: string; editor: string },
  message: proto.IMessage,
  use = 'Message Edit',
): { encPayload: Uint8Array; encIv: Uint8Array } {
  const encIv = randomBytes(12);
  const key = hkdfSync('sha256', secret, Buffer.alloc(32), `${id}${author}${editor}${use}`, 32);
  const gcm = createCipheriv('aes-256-gcm', Buffer.from(key), encIv);
  const sealed = [gcm.update(proto.Message.encode(message).finish()), gcm.final()];
  return { encIv, encPayload: Buffer.concat([...sealed, gcm.getAuthTag()]) };
}

/** A poll vote, readable only with the secret of the poll. */
function sealVote(
  secret: Uint8Array,
  about: { pollId: string; creator: string; voter: string },
  options: string[],
): proto.Message.IPollEncValue {
  const hmac = (key: Uint8Array, ...parts: (string | Uint8Array)[]) =>
    parts.reduce((mac, part) => mac.update(part), createHmac('sha256', key)).digest();
  const extracted = hmac(Buffer.alloc(32), secret);
  const key = hmac(extracted, about.pollId, about.creator, about.voter, 'Poll Vote', Buffer.from([1]));
  const encIv = randomBytes(12);
  const gcm = createCipheriv('aes-256-gcm', key, encIv).setAAD(Buffer.from(`${about.pollId}\0${about.voter}`));
  const selectedOptions = options.map((option) => createHash('sha256').update(option).digest());
  const plain = proto.Message.PollVoteMessage.encode({ selectedOptions }).finish();
  return { encIv, encPayload: Buffer.concat([gcm.update(plain), gcm.final(), gcm.getAuthTag()]) };
}
