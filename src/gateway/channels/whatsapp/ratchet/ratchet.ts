import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import type {
  BinaryNode,
  SignalDataSet,
  SignalKeyStoreWithTransaction,
  SocketConfig,
  WASocket,
} from '@whiskeysockets/baileys';
import { LRUCache } from 'lru-cache';
import type { MessageKey, NewReceived } from '../../../../store/whatsapp/inbox.ts';
import type { Baileys } from '../library/baileys.ts';
import { createArrivalOrder } from './arrival-order.ts';
import { INBOX } from './auth-state.ts';
import { StanzaReader } from './stanza-rows.ts';

type MakeRepository = SocketConfig['makeSignalRepository'];
type Repository = ReturnType<MakeRepository>;
type Attrs = Record<string, string>;

// Baileys puts its transactions into an async context. An operation that begins in the empty context gets its own
// transaction, which is committed before the operation returns, and so before any byte that depends on it is sent
const outsideTransactions = AsyncLocalStorage.snapshot();

// one for the process: libsignal's queues are global too, and two snapshots of one session overwrite each other
let tail: Promise<unknown> = Promise.resolve();

export interface Ratchet {
  /** the option of the same name of `makeWASocket` */
  makeSignalRepository: MakeRepository;
  /** call it before anything arrives: it remembers the attributes of each stanza until the stanza is decrypted */
  attachStanzas(sock: WASocket): void;
  /** for the watchdog; times in ms since the epoch */
  health(): RatchetHealth;
  /** resolves when an operation on the Signal state would get its turn and the store answers */
  probe(): Promise<void>;
}
export interface RatchetHealth {
  /** arrival time of the oldest message that was not decrypted yet */
  waitingSince: number | null;
  lastSettledAt: number;
  lastStanzaAt: number;
}

/** More than the server sends before it waits for receipts. A forgotten entry only costs a retry. */
const REMEMBERED_STANZAS = 50_000;

interface RatchetOptions {
  baileys: Baileys;
  account: string;
  /** content of a message that was stored before, or null */
  stored(key: MessageKey): Promise<Buffer | null>;
  /** own identity as Baileys knows it */
  me(): { id: string; lid: string };
  now?: () => number;
}

/**
 * Keeps the Signal state intact when the process dies at any moment. Baileys alone commits a ratchet state after the
 * bytes that depend on it were sent, acknowledges a message before it is stored, and lets a send and a receive
 * overwrite each other's session. Here one operation runs at a time and commits before it returns. A decrypted message
 * becomes an inbox row in the same SQL transaction as its ratchet state.
 */
export const createRatchet = (options: RatchetOptions): Ratchet => new SafeRatchet(options);

class SafeRatchet implements Ratchet {
  private readonly options: RatchetOptions;
  private readonly now: () => number;
  private readonly reader: StanzaReader;
  /** attributes of the stanza that a ciphertext came in */
  private readonly stanzas = new LRUCache<string, Attrs>({ max: REMEMBERED_STANZAS });
  /** arrival times of ciphertexts that are not decrypted yet, oldest first */
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
    this.reader = new StanzaReader(options);
    this.lastSettledAt = this.lastStanzaAt = this.now();
  }

  readonly makeSignalRepository: MakeRepository = (auth, logger, pnToLid) => {
    const inner = this.options.baileys.DEFAULT_CONNECTION_CONFIG.makeSignalRepository(auth, logger, pnToLid);
    const store = auth.keys as SignalKeyStoreWithTransaction;
    this.keys = store;
    return {
      ...inner,
      decryptMessage: (opts) =>
        exclusive(() => this.decrypt(inner, store, opts.ciphertext, opts.jid, () => inner.decryptMessage(opts))),
      decryptGroupMessage: (opts) =>
        exclusive(() => this.decrypt(inner, store, opts.msg, opts.group, () => inner.decryptGroupMessage(opts))),
      processSenderKeyDistributionMessage: async (opts) => {
        // already learned in the transaction of its message; learning it again would forget how far its chain has moved
        if (this.learned.has(senderKeyOf(opts))) return;
        await exclusive(() =>
          store.transaction(() => inner.processSenderKeyDistributionMessage(opts), opts.item.groupId ?? 'sender-key'),
        );
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
    // messages that the last socket left undecrypted come again on this one
    this.stanzas.clear();
    this.waiting.clear();
    this.order.clear();
    this.lastSettledAt = this.lastStanzaAt = this.now();
    const emit = sock.ws.emit.bind(sock.ws);
    sock.ws.emit = (event: string | symbol, ...args: unknown[]): boolean => {
      if (event !== 'CB:message') return emit(event, ...args);
      // on a socket that has closed meanwhile, it will come again
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

  /** Passes a stanza on in its turn. `emit` returns whether somebody listens. */
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
    // a message without content is acknowledged at once, so its stub must be stored before Baileys sees it
    void this.storeStub(node).then(emit);
    return true;
  }

  /** Decrypts a message, learns a sender key that came with it, and stores the message, in one transaction. */
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
      // its receipt was lost with the last process, and its key is used up; a plain receipt now avoids asking the
      // sender for a new session
      const row = attrs && this.reader.keyOf(attrs);
      const known = row && (await this.options.stored(row).catch(() => null));
      if (known) return this.reader.asDecrypted(known);
      // the sender is asked to send it again; if that never comes, the stub tells the person
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
    // a failing store ends the process by itself
    if (this.keys && rows.length > 0) await Promise.resolve(put(rows, this.keys)).catch(() => {});
  }
}

/** Runs one operation on the Signal state at a time, each in its own transaction. */
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
    ? into.set({
        [INBOX]: Object.fromEntries(rows.map((row, index) => [`${row.chat}/${row.messageId}/${index}`, row])),
      } as SignalDataSet)
    : undefined;

const fingerprint = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('base64');

const senderKeyOf = ({ item, authorJid }: Parameters<Repository['processSenderKeyDistributionMessage']>[0]): string =>
  `${authorJid}/${item.groupId}/${fingerprint(item.axolotlSenderKeyDistributionMessage ?? new Uint8Array())}`;

const DECRYPTED_BY_BAILEYS = new Set(['pkmsg', 'msg', 'skmsg']);

const ciphertexts = (node: BinaryNode): Array<{ content: Uint8Array; counted: boolean }> =>
  (Array.isArray(node.content) ? node.content : []).flatMap((child) =>
    child.tag === 'enc' && child.content instanceof Uint8Array
      ? [{ content: child.content, counted: DECRYPTED_BY_BAILEYS.has(child.attrs.type ?? '') }]
      : [],
  );
