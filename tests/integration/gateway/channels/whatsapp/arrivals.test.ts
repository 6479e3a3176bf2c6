import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { until } from '../../../../support/until.ts';
import { gatewaysOfTest } from '../../../../support/whatsapp/gateways.ts';

/** What arrives is stored before it is acknowledged, and the Signal state before its bytes leave. */

const world = gatewaysOfTest();
const { db, start, linked, rows, waitingFor } = world;

describe('what arrives', () => {
  it('is stored before WhatsApp is told that it arrived', async () => {
    const gateway = await linked();
    const bob = world.fixture.contact('Bob');
    let id = '';
    await db()
      .transaction()
      .execute(async (tx) => {
        await sql`lock table wa_inbox in access exclusive mode`.execute(tx);
        ({ id } = await bob.send('hello'));
        await until('its transaction waits for the table', async () => (await waitingFor('wa_inbox')) > 0, 5_000);
        expect(world.fixture.ledger.receipts.filter(({ stanza }) => stanza.attrs.id === id)).toHaveLength(0);
        expect(world.fixture.queue.length).toBeGreaterThan(0);
      });
    await until(
      'the receipt left',
      () => world.fixture.ledger.receipts.some(({ stanza }) => stanza.attrs.id === id),
      5_000,
    );
    expect(await rows()).toEqual([id]);
    expect(gateway.stored()).toBe(1);
  });

  it('is stored once, with its sender in both forms, whatever is sent twice', async () => {
    await linked();
    const bob = world.fixture.contact('Bob');
    const { id } = await bob.send('one');
    await until('it is stored', async () => (await rows()).length === 1, 5_000);
    await bob.send('one', { id });
    await bob.send('two', { addressing: 'pn' });
    await until('the next is stored', async () => (await rows()).length >= 2, 5_000);
    const stored = await db().selectFrom('wa_inbox').selectAll().orderBy('seq').execute();
    expect(stored.map((row) => row.message_id).filter((each) => each === id)).toHaveLength(1);
    expect(stored[0]).toMatchObject({
      chat: bob.lid,
      from_me: false,
      attrs: expect.objectContaining({ sender_pn: bob.pn, notify: 'Bob' }),
    });
  });

  it('and comes again because its receipt was lost is acknowledged, and nobody is asked to send it again', async () => {
    await linked();
    const bob = world.fixture.contact('Bob');
    const group = world.fixture.group('Friends', [bob]);
    const before = world.fixture.ledger.complaints.length;
    for (const [id, send] of [
      ['3A00000000000000AAAA', (id: string) => bob.send('one', { id })],
      ['3A00000000000000BBBB', (id: string) => group.send(bob, 'two', { id })],
    ] as const) {
      world.fixture.faults.loseReceipt(id);
      await send(id);
      await until(
        'it is acknowledged again',
        () => world.fixture.ledger.receipts.filter(({ stanza }) => stanza.attrs.id === id).length >= 2,
        20_000,
      );
      await until(
        'its receipt came after all',
        () => world.fixture.queue.length === 0 && world.fixture.connections.length === 1,
        20_000,
      );
      expect(world.fixture.ledger.complaints.length).toBe(before);
      expect((await rows()).filter((each) => each === id)).toHaveLength(1);
    }
  });

  it('of a group is one row each, and the keys that come with the first are none', async () => {
    await linked();
    const bob = world.fixture.contact('Bob');
    const group = world.fixture.group('Friends', [bob]);
    const ids = [(await group.send(bob, 'first')).id, (await group.send(bob, 'second')).id];
    await until('both are stored', async () => (await rows()).length === 2, 10_000);
    expect(await rows()).toEqual(ids);
    const [row] = await db().selectFrom('wa_inbox').selectAll().execute();
    expect(row).toMatchObject({ participant: bob.lid, from_me: false });
  });

  it('while it was away comes afterwards, in order', async () => {
    const gateway = await linked();
    const bob = world.fixture.contact('Bob');
    await gateway.stop();
    const ids: string[] = [];
    for (let n = 0; n < 20; n++) ids.push((await bob.send(`message ${n}`)).id);
    await start();
    await until('all are stored', async () => (await rows()).length === 20, 15_000);
    expect(await rows()).toEqual(ids);
    await until('nothing waits any more', () => world.fixture.queue.length === 0, 10_000);
  });

  it('without content is a stub that the content from the phone replaces', async () => {
    await linked();
    const bob = world.fixture.contact('Bob');
    await bob.send('so that a session is there');
    await until('it is stored', async () => (await rows()).length === 1, 5_000);
    const { id } = await bob.send('hidden at first', { unavailable: true });
    const find = () => db().selectFrom('wa_inbox').selectAll().where('message_id', '=', id).execute();
    await until('the stub is stored', async () => (await find()).length === 1, 5_000);
    await until('its content came', async () => (await find())[0]!.content !== null, 15_000);
    expect(await find()).toHaveLength(1);
  });

  it('and cannot be decrypted is asked for again, and then stored under the same id', async () => {
    await linked();
    const bob = world.fixture.contact('Bob');
    await bob.send('so that a session is there');
    await until('it is stored', async () => (await rows()).length === 1, 5_000);
    const { id } = await bob.send('garbled at first', { corrupt: true });
    const find = () => db().selectFrom('wa_inbox').selectAll().where('message_id', '=', id).execute();
    await until('its content came', async () => (await find())[0]?.content, 15_000);
    expect(await find()).toHaveLength(1);
  });

  it('on the own phone is known as typed by the owner', async () => {
    await linked();
    const { id } = await world.fixture.phone.selfChat('note to self');
    await until('it is stored', async () => (await rows()).includes(id), 10_000);
    const [row] = await db().selectFrom('wa_inbox').selectAll().where('message_id', '=', id).execute();
    expect(row).toMatchObject({ from_me: true, chat: world.fixture.account.lid });
  });

  it('both ways at once leaves no message undecryptable', async () => {
    const gateway = await linked();
    const people = ['Ann', 'Ben', 'Cid'].map((name) => world.fixture.contact(name));
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
    await until(
      'everything that was sent is shown',
      () => people.every((person) => person.received.length === 30),
      30_000,
    );
    expect(world.fixture.ledger.undecryptable).toEqual([]);
    expect(world.fixture.ledger.complaints).toEqual([]);
    expect(gateway.exits).toEqual([]);
  });
});

