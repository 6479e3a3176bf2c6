import { randomBytes } from 'node:crypto';
import * as baileys from '@whiskeysockets/baileys';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createSealer } from '../../../../../src/adapters/encryption.ts';
import type { LeaseHolder } from '../../../../../src/gateway/channels/channel.ts';
import { acquireLease } from '../../../../../src/gateway/channels/shared/lease.ts';
import { INBOX, openAuthState } from '../../../../../src/gateway/channels/whatsapp/ratchet/auth-state.ts';
import { createThread } from '../../../../../src/store/chats/threads/threads.ts';
import { openStore } from '../../../../../src/store/postgres/database.ts';
import {
  dropLease,
  holdLease,
  leaseOfAccount,
  readAccount,
  tellElsewhere,
  wish,
} from '../../../../../src/store/whatsapp/account.ts';
import { archiveAuth, LeaseLost, readCreds, readKeys, writeAuth } from '../../../../../src/store/whatsapp/auth.ts';
import { waiting } from '../../../../../src/store/whatsapp/inbox.ts';
import { startTestDatabase, type TestDatabase } from '../../../../support/database.ts';
import { startPartition } from '../../../../support/partition.ts';
import { until, within } from '../../../../support/until.ts';
import { SenderKeys } from '../../../../support/whatsapp/sender-keys.ts';

const account = 'default';
const key = randomBytes(32).toString('hex');
const log = { info() {}, warn() {}, error() {}, debug() {}, trace() {} } as never;
let database: TestDatabase;

beforeAll(async () => {
  database = await startTestDatabase(8);
});
afterAll(async () => database?.close());
beforeEach(async () => {
  for (const table of ['wa_accounts', 'wa_creds', 'wa_keys', 'wa_inbox'])
    await sql.raw(`delete from ${table}`).execute(database.store.db);
});

const received = (messageId: string) => ({
  account,
  chat: 'c@lid',
  participant: '',
  fromMe: false,
  messageId,
  content: Buffer.from('text'),
  attrs: { t: '1' },
});

async function open(
  options: { holder?: string | null; encryption?: string; fatal?: string[]; limitMs?: number; paired?: boolean } = {},
) {
  const state = await openAuthState({
    db: database.store.db,
    account,
    sealer: createSealer(options.encryption ?? key),
    baileys,
    holder: options.holder ?? null,
    fatal: (error) => options.fatal?.push(error.message),
    limitMs: options.limitMs,
  });
  if (options.paired !== false) state.creds.account = { accountSignatureKey: Buffer.from([1]) };
  return state;
}

