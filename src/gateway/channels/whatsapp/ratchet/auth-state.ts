import { setTimeout as pause } from 'node:timers/promises';
import type { AuthenticationCreds, SignalDataSet, SignalDataTypeMap, SignalKeyStore } from '@whiskeysockets/baileys';
import { LRUCache } from 'lru-cache';
import type { Sealer } from '../../../../adapters/encryption.ts';
import type { Db } from '../../../../store/postgres/database.ts';
import { isDatabaseAway } from '../../../../store/postgres/health.ts';
import { type KeyChange, LeaseLost, readCreds, readKeys, writeAuth } from '../../../../store/whatsapp/auth.ts';
import type { NewReceived } from '../../../../store/whatsapp/inbox.ts';
import type { Baileys } from '../library/baileys.ts';
import { placeOf } from './own-key.ts';

/** The pseudo key type that brings decrypted messages into the transaction of their ratchet state. */
export const INBOX = 'x-inbox';

/**
 * A store that hangs makes an open socket useless for ever, because all decryption waits for one call. So anything that
 * takes longer fails.
 */
const LIMIT_MS = 5_000;
const AGAIN_MS = 150;
/** Rows kept decrypted in memory: sessions are about 4 kB each. */
const CACHED = 2_000;

export interface AuthState {
  readonly creds: AuthenticationCreds;
  readonly keys: SignalKeyStore;
  /** the phone has accepted this device */
  paired(): boolean;
  /** called at each `creds.update`: the next commit includes the credentials */
  touch(): void;
  /** resolves when the present credentials are committed */
  save(): Promise<void>;
  /** Waits for the writes that have begun and refuses later ones, before these credentials are put aside. */
  end(): Promise<void>;
}

interface AuthOptions {
  db: Db;
  account: string;
  sealer: Sealer;
  baileys: Pick<Baileys, 'BufferJSON' | 'initAuthCreds' | 'proto'>;
  /** writes happen only while this holder has the lease; null without a lease (tests) */
  holder: string | null;
  /**
   * the ratchet in memory is ahead of the database, or cannot be read. Going on would make messages unreadable, so this
   * must end the process.
   */
  fatal(error: Error): void;
  /** called after each commit that stored messages */
  onStored?(): void;
  limitMs?: number;
}

/** Reads the credentials of an account, or creates new ones. @throws WrongKey */
export async function openAuthState(options: AuthOptions): Promise<AuthState> {
  const { db, account, sealer, baileys, limitMs = LIMIT_MS } = options;
  const stored = await within(limitMs, () => readCreds(db, account), 'reading the WhatsApp credentials');
  const creds: AuthenticationCreds = stored
    ? JSON.parse(sealer.open(placeOf(account, 'creds'), stored.data), baileys.BufferJSON.reviver)
    : baileys.initAuthCreds();
  return new StoredAuthState(options, creds, stored?.rev ?? 0);
}

/**
 * The credentials and the Signal key store of an account in PostgreSQL. One `set` is one transaction, which includes
 * changed credentials, so that a pre-key and the counter that names the next one stay together. Nothing is written
 * before the phone has accepted the device, so an abandoned pairing leaves nothing.
 */
class StoredAuthState implements AuthState {
  readonly creds: AuthenticationCreds;
  readonly keys: SignalKeyStore;
  private readonly options: AuthOptions;
  /** keys as JSON, by `type/id` */
  private readonly cache = new LRUCache<string, string>({ max: CACHED });
  /** number of the last written version of the credentials */
  private rev: number;
  /** the credentials changed since they were written */
  private dirty = false;
  private saving: Promise<void> = Promise.resolve();
  private readonly writes = new Set<Promise<void>>();
  private ended = false;

  constructor(options: AuthOptions, creds: AuthenticationCreds, rev: number) {
    this.options = options;
    this.creds = creds;
    this.rev = rev;
    this.keys = { get: (type, ids) => this.read(type, ids), set: (data) => this.write(data) };
  }

  paired(): boolean {
    return Boolean(this.creds.account);
  }

  touch(): void {
    this.dirty = true;
  }

  save(): Promise<void> {
    this.dirty = true;
    this.saving = this.saving.catch(() => {}).then(() => (this.dirty ? this.commit([], []) : undefined));
    return this.saving;
  }

  async end(): Promise<void> {
    this.ended = true;
    await Promise.allSettled(this.writes);
  }

