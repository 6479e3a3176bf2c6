import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import type { BinaryNode, SignalDataSet, SignalKeyStoreWithTransaction, SocketConfig, WASocket } from '@whiskeysockets/baileys';
import { LRUCache } from 'lru-cache';
import type { MessageKey, NewReceived } from '../../../store/whatsapp/inbox.ts';
import type { Baileys } from '../link/library/baileys.ts';
import { createArrivalOrder } from './arrival-order.ts';
import { INBOX } from './auth-state.ts';
import { createStanzaReader, type StanzaReader } from './stanza-rows.ts';

type MakeRepository = SocketConfig['makeSignalRepository'];
type Repository = ReturnType<MakeRepository>;
type Attrs = Record<string, string>;

// Baileys puts its transactions into an async context; an operation that begins in the empty one gets a transaction of its
// own, which is committed before the operation returns, and so before any byte that depends on it is sent
const outsideTransactions = AsyncLocalStorage.snapshot();

// one for the process: libsignal's own queues are global too, and two snapshots of one session overwrite each other
let tail: Promise<unknown> = Promise.resolve();

export interface Ratchet {
  /** the option of the same name of `makeWASocket` */
  makeSignalRepository: MakeRepository;
  /** to be called before anything arrives: remembers the attributes of each stanza until it is decrypted */
  attachStanzas(sock: WASocket): void;
  /** for the watchdog; times in ms since the epoch */
  health(): RatchetHealth;
  /** resolves when an operation on the Signal state would get its turn and the store answers */
  probe(): Promise<void>;
}
export interface RatchetHealth {
  /** arrival of the oldest message that nobody has decrypted, or failed to decrypt, yet */
  waitingSince: number | null;
  lastSettledAt: number;
  lastStanzaAt: number;
}

/** More than a burst that the server sends before it waits for receipts; a forgotten entry only costs a retry. */
const REMEMBERED_STANZAS = 50_000;

export interface RatchetOptions {
  baileys: Baileys;
  account: string;
  /** content of a message that was stored before, or null */
  stored(key: MessageKey): Promise<Buffer | null>;
  /** own identity as Baileys knows it */
  me(): { id: string; lid: string };
  now?: () => number;
}

/**
 * Makes the Signal state safe against death at any moment. By itself Baileys commits a ratchet step after the bytes that depend
 * on it have left, acknowledges a message before anybody has stored it, and lets a send and a receive overwrite each other's
 * session. Here one operation runs at a time, each commits before it returns, and a decrypted message is an inbox row in the
 * same SQL transaction as its ratchet step.
 */
export const createRatchet = (options: RatchetOptions): Ratchet => new SafeRatchet(options);

class SafeRatchet implements Ratchet {
  private readonly options: RatchetOptions;
  private readonly now: () => number;
  private readonly reader: StanzaReader;
  /** attributes of the stanza that a ciphertext came in */
  private readonly stanzas = new LRUCache<string, Attrs>({ max: REMEMBERED_STANZAS });
  /** when each ciphertext arrived that nobody has decrypted yet, oldest first */
  private readonly waiting = new Map<string, number>();
  private readonly order = createArrivalOrder();
  /** sender keys that were learned in the transaction of their message */
  private readonly learned = new LRUCache<string, true>({ max: 1_000 });
  private lastSettledAt: number;
  private lastStanzaAt: number;
  private keys: SignalKeyStoreWithTransaction | null = null;

  constructor(options: RatchetOptions) {
    this.options = options;
    this.now = options.now ?? Date.now;
    this.reader = createStanzaReader(options);
    this.lastSettledAt = this.lastStanzaAt = this.now();
  }

  readonly makeSignalRepository: MakeRepository = (auth, logger, pnToLid) => {
    const inner = this.options.baileys.DEFAULT_CONNECTION_CONFIG.makeSignalRepository(auth, logger, pnToLid);
    const store = auth.keys as SignalKeyStoreWithTransaction;
    this.keys = store;
    return {
      ...inner,
      decryptMessage: (opts) => exclusive(() => this.decrypt(inner, store, opts.ciphertext, opts.jid, () => inner.decryptMessage(opts))),
      decryptGroupMessage: (opts) => exclusive(() => this.decrypt(inner, store, opts.msg, opts.group, () => inner.decryptGroupMessage(opts))),
      processSenderKeyDistributionMessage: async (opts) => {
        // learned in the transaction of its message already; a second time would forget how far the chain has moved since
        if (this.learned.has(senderKeyOf(opts))) return;
        await exclusive(() => store.transaction(() => inner.processSenderKeyDistributionMessage(opts), opts.item.groupId ?? 'sender-key'));
      },
      encryptMessage: (opts) => exclusive(() => inner.encryptMessage(opts)),
      encryptGroupMessage: (opts) => exclusive(() => inner.encryptGroupMessage(opts)),
      getSenderKeyDistributionMessage: (opts) => exclusive(() => inner.getSenderKeyDistributionMessage(opts)),
      injectE2ESession: (opts) => exclusive(() => inner.injectE2ESession(opts)),
      migrateSession: (from, to) => exclusive(() => inner.migrateSession(from, to)),
      deleteSession: (jids) => exclusive(() => inner.deleteSession(jids)),
    };
  };