describe('what is sent', () => {
  it('is not on the wire before the ratchet that encrypted it is committed', async () => {
    const gateway = await linked();
    const bob = world.fixture.contact('Bob');
    await bob.send('so that a session is there');
    await until('it is stored', async () => (await rows()).length === 1, 5_000);
    const { sock } = gateway.connection.live()!;
    await sock.sendMessage(bob.lid, { text: 'first' });
    let sending: Promise<unknown> = Promise.resolve();
    await db()
      .transaction()
      .execute(async (tx) => {
        await sql`lock table wa_keys in access exclusive mode`.execute(tx);
        sending = sock.sendMessage(bob.lid, { text: 'second' });
        await until('its transaction waits for the table', async () => (await waitingFor('wa_keys')) > 0, 5_000);
        expect(world.fixture.ledger.messages).toHaveLength(1);
      });
    await sending;
    await until('both are shown', () => bob.received.length === 2, 5_000);
  });

  it('to a group carries its keys once and can be read by everybody', async () => {
    const gateway = await linked();
    const [bob, eve] = [world.fixture.contact('Bob'), world.fixture.contact('Eve')];
    const group = world.fixture.group('Friends', [bob, eve]);
    const { sock } = gateway.connection.live()!;
    for (const text of ['one', 'two', 'three']) await sock.sendMessage(group.jid, { text });
    await until('all are shown', () => [bob, eve].every((person) => person.received.length === 3), 10_000);
    expect(world.fixture.ledger.undecryptable).toEqual([]);
  });
});

describe('a store that fails', () => {
  it('ends the process, before anything is acknowledged', async () => {
    const gateway = await linked();
    const bob = world.fixture.contact('Bob');
    const { id } = await db()
      .transaction()
      .execute(async (tx) => {
        await sql`lock table wa_inbox in access exclusive mode`.execute(tx);
        const sent = await bob.send('hello');
        await until('it gives up', () => gateway.exits.length > 0, 15_000);
        return sent;
      });
    expect(gateway.exits[0]).toContain('could not be read or stored');
    expect(world.fixture.ledger.receipts.filter(({ stanza }) => stanza.attrs.id === id)).toHaveLength(0);
    expect(world.fixture.queue.length).toBeGreaterThan(0);
  });

  it('is survived when the database only restarts', async () => {
    const gateway = await linked();
    const bob = world.fixture.contact('Bob');
    await sql`select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and application_name = 'fetch-test'`.execute(
      db(),
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