  private async read<T extends keyof SignalDataTypeMap>(
    type: T,
    ids: string[],
  ): Promise<Record<string, SignalDataTypeMap[T]>> {
    const found: Record<string, SignalDataTypeMap[T]> = {};
    const missing = ids.filter((id) => !this.cache.has(`${type}/${id}`));
    if (missing.length > 0) {
      for (const [id, opened] of await this.load(type, missing)) {
        // a write that overtook this read is newer
        if (!this.cache.has(`${type}/${id}`)) this.cache.set(`${type}/${id}`, opened);
        if (opened !== NONE) found[id] = this.revive(type, opened) as SignalDataTypeMap[T];
      }
    }
    for (const id of ids) {
      const known = this.cache.get(`${type}/${id}`);
      if (known === NONE) delete found[id];
      // parsed for each caller, because Baileys changes the lists that it gets
      else if (known !== undefined) found[id] = this.revive(type, known) as SignalDataTypeMap[T];
    }
    return found;
  }

  /** The keys in the database, decrypted. */
  private async load(type: string, ids: string[]): Promise<Array<[id: string, json: string]>> {
    const { db, account } = this.options;
    const stored = await this.orDie('reading the WhatsApp keys', () => readKeys(db, account, type, ids));
    const rows = new Map(stored.map((row) => [row.id, row.data]));
    return ids.map((id) => {
      const data = rows.get(id);
      return [id, data ? this.open(`${type}/${id}`, data) : NONE];
    });
  }

  private async write(data: SignalDataSet): Promise<void> {
    const { account, sealer } = this.options;
    const changes: KeyChange[] = [];
    const received: NewReceived[] = [];
    const written = new Map<string, string>();
    for (const [type, values] of Object.entries(data)) {
      for (const [id, value] of Object.entries(values ?? {})) {
        if (type === INBOX) {
          if (value) received.push(value as unknown as NewReceived);
          continue;
        }
        const kept = value === null || value === undefined ? NONE : this.text(value);
        written.set(`${type}/${id}`, kept);
        changes.push({ type, id, data: kept === NONE ? null : sealer.seal(placeOf(account, `${type}/${id}`), kept) });
      }
    }
    await this.commit(changes, received);
    for (const [key, kept] of written) this.cache.set(key, kept);
  }

  private async commit(keys: KeyChange[], received: NewReceived[]): Promise<void> {
    const { db, account, sealer, holder, limitMs = LIMIT_MS } = this.options;
    const withCreds = this.dirty && this.paired();
    if (!withCreds && keys.length === 0 && received.length === 0) return;
    // Baileys goes on for a moment after its connection has closed
    if (this.ended) throw new Error('These WhatsApp credentials are no longer in use.');
    if (withCreds) {
      this.dirty = false;
      this.rev += 1;
    }
    const creds = withCreds && {
      creds: { data: sealer.seal(placeOf(account, 'creds'), this.text(this.creds)), rev: this.rev },
    };
    const write = this.orDie('storing the WhatsApp keys', () =>
      writeAuth(db, account, { keys, received, ...creds }, { holder, timeoutMs: limitMs }),
    );
    this.writes.add(write);
    await write.finally(() => this.writes.delete(write));
    if (received.length > 0) this.options.onStored?.();
  }

  /** Succeeds within the limit, or ends the process, whose state can no longer be trusted. */
  private async orDie<T>(what: string, work: () => Promise<T>): Promise<T> {
    try {
      return await within(this.options.limitMs ?? LIMIT_MS, work, what);
    } catch (error) {
      this.options.fatal(error as Error);
      throw error;
    }
  }

  private open(key: string, data: Buffer): string {
    try {
      return this.options.sealer.open(placeOf(this.options.account, key), data);
    } catch (error) {
      this.options.fatal(error as Error);
      throw error;
    }
  }

  private text(value: unknown): string {
    return JSON.stringify(value, this.options.baileys.BufferJSON.replacer);
  }

  private revive(type: string, json: string): unknown {
    const { BufferJSON, proto } = this.options.baileys;
    const value = JSON.parse(json, BufferJSON.reviver);
    return type === 'app-state-sync-key' && value ? proto.Message.AppStateSyncKeyData.fromObject(value) : value;
  }
}

/** Marks a key as missing in the database; no JSON text is empty. */
const NONE = '';

/** Repeats `work` while the database is away, until it succeeds or `ms` have passed. A call that hangs fails too. */
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
