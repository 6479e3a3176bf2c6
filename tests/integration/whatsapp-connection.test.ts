import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { wish } from '../../src/store/whatsapp/account.ts';
import { readCreds } from '../../src/store/whatsapp/auth.ts';
import { startTestDatabase, type TestDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';
import { ACCOUNT, type ConnectedGateway, link, startGateway } from '../support/whatsapp/connected.ts';
import { startWhatsAppFixture, type WhatsAppFixture } from '../support/whatsapp/fixture.ts';

let database: TestDatabase;
let fixture: WhatsAppFixture;
const gateways: ConnectedGateway[] = [];

beforeAll(async () => {
  database = await startTestDatabase(12);
});
afterAll(async () => database?.close());
beforeEach(async () => {
  for (const table of ['wa_accounts', 'wa_creds', 'wa_keys', 'wa_inbox']) await sql.raw(`delete from ${table}`).execute(database.store.db);
  fixture = await startWhatsAppFixture();
});
afterEach(async () => {
  await Promise.all(gateways.splice(0).map((gateway) => gateway.stop()));
  await fixture.close();
});

const start = async (options: Parameters<typeof startGateway>[2] = {}): Promise<ConnectedGateway> => {
  const gateway = await startGateway(fixture, database.store, options);
  gateways.push(gateway);
  return gateway;
};
const linked = async (options: Parameters<typeof startGateway>[2] = {}): Promise<ConnectedGateway> => {
  const gateway = await start(options);
  await link(fixture, database.store, gateway);
  return gateway;
};
const want = (wanted: 'on' | 'off' | 'out', pairPhone: string | null = null) => wish(database.store.db, ACCOUNT, { wanted, pairPhone });
const logins = () => fixture.ledger.logins.filter(({ outcome }) => outcome === 'accepted').length;
const rows = async () => (await database.store.db.selectFrom('wa_inbox').selectAll().orderBy('seq').execute()).map((row) => row.message_id);

/** How many statements wait for a lock on a table. */
const waitingFor = async (table: string): Promise<number> => {
  const { rows: found } = await sql<{
    n: number;
  }>`select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and query like ${`%${table}%`}`.execute(database.store.db);
  return found[0]!.n;
};

describe('pairing', () => {
  it('does nothing until somebody wants it', async () => {
    const gateway = await start();
    await until('it looked around', () => gateway.row().then((row) => row === undefined || row === null), 2_000);
    expect(fixture.connections).toHaveLength(0);
  });

  it('by QR: scanned once, connected after the restart that WhatsApp asks for, and known by both addresses', async () => {
    const gateway = await linked();
    expect(await gateway.row()).toMatchObject({
      state: 'authenticated',
      qr: null,
      pairing_code: null,
      last_error: null,
      needs: null,
      jid: fixture.account.pn,
      lid: fixture.account.lid,
      number_mode: 'shared',
    });
    expect(gateway.connection.live()?.me).toEqual({ jid: fixture.account.pn, lid: fixture.account.lid });
    expect(logins()).toBe(1);
  });

  it('by a code that is typed on the phone', async () => {
    const gateway = await start();
    await want('on', '15550001111');
    const { pairing_code: code, qr } = await gateway.rowWith('a pairing code', (row) => row.pairing_code !== null);
    expect([code, qr]).toEqual([expect.stringMatching(/^[0-9A-Z]{8}$/), null]);
    await fixture.phone.enterCode(code!);
    await gateway.rowWith('it is connected', (row) => row.state === 'authenticated');
  });

  it('renews the QR, and after the last one waits to be asked again, with keys of their own', async () => {
    fixture.faults.pairingRefs = 1;
    const gateway = await start();
    await want('on');
    const first = (await gateway.rowWith('a QR', (row) => row.qr !== null)).qr!;
    for (const connection of fixture.connections) connection.terminate();
    const second = (await gateway.rowWith('another QR', (row) => row.qr !== null && row.qr !== first)).qr!;
    expect(second.split(',')[2]).not.toBe(first.split(',')[2]);
    expect(await readCreds(database.store.db, ACCOUNT)).toBeNull();
  });

  it('follows a withdrawn secret with a new QR', async () => {
    const gateway = await start();
    await want('on');
    const first = (await gateway.rowWith('a QR', (row) => row.qr !== null)).qr!;
    fixture.rotateAdvSecret();
    const second = (await gateway.rowWith('a QR with another secret', (row) => row.qr !== null && row.qr !== first)).qr!;
    const differing = second.split(',').flatMap((field, index) => (field === first.split(',')[index] ? [] : [index]));
    expect(differing).toEqual([3]);
    await fixture.phone.scan(second);
    await gateway.rowWith('it is connected', (row) => row.state === 'authenticated');
  });

  it('given up leaves nothing', async () => {
    const gateway = await start();
    await want('on');
    await gateway.rowWith('a QR', (row) => row.qr !== null);
    await want('off');
    await gateway.rowWith('it is off', (row) => row.state === 'disconnected' && row.qr === null);
    await until('its socket is closed', () => fixture.connections.length === 0, 5_000);
    expect(await readCreds(database.store.db, ACCOUNT)).toBeNull();
  });
});

describe('a linked account', () => {
  it('connects by itself after a restart', async () => {
    const gateway = await linked();
    await gateway.stop();
    expect(await gateway.row()).toMatchObject({ state: 'disconnected', lease_holder: null, wanted: 'on' });
    await start();
    await until('it logged in again', () => logins() === 2, 10_000);
  });

  it('has one live socket: a second gateway waits for the lease and takes over', async () => {
    const first = await linked({ holder: 'first' });
    const second = await start({ holder: 'second' });
    await until('the second one waits', () => second.lines.some((line) => line.includes('waiting for its lease')), 5_000);
    expect(fixture.connections).toHaveLength(1);
    await first.stop();
    await second.rowWith('the second one is connected', (row) => row.state === 'authenticated' && row.lease_holder === 'second');
    expect(second.connection.live()).not.toBeNull();
  });

  it('closes its socket at once when it loses the lease', async () => {
    const gateway = await linked();
    await sql`update wa_accounts set lease_holder = 'another', lease_until = now() + interval '1 hour'`.execute(database.store.db);
    await until('its socket is closed', () => gateway.connection.live() === null && fixture.connections.length === 0, 5_000);
    expect((await gateway.row()).lease_holder).toBe('another');
  });

  it('restarts when asked, and joins a second wish to be on', async () => {
    const gateway = await linked();
    await want('on');
    await until('it logged in again', () => logins() === 2, 10_000);
    expect(gateway.exits).toEqual([]);
  });

  it('logs out, which the phone sees, and can be linked again', async () => {
    const gateway = await linked();
    await want('out');
    await gateway.rowWith('it is logged out', (row) => row.wanted === 'off' && row.jid === null && row.needs === 'pairing');
    await until('the phone has removed it', () => fixture.devices.length === 0, 5_000);
    expect(await readCreds(database.store.db, ACCOUNT)).toBeNull();
    await link(fixture, database.store, gateway);
    expect(fixture.devices).toHaveLength(1);
  });

  it('logs out also while it is not connected', async () => {
    const gateway = await linked();
    await want('off');
    await gateway.rowWith('it is off', (row) => row.state === 'disconnected');
    await want('out');
    await gateway.rowWith('it is logged out', (row) => row.wanted === 'off' && row.jid === null);
    await until('the phone has removed it', () => fixture.devices.length === 0, 5_000);
  });

  it('never logs a private key, a number or a text', async () => {
    const gateway = await linked();
    const bob = fixture.contact('Bob');
    await bob.send('a very private text');
    await until('it is stored', async () => (await rows()).length === 1, 10_000);
    const log = gateway.lines.join('\n');
    expect(log).not.toMatch(/private text|15550001111|privKey|noiseKey|signedIdentityKey|"public"/);
  });
});

describe('each way that a connection ends', () => {
  it.each([
    ['a dropped line', () => fixture.disconnect('tcp')],
    ['the end of the stream', () => fixture.disconnect('xmlstreamend')],
    ['a restart at runtime', () => fixture.disconnect({ streamError: 515 })],
    ['a broken session', () => fixture.disconnect({ streamError: 500 })],
  ] as const)('%s: connects again by itself', async (_what, end) => {
    const gateway = await linked();
    const before = gateway.connection.live();
    end();
    await until('it is connected anew', () => gateway.connection.live() !== null && gateway.connection.live() !== before, 15_000);
    expect(logins()).toBe(2);
    expect((await gateway.rowWith('it says so', (row) => row.state === 'authenticated')).last_error).toBeNull();
  });

  it('503: keeps away for at least half a minute', async () => {
    const gateway = await linked();
    fixture.disconnect({ streamError: 503 });
    const row = await gateway.rowWith('it is away', (now) => now.state === 'disconnected');
    expect([row.last_code, row.last_error]).toEqual([503, expect.stringContaining('unavailable')]);
    expect(logins()).toBe(1);
  });

  it('440, replaced by another: does not throw the other out', async () => {
    const gateway = await linked();
    fixture.disconnect('replaced');
    await gateway.rowWith('it stays away', (row) => row.needs === 'lease' && row.last_code === 440);
    expect(logins()).toBe(1);
    await want('on');
    await until('it connects when asked', () => logins() === 2, 10_000);
  });

  it('401, removed on the phone: puts the credentials aside and asks for a new link', async () => {
    const gateway = await linked();
    fixture.disconnect('device_removed');
    await gateway.rowWith('it needs a new link', (row) => row.needs === 'pairing' && row.wanted === 'off' && row.jid === null);
    expect(await readCreds(database.store.db, ACCOUNT)).toBeNull();
    await link(fixture, database.store, gateway);
  });

  it.each([
    [403, 'person'],
    [406, 'person'],
    [402, 'person'],
    [409, 'person'],
    [411, 'person'],
  ])('a login refused with %i: stops until a person has looked, also over a restart', async (code, needs) => {
    const gateway = await linked();
    fixture.refuseLogins(code);
    fixture.disconnect('tcp');
    const row = await gateway.rowWith('it stops', (now) => now.needs === needs);
    expect([row.state, row.last_code]).toEqual(['error', code]);
    const seen = fixture.ledger.logins.length;
    await gateway.stop();
    const next = await start();
    await until('the next one has looked', () => next.connection.live() === null, 2_000);
    expect(fixture.ledger.logins.length).toBe(seen);
    fixture.refuseLogins(null);
    await want('on');
    await next.rowWith('it is connected when asked', (now) => now.state === 'authenticated' && now.needs === null);
  });

  it.each([400, 413, 414, 415, 418, 501])('a login refused with the rare code %i: is tried a few times, then a person is asked', async (code) => {
    const gateway = await linked();
    fixture.refuseLogins(code);
    fixture.disconnect('tcp');
    await gateway.rowWith('it stops', (row) => row.last_code === code && row.needs === 'person');
    expect(fixture.ledger.logins.filter(({ outcome }) => outcome === 'refused').length).toBeGreaterThan(3);
  });

  it.each([500, 503])('a login refused with %i: tries again by itself', async (code) => {
    const gateway = await linked();
    fixture.refuseLogins(code);
    fixture.disconnect('tcp');
    await gateway.rowWith('it was refused', (row) => row.last_code === code && row.needs === null && row.state === 'disconnected');
    expect((await gateway.row()).wanted).toBe('on');
  });

  it('a login refused with 401: asks for a new link', async () => {
    const gateway = await linked();
    fixture.refuseLogins(401);
    fixture.disconnect('tcp');
    await gateway.rowWith('it needs a new link', (row) => row.needs === 'pairing' && row.wanted === 'off');
  });
});

describe('what arrives', () => {
  it('is stored before WhatsApp is told that it arrived', async () => {
    const gateway = await linked();
    const bob = fixture.contact('Bob');
    let id = '';
    await database.store.db.transaction().execute(async (tx) => {
      await sql`lock table wa_inbox in access exclusive mode`.execute(tx);
      ({ id } = await bob.send('hello'));
      await until('its transaction waits for the table', async () => (await waitingFor('wa_inbox')) > 0, 5_000);
      expect(fixture.ledger.receipts.filter(({ stanza }) => stanza.attrs.id === id)).toHaveLength(0);
      expect(fixture.queue.length).toBeGreaterThan(0);
    });
    await until('the receipt left', () => fixture.ledger.receipts.some(({ stanza }) => stanza.attrs.id === id), 5_000);
    expect(await rows()).toEqual([id]);
    expect(gateway.stored()).toBe(1);
  });

  it('is stored once, with its sender in both forms, whatever is sent twice', async () => {
    await linked();
    const bob = fixture.contact('Bob');
    const { id } = await bob.send('one');
    await until('it is stored', async () => (await rows()).length === 1, 5_000);
    await bob.send('one', { id });
    await bob.send('two', { addressing: 'pn' });
    await until('the next is stored', async () => (await rows()).length >= 2, 5_000);
    const stored = await database.store.db.selectFrom('wa_inbox').selectAll().orderBy('seq').execute();
    expect(stored.map((row) => row.message_id).filter((each) => each === id)).toHaveLength(1);
    expect(stored[0]).toMatchObject({ chat: bob.lid, from_me: false, attrs: expect.objectContaining({ sender_pn: bob.pn, notify: 'Bob' }) });
  });

  it('and comes again because its receipt was lost is acknowledged, and nobody is asked to send it anew', async () => {
    await linked();
    const bob = fixture.contact('Bob');
    const group = fixture.group('Friends', [bob]);
    const before = fixture.ledger.complaints.length;
    for (const [id, send] of [
      ['3A00000000000000AAAA', (id: string) => bob.send('one', { id })],
      ['3A00000000000000BBBB', (id: string) => group.send(bob, 'two', { id })],
    ] as const) {
      fixture.faults.loseReceipt(id);
      await send(id);
      await until('it is acknowledged again', () => fixture.ledger.receipts.filter(({ stanza }) => stanza.attrs.id === id).length >= 2, 20_000);
      await until('its receipt came after all', () => fixture.queue.length === 0 && fixture.connections.length === 1, 20_000);
      expect(fixture.ledger.complaints.length).toBe(before);
      expect((await rows()).filter((each) => each === id)).toHaveLength(1);
    }
  });

  it('of a group is one row each, and the keys that come with the first are none', async () => {
    await linked();
    const bob = fixture.contact('Bob');
    const group = fixture.group('Friends', [bob]);
    const ids = [(await group.send(bob, 'first')).id, (await group.send(bob, 'second')).id];
    await until('both are stored', async () => (await rows()).length === 2, 10_000);
    expect(await rows()).toEqual(ids);
    const [row] = await database.store.db.selectFrom('wa_inbox').selectAll().execute();
    expect(row).toMatchObject({ participant: bob.lid, from_me: false });
  });

  it('while it was away comes afterwards, in order', async () => {
    const gateway = await linked();
    const bob = fixture.contact('Bob');
    await gateway.stop();
    const ids: string[] = [];
    for (let n = 0; n < 20; n++) ids.push((await bob.send(`message ${n}`)).id);
    await start();
    await until('all are stored', async () => (await rows()).length === 20, 15_000);
    expect(await rows()).toEqual(ids);
    await until('nothing waits any more', () => fixture.queue.length === 0, 10_000);
  });

  it('without content is a stub that the content from the phone replaces', async () => {
    await linked();
    const bob = fixture.contact('Bob');
    await bob.send('so that a session is there');
    await until('it is stored', async () => (await rows()).length === 1, 5_000);
    const { id } = await bob.send('hidden at first', { unavailable: true });
    const find = () => database.store.db.selectFrom('wa_inbox').selectAll().where('message_id', '=', id).execute();
    await until('the stub is stored', async () => (await find()).length === 1, 5_000);
    await until('its content came', async () => (await find())[0]!.content !== null, 15_000);
    expect(await find()).toHaveLength(1);
  });

  it('and cannot be decrypted is asked for again, and then stored under the same id', async () => {
    await linked();
    const bob = fixture.contact('Bob');
    await bob.send('so that a session is there');
    await until('it is stored', async () => (await rows()).length === 1, 5_000);
    const { id } = await bob.send('garbled at first', { corrupt: true });
    const find = () => database.store.db.selectFrom('wa_inbox').selectAll().where('message_id', '=', id).execute();
    await until('its content came', async () => (await find())[0]?.content, 15_000);
    expect(await find()).toHaveLength(1);
  });

  it('on the own phone is known as typed by the owner', async () => {
    await linked();
    const { id } = await fixture.phone.selfChat('note to self');
    await until('it is stored', async () => (await rows()).includes(id), 10_000);
    const [row] = await database.store.db.selectFrom('wa_inbox').selectAll().where('message_id', '=', id).execute();
    expect(row).toMatchObject({ from_me: true, chat: fixture.account.lid });
  });

  it('both ways at once leaves no message undecryptable', async () => {
    const gateway = await linked();
    const people = ['Ann', 'Ben', 'Cid'].map((name) => fixture.contact(name));
    for (const person of people) await person.send('hello');
    await until('sessions are there', async () => (await rows()).length === 3, 10_000);
    const { sock } = gateway.connection.live()!;
    const sends: Array<Promise<unknown>> = [];
    for (let n = 0; n < 30; n++) {
      for (const person of people) {
        sends.push(sock.sendMessage(person.lid, { text: `out ${n}` }), person.send(`in ${n}`));
      }
    }
    await Promise.all(sends);
    await until('everything that came is stored', async () => (await rows()).length === 93, 30_000);
    await until('everything that was sent is shown', () => people.every((person) => person.received.length === 30), 30_000);
    expect(fixture.ledger.undecryptable).toEqual([]);
    expect(fixture.ledger.complaints).toEqual([]);
    expect(gateway.exits).toEqual([]);
  });
});

describe('what is sent', () => {
  it('is not on the wire before the ratchet that encrypted it is committed', async () => {
    const gateway = await linked();
    const bob = fixture.contact('Bob');
    await bob.send('so that a session is there');
    await until('it is stored', async () => (await rows()).length === 1, 5_000);
    const { sock } = gateway.connection.live()!;
    await sock.sendMessage(bob.lid, { text: 'first' });
    let sending: Promise<unknown> = Promise.resolve();
    await database.store.db.transaction().execute(async (tx) => {
      await sql`lock table wa_keys in access exclusive mode`.execute(tx);
      sending = sock.sendMessage(bob.lid, { text: 'second' });
      await until('its transaction waits for the table', async () => (await waitingFor('wa_keys')) > 0, 5_000);
      expect(fixture.ledger.messages).toHaveLength(1);
    });
    await sending;
    await until('both are shown', () => bob.received.length === 2, 5_000);
  });

  it('to a group carries its keys once and can be read by everybody', async () => {
    const gateway = await linked();
    const [bob, eve] = [fixture.contact('Bob'), fixture.contact('Eve')];
    const group = fixture.group('Friends', [bob, eve]);
    const { sock } = gateway.connection.live()!;
    for (const text of ['one', 'two', 'three']) await sock.sendMessage(group.jid, { text });
    await until('all are shown', () => [bob, eve].every((person) => person.received.length === 3), 10_000);
    expect(fixture.ledger.undecryptable).toEqual([]);
  });
});

describe('a store that fails', () => {
  it('ends the process, before anything is acknowledged', async () => {
    const gateway = await linked();
    const bob = fixture.contact('Bob');
    const { id } = await database.store.db.transaction().execute(async (tx) => {
      await sql`lock table wa_inbox in access exclusive mode`.execute(tx);
      const sent = await bob.send('hello');
      await until('it gives up', () => gateway.exits.length > 0, 15_000);
      return sent;
    });
    expect(gateway.exits[0]).toContain('could not be read or stored');
    expect(fixture.ledger.receipts.filter(({ stanza }) => stanza.attrs.id === id)).toHaveLength(0);
    expect(fixture.queue.length).toBeGreaterThan(0);
  });

  it('is survived when the database only restarts', async () => {
    const gateway = await linked();
    const bob = fixture.contact('Bob');
    await sql`select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and application_name = 'fetch-test'`.execute(
      database.store.db,
    );
    await bob.send('hello');
    await until('it is stored', async () => (await rows()).length === 1, 10_000);
    expect(gateway.exits).toEqual([]);
    expect(gateway.connection.live()).not.toBeNull();
  });

  it('with another key is told as what it is, and nothing is lost', async () => {
    const gateway = await linked();
    await gateway.stop();
    const stranger = await start({ key: 'ab'.repeat(32) });
    const row = await stranger.rowWith('it says so', (now) => now.state === 'error');
    expect(row.last_error).toContain('FETCH_ENCRYPTION_KEY');
    await stranger.stop();
    const again = await start();
    await again.rowWith('the right key connects', (now) => now.state === 'authenticated');
  });
});