describe('the auth state', () => {
  it('gives back every kind of value as Baileys stored it, also in a new process', async () => {
    const values = {
      'pre-key': { '1': { private: Buffer.from([1, 2]), public: Buffer.from([3]) } },
      session: { 'a.0': Buffer.from('session') },
      'lid-mapping': { '49170': '100', '100_reverse': '49170' },
      'device-list': { '49170': ['0', '3'] },
      'sender-key-memory': { 'g@g.us': { 'a@lid': true } },
      'app-state-sync-key': {
        AAA: baileys.proto.Message.AppStateSyncKeyData.fromObject({ keyData: Buffer.from([9]), timestamp: 5 }),
      },
      'a-type-of-tomorrow': { x: { n: 1 } },
    };
    const first = await open();
    await first.keys.set(values as never);
    for (const state of [first, await open()]) {
      for (const [type, entries] of Object.entries(values)) {
        const found = await state.keys.get(type as never, [...Object.keys(entries), 'missing']);
        expect(JSON.parse(JSON.stringify(found, baileys.BufferJSON.replacer))).toEqual(
          JSON.parse(JSON.stringify(entries, baileys.BufferJSON.replacer)),
        );
      }
    }
    const revived = (await (await open()).keys.get('app-state-sync-key', ['AAA'])).AAA;
    expect(revived).toBeInstanceOf(baileys.proto.Message.AppStateSyncKeyData);
  });

  it('deletes with null, and callers may change what they were given', async () => {
    const state = await open();
    await state.keys.set({ 'device-list': { a: ['0'] }, session: { s: Buffer.from([1]) } });
    (await state.keys.get('device-list', ['a'])).a!.push('7');
    expect((await state.keys.get('device-list', ['a'])).a).toEqual(['0']);
    await state.keys.set({ session: { s: null } });
    expect(await state.keys.get('session', ['s'])).toEqual({});
    expect(await readKeys(database.store.db, account, 'session', ['s'])).toEqual([]);
  });

  it('stores nothing readable', async () => {
    const state = await open();
    await state.keys.set({ session: { s: Buffer.from('very secret') } });
    await state.save();
    const [row] = await readKeys(database.store.db, account, 'session', ['s']);
    const creds = await readCreds(database.store.db, account);
    for (const data of [row!.data, creds!.data]) expect(data.toString('latin1')).not.toMatch(/secret|private|Buffer/);
    await expect(open({ encryption: randomBytes(32).toString('hex') })).rejects.toThrow(/FETCH_ENCRYPTION_KEY/);
  });

  it('writes a decrypted message in the transaction of its ratchet step, or neither', async () => {
    const fatal: string[] = [];
    const state = await open({ fatal });
    await state.keys.set({ session: { s: Buffer.from([1]) }, [INBOX]: { a: received('M1') } } as never);
    expect((await waiting(database.store.db, account, 10)).map((row) => row.messageId)).toEqual(['M1']);
    const broken = { ...received('M2'), chat: null };
    await expect(
      state.keys.set({ session: { s: Buffer.from([2]) }, [INBOX]: { a: broken } } as never),
    ).rejects.toThrow();
    expect(fatal).toHaveLength(1);
    expect(Buffer.from((await (await open()).keys.get('session', ['s'])).s!)).toEqual(Buffer.from([1]));
  });

  it('opens group messages in any order, also in a new process', async () => {
    const [groupId, authorJid] = ['1203630@g.us', '900002@lid'];
    const phone = new SenderKeys('900002');
    const item = { groupId, axolotlSenderKeyDistributionMessage: await phone.distribution(groupId) };
    const sent: Buffer[] = [];
    for (const text of ['one', 'two', 'three', 'four']) sent.push(await phone.encrypt(groupId, Buffer.from(text)));
    const repository = async () => {
      const { creds, keys } = await open();
      const transactions = { maxCommitRetries: 1, delayBetweenTriesMs: 1 };
      const auth = { creds, keys: baileys.addTransactionCapability(keys, log, transactions) };
      return baileys.DEFAULT_CONNECTION_CONFIG.makeSignalRepository(auth, log, async () => undefined);
    };
    const first = await repository();
    await first.processSenderKeyDistributionMessage({ item, authorJid });
    const read = async (by: typeof first, at: number) =>
      Buffer.from(await by.decryptGroupMessage({ group: groupId, authorJid, msg: sent[at]! })).toString();
    expect(await read(first, 3)).toBe('four');
    expect(await read(first, 1)).toBe('two');
    const second = await repository();
    expect([await read(second, 2), await read(second, 0)]).toEqual(['three', 'one']);
    await expect(read(second, 0)).rejects.toThrow('old counter');
  });

  it('takes changed credentials along with the next keys: a pre-key and its counter cannot come apart', async () => {
    const state = await open();
    state.creds.nextPreKeyId = 813;
    state.touch();
    await state.keys.set({ 'pre-key': { '812': { private: Buffer.from([1]), public: Buffer.from([2]) } } });
    expect((await open({ paired: false })).creds.nextPreKeyId).toBe(813);
  });

  it('never lets an older save replace a newer one', async () => {
    const state = await open();
    const saves = Array.from({ length: 20 }, (_, index) => {
      state.creds.accountSyncCounter = index + 1;
      return state.save();
    });
    await Promise.all(saves);
    expect((await open({ paired: false })).creds.accountSyncCounter).toBe(20);
    const { rev } = (await readCreds(database.store.db, account))!;
    await writeAuth(
      database.store.db,
      account,
      { keys: [], creds: { data: Buffer.from('old'), rev: rev - 1 } },
      { holder: null, timeoutMs: 1_000 },
    );
    expect((await open({ paired: false })).creds.accountSyncCounter).toBe(20);
  });

  it('leaves nothing behind of a pairing that was given up', async () => {
    const state = await open({ paired: false });
    await state.save();
    expect(await readCreds(database.store.db, account)).toBeNull();
    expect((await open({ paired: false })).creds.registrationId).not.toBe(undefined);
  });

  it('gives up, and the process with it, when the database hangs', async () => {
    const fatal: string[] = [];
    const state = await open({ fatal, limitMs: 300 });
    await database.store.db.transaction().execute(async (tx) => {
      await sql`lock table wa_keys in access exclusive mode`.execute(tx);
      await expect(state.keys.set({ session: { s: Buffer.from([1]) } })).rejects.toThrow();
      await expect(state.keys.get('session', ['other'])).rejects.toThrow(/300 ms/);
    });
    expect(fatal).toHaveLength(2);
  });

  it('puts credentials and keys aside at a logout, where only the same account and key can read them', async () => {
    const state = await open();
    await state.keys.set({ session: { s: Buffer.from([1]) } });
    await state.save();
    const kept = await readCreds(database.store.db, account);
    await archiveAuth(database.store.db, account);
    await archiveAuth(database.store.db, account);
    expect(await readCreds(database.store.db, account)).toBeNull();
    expect(await (await open()).keys.get('session', ['s'])).toEqual({});
    expect(createSealer(key).open('default/creds', kept!.data)).toContain('noiseKey');
  });
});

