import { describe, expect, it } from 'vitest';
import { readCreds } from '../../../../../src/store/whatsapp/auth.ts';
import { until, within } from '../../../../support/until.ts';
import { ACCOUNT } from '../../../../support/whatsapp/connected.ts';
import { gatewaysOfTest } from '../../../../support/whatsapp/gateways.ts';

/** What the connection does about each way in which WhatsApp ends it. */

const world = gatewaysOfTest();
const { db, start, linked, linkAgain, want, logins } = world;

describe('each way that a connection ends', () => {
  it.each([
    ['a dropped line', () => world.fixture.disconnect('tcp')],
    ['the end of the stream', () => world.fixture.disconnect('xmlstreamend')],
    ['a restart at runtime', () => world.fixture.disconnect({ streamError: 515 })],
    ['a broken session', () => world.fixture.disconnect({ streamError: 500 })],
  ] as const)('%s: connects again by itself', async (_what, end) => {
    const gateway = await linked();
    const before = gateway.connection.live();
    end();
    await until(
      'it is connected again',
      () => gateway.connection.live() !== null && gateway.connection.live() !== before,
      15_000,
    );
    expect(logins()).toBe(2);
    expect((await gateway.rowWith('it says so', (row) => row.state === 'authenticated')).last_error).toBeNull();
  });

  it('503: keeps away for at least half a minute', async () => {
    const gateway = await linked();
    world.fixture.disconnect({ streamError: 503 });
    const row = await gateway.rowWith('it is away', (now) => now.state === 'disconnected');
    expect([row.last_code, row.last_error]).toEqual([503, expect.stringContaining('unavailable')]);
    expect(logins()).toBe(1);
  });

  it('440, replaced by another: does not throw the other out', async () => {
    const gateway = await linked();
    world.fixture.disconnect('replaced');
    await gateway.rowWith('it stays away', (row) => row.needs === 'lease' && row.last_code === 440);
    expect(logins()).toBe(1);
    await want('on');
    await until('it connects when asked', () => logins() === 2, 10_000);
  });

  it('401, removed on the phone: puts the credentials aside and asks for a new link', async () => {
    const gateway = await linked();
    const { keys } = gateway.connection.live()!.sock.authState;
    world.fixture.disconnect('device_removed');
    await gateway.rowWith(
      'it needs a new link',
      (row) => row.needs === 'pairing' && row.wanted === 'off' && row.jid === null,
    );
    // Baileys may still be at work on what came before the end
    await expect(keys.set({ session: { 'late.0': Buffer.from('late') } })).rejects.toThrow('no longer in use');
    expect(await readCreds(db(), ACCOUNT)).toBeNull();
    await linkAgain(gateway);
  });

  it.each([
    [403, 'person'],
    [406, 'person'],
    [402, 'person'],
    [409, 'person'],
    [411, 'person'],
  ])('a login refused with %i: stops until a person has looked, also over a restart', async (code, needs) => {
    const gateway = await linked();
    world.fixture.refuseLogins(code);
    world.fixture.disconnect('tcp');
    const row = await gateway.rowWith('it stops', (now) => now.needs === needs);
    expect([row.state, row.last_code]).toEqual(['error', code]);
    const seen = world.fixture.ledger.logins.length;
    await gateway.stop();
    const next = await start();
    await until('the next one has looked', () => next.connection.live() === null, 2_000);
    expect(world.fixture.ledger.logins.length).toBe(seen);
    world.fixture.refuseLogins(null);
    await want('on');
    await next.rowWith('it is connected when asked', (now) => now.state === 'authenticated' && now.needs === null);
  });

  it.each([400, 413, 414, 415, 418, 501])(
    'a login refused with the rare code %i: is tried a few times, then a person is asked',
    async (code) => {
      const gateway = await linked();
      world.fixture.refuseLogins(code);
      world.fixture.disconnect('tcp');
      await gateway.rowWith('it stops', (row) => row.last_code === code && row.needs === 'person');
      expect(world.fixture.ledger.logins.filter(({ outcome }) => outcome === 'refused').length).toBeGreaterThan(3);
    },
  );

  it.each([500, 503])('a login refused with %i: tries again by itself', async (code) => {
    const gateway = await linked();
    world.fixture.refuseLogins(code);
    world.fixture.disconnect('tcp');
    await gateway.rowWith(
      'it was refused',
      (row) => row.last_code === code && row.needs === null && row.state === 'disconnected',
    );
    expect((await gateway.row()).wanted).toBe('on');
  });

  it('a login refused with 401: asks for a new link', async () => {
    const gateway = await linked();
    world.fixture.refuseLogins(401);
    world.fixture.disconnect('tcp');
    await gateway.rowWith('it needs a new link', (row) => row.needs === 'pairing' && row.wanted === 'off');
  });

  it('single closes of connections that worked in between do not add up', async () => {
    // as unlucky as chance can be: the fifth close in a row would be waited out for half a minute
    const gateway = await linked({ random: () => 0.999 });
    const bob = world.fixture.contact('Bob');
    for (let close = 1; close <= 5; close++) {
      const before = gateway.connection.live();
      const stored = gateway.stored();
      await bob.send(`message ${close}`);
      await until('the message has come', () => gateway.stored() > stored, 10_000);
      world.fixture.disconnect('tcp');
      await within(
        `it is connected again after close ${close}`,
        () => gateway.connection.live() !== null && gateway.connection.live() !== before,
        12_000,
      );
    }
  });

  it('a server that refuses the connection: says so, and is tried again soon', async () => {
    const gateway = await start({ settings: { WA_WEB_SOCKET_URL: 'ws://127.0.0.1:9', WA_ALLOW_INSECURE: 'true' } });
    await want('on');
    const row = await gateway.rowWith('it says so', ({ last_error }) => last_error !== null);
    expect(row.last_error).toContain('the connection was refused');
    expect([row.wanted, row.needs]).toEqual(['on', null]);
  });
});
