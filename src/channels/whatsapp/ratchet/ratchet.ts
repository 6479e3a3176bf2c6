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
export function createRatchet(options: RatchetOptions): Ratchet {
  const { baileys, now = Date.now } = options;
  const reader = createStanzaReader(options);
  const stanzas = new LRUCache<string, Record<string, string>>({ max: REMEMBERED_STANZAS });
  const waiting = new Map<string, number>();
  const order = createArrivalOrder();
  const learned = new LRUCache<string, true>({ max: 1_000 });
  let lastSettledAt = now();
  let lastStanzaAt = now();
  let keys: SignalKeyStoreWithTransaction | null = null;

  const exclusive = <T>(work: () => Promise<T>): Promise<T> => {
    const run = tail.then(() => outsideTransactions(work));
    tail = run.then(
      () => {},
      () => {},
    );
    return run;
  };

  const put = (rows: NewReceived[], into: SignalKeyStoreWithTransaction) =>
    rows.length > 0
      ? into.set({ [INBOX]: Object.fromEntries(rows.map((row, index) => [`${row.chat}/${row.messageId}/${index}`, row])) } as SignalDataSet)
      : undefined;

  /** Decrypts, learns a sender key that came along, and stores the message: all of it or nothing. */
  const decrypting = (
    inner: Repository,
    store: SignalKeyStoreWithTransaction,
    ciphertext: Uint8Array,
    lock: string,
    decrypt: () => Promise<Uint8Array>,
  ): Promise<Uint8Array> =>
    exclusive(async () => {
      const key = fingerprint(ciphertext);
      const attrs = stanzas.get(key);
      try {
        return await store.transaction(async () => {
          const plaintext = await decrypt();
          const read = attrs ? reader.read(attrs, plaintext) : null;
          if (read?.senderKey) {
            await inner.processSenderKeyDistributionMessage(read.senderKey);
            learned.set(senderKeyOf(read.senderKey), true);
          }
          if (read) await put(read.rows, store);
          return plaintext;
        }, lock);
      } catch (error) {
        // its receipt was lost with the last process, and its key is used up: a plain receipt now, instead of asking the sender for a new session
        const key = attrs && reader.keyOf(attrs);
        const known = key && (await options.stored(key).catch(() => null));
        if (known) return reader.asDecrypted(known);
        // the sender is asked to send it again; should that never come, the stub is how the person gets to know
        if (attrs) await put(reader.stubs(attrs, error as Error), store);
        throw error;
      } finally {
        stanzas.delete(key);
        waiting.delete(key);
        order.settled(key);
        lastSettledAt = now();
      }
    });

  const makeSignalRepository: MakeRepository = (auth, logger, pnToLid) => {
    const inner = baileys.DEFAULT_CONNECTION_CONFIG.makeSignalRepository(auth, logger, pnToLid);
    const store = auth.keys as SignalKeyStoreWithTransaction;
    keys = store;
    return {
      ...inner,
      decryptMessage: (opts) => decrypting(inner, store, opts.ciphertext, opts.jid, () => inner.decryptMessage(opts)),
      decryptGroupMessage: (opts) => decrypting(inner, store, opts.msg, opts.group, () => inner.decryptGroupMessage(opts)),
      async processSenderKeyDistributionMessage(opts) {
        // learned in the transaction of its message already; a second time would forget how far the chain has moved since
        if (learned.has(senderKeyOf(opts))) return;
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

  return {
    makeSignalRepository,
    attachStanzas(sock) {
      // what the last socket left undecrypted comes again on this one
      stanzas.clear();
      waiting.clear();
      order.clear();
      lastSettledAt = lastStanzaAt = now();
      const emit = sock.ws.emit.bind(sock.ws);
      sock.ws.emit = (event: string | symbol, ...args: unknown[]): boolean => {
        if (event !== 'CB:message') return emit(event, ...args);
        const node = args[0] as BinaryNode;
        lastStanzaAt = now();
        const encrypted = ciphertexts(node);
        const attrs = node.attrs as Record<string, string>;
        const awaited: string[] = [];
        for (const { content, counted } of encrypted) {
          const key = fingerprint(content);
          stanzas.set(key, attrs);
          if (!counted || !reader.concerns(attrs)) continue;
          waiting.set(key, lastStanzaAt);
          awaited.push(key);
        }
        if (awaited.length > 0) {
          // on a socket that has closed meanwhile it is left to come again
          order.pass(attrs.from ?? '', awaited, attrs.offline !== undefined, () => void (sock.ws.isOpen && emit(event, ...args)));
          return true;
        }
        if (encrypted.length > 0) return emit(event, ...args);
        // a message without content is acknowledged at once: its stub has to be stored before Baileys sees it
        void hold(reader, node, keys, put).then(() => emit(event, ...args));
        return true;
      };
    },
    probe: () =>
      exclusive(async () => {
        await keys?.get('session', ['probe']);
      }),
    health: () => ({ waitingSince: waiting.values().next().value ?? null, lastSettledAt, lastStanzaAt }),
  };
}

async function hold(
  reader: StanzaReader,
  node: BinaryNode,
  keys: SignalKeyStoreWithTransaction | null,
  put: (rows: NewReceived[], into: SignalKeyStoreWithTransaction) => Promise<void> | void | undefined,
): Promise<void> {
  const rows = reader.withoutContent(node);
  // a store that fails ends the process by itself
  if (keys && rows.length > 0) await Promise.resolve(put(rows, keys)).catch(() => {});
}

const fingerprint = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('base64');

const senderKeyOf = ({ item, authorJid }: Parameters<Repository['processSenderKeyDistributionMessage']>[0]): string =>
  `${authorJid}/${item.groupId}/${fingerprint(item.axolotlSenderKeyDistributionMessage ?? new Uint8Array())}`;

const DECRYPTED_BY_BAILEYS = new Set(['pkmsg', 'msg', 'skmsg']);

const ciphertexts = (node: BinaryNode): Array<{ content: Uint8Array; counted: boolean }> =>
  (Array.isArray(node.content) ? node.content : []).flatMap((child) =>
    child.tag === 'enc' && child.content instanceof Uint8Array ? [{ content: child.content, counted: DECRYPTED_BY_BAILEYS.has(child.attrs.type ?? '') }] : [],
  );