describe('the lease', () => {
  const nobodyDies: Pick<LeaseHolder, 'isDead'> = { isDead: async () => false };
  const never = new AbortController().signal;
  const take = (
    id: string,
    options: {
      ttlMs?: number;
      everyMs?: number;
      isDead?: LeaseHolder['isDead'];
      signal?: AbortSignal;
      onWait?: () => void;
    } = {},
  ) =>
    acquireLease(
      {
        row: leaseOfAccount(database.store.db, account),
        of: 'WhatsApp account',
        holder: { id, isDead: options.isDead ?? nobodyDies.isDead },
        log,
        ttlMs: options.ttlMs ?? 2_000,
        everyMs: options.everyMs ?? 100,
      },
      options.signal ?? never,
      options.onWait ?? (() => {}),
    );

  beforeEach(() => wish(database.store.db, account, { wanted: 'on' }));

  it('lets a second gateway wait, and take over when the first gives it back', async () => {
    const first = (await take('first'))!;
    let waits = 0;
    const second = take('second', { onWait: () => waits++ });
    await until('the second one waits', () => waits === 1, 5_000);
    expect((await readAccount(database.store.db, account))!.lease_holder).toBe('first');
    await first.release();
    await (await second)!.release();
  });

  it('outlives its own time while it is renewed', async () => {
    const lease = (await take('first', { ttlMs: 300, everyMs: 50 }))!;
    const begun = Date.now();
    await until('three times its life have passed', () => Date.now() - begun > 900, 5_000);
    expect(lease.lost.aborted).toBe(false);
    expect(await holdLease(database.store.db, account, 'second', 300)).toBe(false);
    await lease.release();
  });

  it('is noticed as lost at once when another gateway has it', async () => {
    const lease = (await take('first', { everyMs: 20 }))!;
    await sql`update wa_accounts set lease_holder = 'second'`.execute(database.store.db);
    await within('it is lost', () => lease.lost.aborted, 2_000);
    await lease.release();
    expect((await readAccount(database.store.db, account))!.lease_holder).toBe('second');
  });

  it('ends by the clock of this process when the database hangs', async () => {
    const lease = (await take('first', { ttlMs: 300, everyMs: 50 }))!;
    await database.store.db.transaction().execute(async (tx) => {
      await sql`lock table wa_accounts in access exclusive mode`.execute(tx);
      await within('it is lost', () => lease.lost.aborted, 2_000);
    });
    await lease.release();
  });

  it('of a killed gateway on this machine is taken over without waiting', async () => {
    await holdLease(database.store.db, account, 'killed', 3_600_000);
    const lease = (await take('next', { isDead: async (id) => id === 'killed' }))!;
    expect((await readAccount(database.store.db, account))!.lease_holder).toBe('next');
    await lease.release();
  });

  it('stops waiting when it is told to', async () => {
    await holdLease(database.store.db, account, 'other', 3_600_000);
    const stop = new AbortController();
    const waitingFor = take('next', { signal: stop.signal, onWait: () => stop.abort() });
    expect(await waitingFor).toBeNull();
  });

  it('is not kept from a successor by a gateway that was cut off in the middle of a write', async () => {
    const { db } = database.store;
    const network = await startPartition({ host: '127.0.0.1', port: Number(new URL(database.url).port) });
    const cutOff = await openStore(Object.assign(new URL(database.url), { port: String(network.port) }).href, {
      max: 1,
      migrate: false,
    });
    try {
      await holdLease(db, account, 'old', 1);
      const change = { keys: [{ type: 'session', id: 'a', data: Buffer.from('new') }] };
      await writeAuth(db, account, change, { holder: null, timeoutMs: 1_000 });
      let writing: Promise<unknown>;
      // another writer of the same key holds it up, between its two statements, until the network is gone
      await db.transaction().execute(async (tx) => {
        await sql`select 1 from wa_keys for update`.execute(tx);
        writing = writeAuth(cutOff.db, account, change, { holder: 'old', timeoutMs: 1_500 }).catch(() => {});
        await until('the write waits', async () => {
          const { rows } =
            await sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like 'insert into wa_keys%'`.execute(
              db,
            );
          return rows.length > 0;
        });
        network.cut();
      });
      const begun = performance.now();
      const lease = (await take('next'))!;
      expect(performance.now() - begun).toBeLessThan(6_000);
      await lease.release();
      network.heal();
      await writing!;
    } finally {
      await network.close();
      await cutOff.close();
    }
  });

  it('fences: who lost it cannot write keys any more, and a successor waits for a write in progress', async () => {
    await holdLease(database.store.db, account, 'old', 2_000);
    const options = { holder: 'old', timeoutMs: 1_000 };
    await writeAuth(database.store.db, account, { keys: [{ type: 't', id: '1', data: Buffer.from([1]) }] }, options);
    await dropLease(database.store.db, account, 'old');
    await holdLease(database.store.db, account, 'new', 2_000);
    await expect(
      writeAuth(database.store.db, account, { keys: [{ type: 't', id: '1', data: Buffer.from([2]) }] }, options),
    ).rejects.toThrow(LeaseLost);
    expect((await readKeys(database.store.db, account, 't', ['1']))[0]!.data).toEqual(Buffer.from([1]));
  });
});

describe('notices about WhatsApp', () => {
  const db = () => database.store.db;
  const tell = (key: string, needsPerson: boolean) =>
    tellElsewhere(db(), account, key, () => `about ${key}`, needsPerson);
  const thread = (channel: 'api' | 'console', fields: { archived?: boolean } = {}) => {
    const as = {
      model: 'auto',
      workspace: '/',
      mode: 'agent',
      allow_shell: false,
      trust_mode: false,
      auto_approve: false,
      autonomy: 'cautious',
    } as const;
    return createThread(db(), { channel, ...as, archived: false, ...fields, chatKey: (address) => address });
  };
  const toldIn = async (threadId: string) =>
    (
      await db()
        .selectFrom('outbox')
        .select(['body', 'state'])
        .where('thread_id', '=', threadId)
        .orderBy('ord')
        .execute()
    ).map(({ body, state }) => [body, state]);

  it('are no error where there is nobody to tell', async () => {
    await tell('nobody', true);
  });

  it('that need a person are said once in the thread of the API that was used last, and all of them on the terminal', async () => {
    const terminal = await thread('console');
    const [old, latest, unused] = [await thread('api'), await thread('api'), await thread('api')];
    const archived = await thread('api', { archived: true });
    const usedAt = (id: string, at: number) =>
      db()
        .updateTable('threads')
        .set({ updated_at: new Date(at) })
        .where('id', '=', id)
        .execute();
    await usedAt(old.id, Date.now() - 60_000);
    await usedAt(unused.id, Date.now() - 25 * 3_600_000);
    await tell('a ban', true);
    await tell('a detail', false);
    await usedAt(old.id, Date.now() + 1_000);
    await tell('a ban', true);
    expect(await toldIn(terminal.id)).toEqual([
      ['about a ban', 'sent'],
      ['about a detail', 'sent'],
    ]);
    expect(await toldIn(latest.id)).toEqual([['about a ban', 'sent']]);
    for (const { id } of [old, unused, archived]) expect(await toldIn(id)).toEqual([]);
  });
});
