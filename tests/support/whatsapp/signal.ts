import { randomInt } from 'node:crypto';
import { createRequire } from 'node:module';
import { type KeyPair, keyPair, sign, typed, verify } from './curve.ts';
import { SenderKeys } from './sender-keys.ts';

/**
 * One device's half of the Signal protocol, on the real libsignal: identity, pre-keys, pairwise sessions, sender keys.
 */

interface Session {
  indexInfo: { baseKey: Buffer; closed: number; used: number };
}
interface Record_ {
  sessions: Record<string, Session>;
  getSession(baseKey: Buffer): Session | undefined;
  getSessions(): Session[];
  serialize(): object;
}
interface Libsignal {
  ProtocolAddress: new (name: string, device: number) => { toString(): string };
  SessionRecord: { new (): Record_; deserialize(data: object): Record_ };
  SessionBuilder: new (
    storage: object,
    address: object,
  ) => {
    initOutgoing(bundle: object): Promise<void>;
    initIncoming(record: Record_, message: object): Promise<number | undefined>;
  };
  SessionCipher: new (
    storage: object,
    address: object,
  ) => {
    encrypt(data: Buffer): Promise<{ type: number; body: Buffer }>;
    doDecryptWhisperMessage(message: Buffer, session: Session): Promise<Buffer>;
  };
}
interface PreKeyMessage {
  identityKey: Buffer;
  baseKey: Buffer;
  message: Buffer;
}

const require = createRequire(import.meta.url);
const libsignal = require('libsignal') as Libsignal;
const { PreKeyWhisperMessage } = require('libsignal/src/protobufs.js') as {
  PreKeyWhisperMessage: {
    decode(data: Buffer): PreKeyMessage;
    encode(message: PreKeyMessage): { finish(): Uint8Array };
  };
};

export interface Bundle {
  registrationId: number;
  identity: Buffer;
  signedPreKey: { id: number; public: Buffer; signature: Buffer };
  preKey?: { id: number; public: Buffer };
}

/**
 * The other end of a session: a name for its address, the identity key it is known by, and where its keys are fetched.
 */
export interface Peer {
  address: string;
  identity: Buffer;
  bundle(): Bundle;
}

export type Encrypted = { type: 'pkmsg' | 'msg' | 'skmsg'; body: Buffer };

/** 1 to 16 bytes of padding, each saying how many there are. */
export function pad(plaintext: Uint8Array): Buffer {
  const length = randomInt(1, 17);
  return Buffer.concat([plaintext, Buffer.alloc(length, length)]);
}

export function unpad(padded: Buffer): Buffer {
  const length = padded.at(-1) ?? 0;
  if (length < 1 || length > 16 || length > padded.length) throw new Error('the padding is wrong');
  if (padded.subarray(padded.length - length).some((byte) => byte !== length)) throw new Error('the padding is wrong');
  return padded.subarray(0, padded.length - length);
}

/** The same ciphertext with a wrong MAC (or signature). */
export function corrupted({ type, body }: Encrypted): Encrypted {
  const flip = (data: Uint8Array) => {
    const copy = Buffer.from(data);
    copy[copy.length - 4]! ^= 0x55;
    return copy;
  };
  if (type !== 'pkmsg') return { type, body: flip(body) };
  const message = PreKeyWhisperMessage.decode(body.subarray(1));
  message.message = flip(message.message);
  return { type, body: Buffer.concat([body.subarray(0, 1), PreKeyWhisperMessage.encode(message).finish()]) };
}

/** A check takes milliseconds, and a thousand strangers all start from the same signed pre-key. */
const foundGood = new Set<string>();
function isSigned({ identity, signedPreKey }: Bundle): boolean {
  const all = Buffer.concat([identity, signedPreKey.public, signedPreKey.signature]).toString('base64');
  if (!foundGood.has(all) && verify(identity, signedPreKey.signature, typed(signedPreKey.public))) foundGood.add(all);
  return foundGood.has(all);
}

export class SignalParty {
  readonly identity: KeyPair = keyPair();
  readonly registrationId = randomInt(1, 16_380);
  readonly senderKeys: SenderKeys;
  readonly #name: string;
  readonly #signedPreKey = keyPair();
  readonly #preKeys = new Map<number, KeyPair>();
  readonly #sessions = new Map<string, object>();
  #nextPreKey = 1;
  #queue: Promise<unknown> = Promise.resolve();
  #step: Promise<unknown> = Promise.resolve();

  constructor(name: string) {
    this.#name = name;
    this.senderKeys = new SenderKeys(name);
  }

  /** Runs the steps of a send one after the other, so that what was encrypted first is also queued first. */
  inTurn<T>(step: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(step);
    this.#queue = result.catch(() => {});
    return result;
  }