  readonly attachStanzas = (sock: WASocket): void => {
    // what the last socket left undecrypted comes again on this one
    this.stanzas.clear();
    this.waiting.clear();
    this.order.clear();
    this.lastSettledAt = this.lastStanzaAt = this.now();
    const emit = sock.ws.emit.bind(sock.ws);
    sock.ws.emit = (event: string | symbol, ...args: unknown[]): boolean => {
      if (event !== 'CB:message') return emit(event, ...args);
      // on a socket that has closed meanwhile it is left to come again
      return this.arrive(
        args[0] as BinaryNode,
        () => emit(event, ...args),
        () => sock.ws.isOpen,
      );
    };
  };

  readonly probe = (): Promise<void> =>
    exclusive(async () => {
      await this.keys?.get('session', ['probe']);
    });

  readonly health = (): RatchetHealth => ({
    waitingSince: this.waiting.values().next().value ?? null,
    lastSettledAt: this.lastSettledAt,
    lastStanzaAt: this.lastStanzaAt,
  });

  /** Passes a stanza on when it is its turn. What an `emit` answers: somebody listens. */
  private arrive(node: BinaryNode, emit: () => boolean, isOpen: () => boolean): boolean {
    this.lastStanzaAt = this.now();
    const encrypted = ciphertexts(node);
    const attrs = node.attrs as Attrs;
    const awaited: string[] = [];
    for (const { content, counted } of encrypted) {
      const key = fingerprint(content);
      this.stanzas.set(key, attrs);
      if (!counted || !this.reader.concerns(attrs)) continue;
      this.waiting.set(key, this.lastStanzaAt);
      awaited.push(key);
    }
    if (awaited.length > 0) {
      this.order.pass(attrs.from ?? '', awaited, attrs.offline !== undefined, () => void (isOpen() && emit()));
      return true;
    }
    if (encrypted.length > 0) return emit();
    // a message without content is acknowledged at once: its stub has to be stored before Baileys sees it
    void this.storeStub(node).then(emit);
    return true;
  }

  /** Decrypts, learns a sender key that came along, and stores the message: all of it or nothing. */
  private async decrypt(
    inner: Repository,
    store: SignalKeyStoreWithTransaction,
    ciphertext: Uint8Array,
    lock: string,
    decrypted: () => Promise<Uint8Array>,
  ): Promise<Uint8Array> {
    const key = fingerprint(ciphertext);
    const attrs = this.stanzas.get(key);
    try {
      return await store.transaction(async () => {
        const plaintext = await decrypted();
        const read = attrs ? this.reader.read(attrs, plaintext) : null;
        if (read?.senderKey) {
          await inner.processSenderKeyDistributionMessage(read.senderKey);
          this.learned.set(senderKeyOf(read.senderKey), true);
        }
        if (read) await put(read.rows, store);
        return plaintext;
      }, lock);
    } catch (error) {
      // its receipt was lost with the last process, and its key is used up: a plain receipt now, instead of asking the sender for a new session
      const row = attrs && this.reader.keyOf(attrs);
      const known = row && (await this.options.stored(row).catch(() => null));
      if (known) return this.reader.asDecrypted(known);
      // the sender is asked to send it again; should that never come, the stub is how the person gets to know
      if (attrs) await put(this.reader.stubs(attrs, error as Error), store);
      throw error;
    } finally {
      this.stanzas.delete(key);
      this.waiting.delete(key);
      this.order.settled(key);
      this.lastSettledAt = this.now();
    }
  }

  private async storeStub(node: BinaryNode): Promise<void> {
    const rows = this.reader.withoutContent(node);
    // a store that fails ends the process by itself
    if (this.keys && rows.length > 0) await Promise.resolve(put(rows, this.keys)).catch(() => {});
  }
}

/** Runs one operation on the Signal state at a time, in a transaction of its own. */
function exclusive<T>(work: () => Promise<T>): Promise<T> {
  const run = tail.then(() => outsideTransactions(work));
  tail = run.then(
    () => {},
    () => {},
  );
  return run;
}

const put = (rows: NewReceived[], into: SignalKeyStoreWithTransaction) =>
  rows.length > 0
    ? into.set({ [INBOX]: Object.fromEntries(rows.map((row, index) => [`${row.chat}/${row.messageId}/${index}`, row])) } as SignalDataSet)
    : undefined;

const fingerprint = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('base64');

const senderKeyOf = ({ item, authorJid }: Parameters<Repository['processSenderKeyDistributionMessage']>[0]): string =>
  `${authorJid}/${item.groupId}/${fingerprint(item.axolotlSenderKeyDistributionMessage ?? new Uint8Array())}`;

const DECRYPTED_BY_BAILEYS = new Set(['pkmsg', 'msg', 'skmsg']);

const ciphertexts = (node: BinaryNode): Array<{ content: Uint8Array; counted: boolean }> =>
  (Array.isArray(node.content) ? node.content : []).flatMap((child) =>
    child.tag === 'enc' && child.content instanceof Uint8Array ? [{ content: child.content, counted: DECRYPTED_BY_BAILEYS.has(child.attrs.type ?? '') }] : [],
  );
