import { setTimeout as pause } from 'node:timers/promises';
import type { AuthenticationCreds, SignalDataSet, SignalDataTypeMap, SignalKeyStore } from '@whiskeysockets/baileys';
import { LRUCache } from 'lru-cache';
import type { Db } from '../../../store/postgres/database.ts';
import { isDatabaseAway } from '../../../store/postgres/health.ts';
import { type KeyChange, LeaseLost, readCreds, readKeys, writeAuth } from '../../../store/whatsapp/auth.ts';
import type { NewReceived } from '../../../store/whatsapp/inbox.ts';
import type { Baileys } from '../link/library/baileys.ts';
import { placeOf, type Sealer } from './encryption.ts';

/** The pseudo key type that carries decrypted messages into the transaction of their ratchet step. */
export const INBOX = 'x-inbox';

/** A store that hangs makes an open socket deaf for ever (all decryption waits behind one call): whatever takes longer fails. */
const LIMIT_MS = 5_000;
const AGAIN_MS = 150;
/** Rows kept decrypted in memory: sessions are about 4 kB each. */
const CACHED = 2_000;

export interface AuthState {
  readonly creds: AuthenticationCreds;
  readonly keys: SignalKeyStore;
  /** the phone has accepted this device */
  paired(): boolean;
  /** to be called at each `creds.update`: the next commit takes the credentials along */
  touch(): void;
  /** resolves when the credentials as they are now are committed */
  save(): Promise<void>;
}

export interface AuthOptions {
  db: Db;
  account: string;
  sealer: Sealer;
  baileys: Pick<Baileys, 'BufferJSON' | 'initAuthCreds' | 'proto'>;
  /** only while this holder has the lease is anything written; null where there is no lease (tests) */
  holder: string | null;
  /** the ratchet in memory is ahead of the database, or cannot be read: going on would make messages unreadable. Must end the process. */
  fatal(error: Error): void;
  /** called after each commit that stored messages */
  onStored?(): void;
  limitMs?: number;
}

/**
 * The credentials and the Signal key store of an account in PostgreSQL. One `set` is one transaction, with the credentials in
 * it when they changed: a pre-key and the counter that names the next one cannot come apart. Nothing is written before the phone
 * has accepted the device, so a pairing that is given up leaves nothing behind. @throws WrongKey
 */
export async function openAuthState(options: AuthOptions): Promise<AuthState> {
  const { db, account, sealer, baileys, holder, fatal, limitMs = LIMIT_MS } = options;
  const { replacer, reviver } = baileys.BufferJSON;
  const text = (value: unknown): string => JSON.stringify(value, replacer);
  const stored = await within(limitMs, () => readCreds(db, account), 'reading the WhatsApp credentials');
  const creds: AuthenticationCreds = stored ? JSON.parse(sealer.open(placeOf(account, 'creds'), stored.data), reviver) : baileys.initAuthCreds();
  let rev = stored?.rev ?? 0;
  let dirty = false;
  const cache = new LRUCache<string, string>({ max: CACHED });
  const paired = (): boolean => Boolean(creds.account);

  const revive = (type: string, data: string): unknown => {
    const value = JSON.parse(data, reviver);
    return type === 'app-state-sync-key' && value ? baileys.proto.Message.AppStateSyncKeyData.fromObject(value) : value;
  };

  /** Within the limit or not at all: afterwards the process must not go on with what it believes. */
  const orDie = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    try {
      return await within(limitMs, work, what);
    } catch (error) {
      fatal(error as Error);
      throw error;
    }
  };

  const commit = async (keys: KeyChange[], received: NewReceived[]): Promise<void> => {
    const withCreds = dirty && paired();
    if (!withCreds && keys.length === 0 && received.length === 0) return;
    dirty = withCreds ? false : dirty;
    if (withCreds) rev += 1;
    const change = { keys, received, ...(withCreds && { creds: { data: sealer.seal(placeOf(account, 'creds'), text(creds)), rev } }) };
    await orDie('storing the WhatsApp keys', () => writeAuth(db, account, change, { holder, timeoutMs: limitMs }));
    if (received.length > 0) options.onStored?.();
  };

  const keys: SignalKeyStore = {
    async get<T extends keyof SignalDataTypeMap>(type: T, ids: string[]) {
      const found: Record<string, SignalDataTypeMap[T]> = {};
      const missing = ids.filter((id) => !cache.has(`${type}/${id}`));
      if (missing.length > 0) {
        const rows = new Map((await orDie('reading the WhatsApp keys', () => readKeys(db, account, type, missing))).map((row) => [row.id, row.data]));
        for (const id of missing) {
          const data = rows.get(id);
          const opened = data ? openOrDie(`${type}/${id}`, data) : NONE;
          // a write that overtook this read knows better
          if (!cache.has(`${type}/${id}`)) cache.set(`${type}/${id}`, opened);
          if (opened !== NONE) found[id] = revive(type, opened) as SignalDataTypeMap[T];
        }
      }
      for (const id of ids) {
        const known = cache.get(`${type}/${id}`);
        if (known === NONE) delete found[id];
        // parsed for each caller: Baileys changes lists that it was given
        else if (known !== undefined) found[id] = revive(type, known) as SignalDataTypeMap[T];
      }
      return found;
    },

    async set(data: SignalDataSet) {
      const changes: KeyChange[] = [];
      const received: NewReceived[] = [];
      const written = new Map<string, string>();
      for (const [type, values] of Object.entries(data)) {
        for (const [id, value] of Object.entries(values ?? {})) {
          if (type === INBOX) {
            if (value) received.push(value as unknown as NewReceived);
            continue;
          }
          const kept = value === null || value === undefined ? NONE : text(value);
          written.set(`${type}/${id}`, kept);
          changes.push({ type, id, data: kept === NONE ? null : sealer.seal(placeOf(account, `${type}/${id}`), kept) });
        }
      }
      await commit(changes, received);
      for (const [key, kept] of written) cache.set(key, kept);
    },
  };

  const openOrDie = (key: string, data: Buffer): string => {
    try {
      return sealer.open(placeOf(account, key), data);
    } catch (error) {
      fatal(error as Error);
      throw error;
    }
  };

  let saving: Promise<void> = Promise.resolve();
  return {
    creds,
    keys,
    paired,
    touch() {
      dirty = true;
    },
    save() {
      dirty = true;
      saving = saving.catch(() => {}).then(() => (dirty ? commit([], []) : undefined));
      return saving;
    },
  };
}

/** Stands in the cache for a key that the database does not have; no JSON text is empty. */
const NONE = '';

/** Runs `work` again while the database is away, until it succeeds or `ms` have passed; one that hangs fails, too. */
async function within<T>(ms: number, work: () => Promise<T>, what: string): Promise<T> {
  const end = Date.now() + ms;
  for (;;) {
    const late = new AbortController();
    const tooLate = pause(Math.max(1, end - Date.now()), undefined, { signal: late.signal, ref: false }).then(() => {
      throw new Error(`${what} took longer than ${ms} ms`);
    });
    tooLate.catch(() => {});
    try {
      return await Promise.race([work(), tooLate]);
    } catch (error) {
      if (error instanceof LeaseLost || !isDatabaseAway(error) || Date.now() + AGAIN_MS >= end) throw error;
    } finally {
      late.abort();
    }
    await pause(AGAIN_MS);
  }
}