  /** A session is read, stepped and written back: two steps at the same time would undo each other. */
  #alone<T>(step: () => Promise<T>): Promise<T> {
    const result = this.#step.then(step);
    this.#step = result.catch(() => {});
    return result;
  }

  /** Keys for one new session with this device; the one-time key is never handed out again. */
  bundle(): Bundle {
    const id = this.#nextPreKey++;
    const preKey = keyPair();
    this.#preKeys.set(id, preKey);
    const signature = sign(this.identity, typed(this.#signedPreKey.public));
    return {
      registrationId: this.registrationId,
      identity: this.identity.public,
      signedPreKey: { id: 1, public: this.#signedPreKey.public, signature },
      preKey: { id, public: preKey.public },
    };
  }

  /**
   * Starts a new session from the other side's keys. Throws when their signed pre-key is not signed by their identity.
   */
  startSession(peer: Peer, bundle: Bundle): Promise<void> {
    return this.#alone(() => this.#start(peer, bundle));
  }

  async #start(peer: Peer, bundle: Bundle): Promise<void> {
    const { signedPreKey, preKey } = bundle;
    if (!bundle.identity.equals(peer.identity)) throw new Error(`${peer.address} offered keys of another identity`);
    if (!isSigned(bundle)) throw new Error(`${peer.address} has a badly signed pre-key`);
    // closed here: libsignal prints the whole session, private keys and all, when it closes one itself
    this.#store(peer, this.#closed(this.#load(peer)));
    await new libsignal.SessionBuilder(this.#storage(peer), this.#address(peer)).initOutgoing({
      registrationId: bundle.registrationId,
      identityKey: typed(bundle.identity),
      signedPreKey: {
        keyId: signedPreKey.id,
        publicKey: typed(signedPreKey.public),
        signature: signedPreKey.signature,
      },
      preKey: preKey && { keyId: preKey.id, publicKey: typed(preKey.public) },
    });
  }

  encrypt(peer: Peer, plaintext: Uint8Array): Promise<Encrypted> {
    return this.#alone(() => this.#encrypt(peer, plaintext));
  }

  async #encrypt(peer: Peer, plaintext: Uint8Array): Promise<Encrypted> {
    const known = this.#load(peer)
      .getSessions()
      .some((session) => session.indexInfo.closed === -1);
    if (!known) await this.#start(peer, peer.bundle());
    const { type, body } = await new libsignal.SessionCipher(this.#storage(peer), this.#address(peer)).encrypt(
      pad(plaintext),
    );
    return { type: type === 3 ? 'pkmsg' : 'msg', body: Buffer.from(body) };
  }

  /**
   * The unpadded plaintext. Throws when the identity, a key, the MAC or the padding is wrong; a failure changes
   * nothing.
   */
  decrypt(peer: Peer, type: string, body: Buffer): Promise<Buffer> {
    return this.#alone(() => this.#decrypt(peer, type, body));
  }

  async #decrypt(peer: Peer, type: string, body: Buffer): Promise<Buffer> {
    if (type === 'pkmsg') return unpad(await this.#decryptPreKey(peer, body));
    if (type !== 'msg') throw new Error(`${type} is no pairwise message`);
    const cipher = new libsignal.SessionCipher(this.#storage(peer), this.#address(peer));
    const reasons = new Set<string>();
    for (const { indexInfo } of this.#load(peer).getSessions()) {
      // a fresh copy for every attempt: libsignal steps the ratchet before it checks the MAC
      const record = this.#load(peer);
      const session = record.sessions[indexInfo.baseKey.toString('base64')]!;
      try {
        const plaintext = await cipher.doDecryptWhisperMessage(body, session);
        session.indexInfo.used = Date.now();
        this.#store(peer, record);
        return unpad(plaintext);
      } catch (error) {
        reasons.add((error as Error).message);
      }
    }
    // "used already" in one session and "Bad MAC" in the others is a counter that came twice
    throw new Error([...reasons].join('; ') || 'no session');
  }

  async #decryptPreKey(peer: Peer, body: Buffer): Promise<Buffer> {
    const message = PreKeyWhisperMessage.decode(body.subarray(1));
    if (!message.identityKey.equals(typed(peer.identity))) throw new Error(`${peer.address} used another identity`);
    const loaded = this.#load(peer);
    const record = loaded.getSession(message.baseKey) ? loaded : this.#closed(loaded);
    const storage = this.#storage(peer);
    const address = this.#address(peer);
    const usedPreKey = await new libsignal.SessionBuilder(storage, address).initIncoming(record, message);
    const plaintext = await new libsignal.SessionCipher(storage, address).doDecryptWhisperMessage(
      message.message,
      record.getSession(message.baseKey)!,
    );
    this.#store(peer, record);
    if (usedPreKey) this.#preKeys.delete(usedPreKey);
    return plaintext;
  }

  #address(peer: Peer): object {
    return new libsignal.ProtocolAddress(`${this.#name}>${peer.address}`, 0);
  }
  #load(peer: Peer): Record_ {
    const data = this.#sessions.get(peer.address);
    return data ? libsignal.SessionRecord.deserialize(data) : new libsignal.SessionRecord();
  }
  #store(peer: Peer, record: Record_): void {
    this.#sessions.set(peer.address, record.serialize());
  }
  #closed(record: Record_): Record_ {
    const sessions = record.getSessions();
    for (const session of sessions) if (session.indexInfo.closed === -1) session.indexInfo.closed = Date.now();
    for (const old of sessions.slice(20)) delete record.sessions[old.indexInfo.baseKey.toString('base64')];
    return record;
  }
  #storage(peer: Peer): object {
    const asLibsignal = (pair: KeyPair | undefined) => pair && { pubKey: typed(pair.public), privKey: pair.private };
    return {
      loadSession: async () => this.#load(peer),
      storeSession: async (_id: string, record: Record_) => this.#store(peer, record),
      isTrustedIdentity: (_id: string, key: Uint8Array) => typed(peer.identity).equals(key),
      loadPreKey: async (id: number) => asLibsignal(this.#preKeys.get(id)),
      removePreKey: async (id: number) => this.#preKeys.delete(id),
      loadSignedPreKey: () => asLibsignal(this.#signedPreKey),
      getOurRegistrationId: () => this.registrationId,
      getOurIdentity: () => asLibsignal(this.identity),
    };
  }
}
