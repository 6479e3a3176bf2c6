import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { readCreds } from '../../../../../src/store/whatsapp/auth.ts';
import { until } from '../../../../support/until.ts';
import { ACCOUNT } from '../../../../support/whatsapp/connected.ts';
import { gatewaysOfTest } from '../../../../support/whatsapp/gateways.ts';

/** Our connection, in this process, to the local WhatsApp: how it is linked, and who holds it. */

const world = gatewaysOfTest();
const { db, start, linked, linkAgain, want, logins, rows } = world;

describe('pairing', () => {
  it('does nothing until somebody wants it', async () => {
    const gateway = await start();
    await until('it looked around', () => gateway.row().then((row) => row === undefined || row === null), 2_000);
    expect(world.fixture.connections).toHaveLength(0);
  });

  it('by QR: scanned once, connected after the restart that WhatsApp asks for, and known by both addresses', async () => {
    const gateway = await linked();
    expect(await gateway.row()).toMatchObject({
      state: 'authenticated',
      qr: null,
      pairing_code: null,
      last_error: null,
      needs: null,
      jid: world.fixture.account.pn,
      lid: world.fixture.account.lid,
      number_mode: 'shared',
    });
    expect(gateway.connection.live()?.me).toEqual({ jid: world.fixture.account.pn, lid: world.fixture.account.lid });
    expect(logins()).toBe(1);
  });

  it('by a code that is typed on the phone', async () => {
    const gateway = await start();
    await want('on', '15550001111');
    const { pairing_code: code, qr } = await gateway.rowWith('a pairing code', (row) => row.pairing_code !== null);
    expect([code, qr]).toEqual([expect.stringMatching(/^[0-9A-Z]{8}$/), null]);
    await world.fixture.phone.enterCode(code!);
    await gateway.rowWith('it is connected', (row) => row.state === 'authenticated');
  });

  it('renews the QR, and after the last one waits to be asked again, with keys of their own', async () => {
    world.fixture.faults.pairingRefs = 1;
    const gateway = await start();
    await want('on');
    const first = (await gateway.rowWith('a QR', (row) => row.qr !== null)).qr!;
    for (const connection of world.fixture.connections) connection.terminate();
    const second = (await gateway.rowWith('another QR', (row) => row.qr !== null && row.qr !== first)).qr!;
    expect(second.split(',')[2]).not.toBe(first.split(',')[2]);
    expect(await readCreds(db(), ACCOUNT)).toBeNull();
  });

  it('follows a withdrawn secret with a new QR', async () => {
    const gateway = await start();
    await want('on');
    const first = (await gateway.rowWith('a QR', (row) => row.qr !== null)).qr!;
    world.fixture.rotateAdvSecret();
    const second = (await gateway.rowWith('a QR with another secret', (row) => row.qr !== null && row.qr !== first))
      .qr!;
    const differing = second.split(',').flatMap((field, index) => (field === first.split(',')[index] ? [] : [index]));
    expect(differing).toEqual([3]);
    await world.fixture.phone.scan(second);
    await gateway.rowWith('it is connected', (row) => row.state === 'authenticated');
  });

  it('given up leaves nothing', async () => {
    const gateway = await start();
    await want('on');
    await gateway.rowWith('a QR', (row) => row.qr !== null);
    await want('off');
    await gateway.rowWith('it is off', (row) => row.state === 'disconnected' && row.qr === null);
    await until('its socket is closed', () => world.fixture.connections.length === 0, 5_000);
    expect(await readCreds(db(), ACCOUNT)).toBeNull();
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
    await until(
      'the second one waits',
      () => second.lines.some((line) => line.includes('waiting for its lease')),
      5_000,
    );
    // what is stored is brought into its conversations by one of them only
    expect([first.connection.receives(), second.connection.receives()]).toEqual([true, false]);
    expect(world.fixture.connections).toHaveLength(1);
    await first.stop();
    await second.rowWith(
      'the second one is connected',
      (row) => row.state === 'authenticated' && row.lease_holder === 'second',
    );
    expect([first.connection.receives(), second.connection.receives()]).toEqual([false, true]);
    expect(second.connection.live()).not.toBeNull();
  });

  it('closes its socket at once when it loses the lease', async () => {
    const gateway = await linked();
    await sql`update wa_accounts set lease_holder = 'another', lease_until = now() + interval '1 hour'`.execute(db());
    await until(
      'its socket is closed',
      () => gateway.connection.live() === null && world.fixture.connections.length === 0,
      5_000,
    );
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
    await gateway.rowWith(
      'it is logged out',
      (row) => row.wanted === 'off' && row.jid === null && row.needs === 'pairing',
    );
    await until('the phone has removed it', () => world.fixture.devices.length === 0, 5_000);
    expect(await readCreds(db(), ACCOUNT)).toBeNull();
    await linkAgain(gateway);
    expect(world.fixture.devices).toHaveLength(1);
  });

  it('logs out also while it is not connected', async () => {
    const gateway = await linked();
    await want('off');
    await gateway.rowWith('it is off', (row) => row.state === 'disconnected');
    await want('out');
    await gateway.rowWith('it is logged out', (row) => row.wanted === 'off' && row.jid === null);
    await until('the phone has removed it', () => world.fixture.devices.length === 0, 5_000);
  });

  it('never logs a private key, a number or a text', async () => {
    const gateway = await linked();
    const bob = world.fixture.contact('Bob');
    await bob.send('a very private text');
    await until('it is stored', async () => (await rows()).length === 1, 10_000);
    const log = gateway.lines.join('\n');
    expect(log).not.toMatch(/private text|15550001111|privKey|noiseKey|signedIdentityKey|"public"/);
  });
});
