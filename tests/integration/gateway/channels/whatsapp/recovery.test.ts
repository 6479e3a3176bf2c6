import { expect, it } from 'vitest';
import { readCreds } from '../../../../../src/store/whatsapp/auth.ts';
import { until } from '../../../../support/until.ts';
import { ACCOUNT } from '../../../../support/whatsapp/connected.ts';
import { gatewaysOfTest } from '../../../../support/whatsapp/gateways.ts';

/** What the gateway does about a connection that is open and useless, and about a version that is too old. */

const world = gatewaysOfTest();
const { db, start, linked, logins, rows } = world;

it('an open connection on which nothing arrives is tried, renewed, and then has what was held back', async () => {
  const gateway = await linked({ watchdog: { silentMs: 2_000, checkMs: 50 } });
  const before = logins();
  world.fixture.faults.holdInbound(true);
  const { id } = await world.fixture.contact('Bob').send('can you hear me?');
  await until('it connects again', () => logins() > before, 15_000);
  world.fixture.faults.holdInbound(false);
  await until('the message is stored', async () => (await rows()).includes(id), 15_000);
  expect(gateway.exits).toEqual([]);
});

it('a connection that says nothing is asked again and again, then ends the process instead of staying deaf', async () => {
  const gateway = await linked({ watchdog: { silentMs: 300, checkMs: 50 } });
  world.fixture.faults.holdInbound(true);
  await until('the process would end', () => gateway.exits.length > 0, 20_000);
  expect(gateway.exits[0]).toContain('silent over several reconnections');
  expect(logins()).toBeGreaterThan(3);
});

it('a connection on which a message arrives that is never decrypted ends the process, and its successor has the message', async () => {
  const gateway = await linked({ watchdog: { stuckMs: 500, checkMs: 50 } });
  const bob = world.fixture.contact('Bob');
  const first = await bob.send('hello');
  await until('it hears', async () => (await rows()).includes(first.id), 10_000);
  expect(gateway.exits).toEqual([]);
  // what a step of the Signal state that never ends does to all others: the socket stays open and answers pings
  let end = () => {};
  const { sock } = gateway.connection.live()!;
  const stuck = sock.authState.keys.transaction(() => new Promise<void>((resolve) => (end = resolve)), bob.lid);
  const { id } = await bob.send('and now?');
  await until('the process would end', () => gateway.exits.length > 0, 10_000);
  expect(gateway.exits[0]).toContain('open but deaf');
  expect(await rows()).not.toContain(id);
  // without its lease it cannot store anything any more, as if it were dead
  await gateway.stop();
  end();
  await stuck;
  await start();
  await until('the next process stores it', async () => (await rows()).includes(id), 10_000);
  expect((await rows()).filter((each) => each === id)).toHaveLength(1);
});

it('408, a line that goes silent: is noticed by itself, and connects again without a new link', async () => {
  const gateway = await linked({ keepAliveMs: 500 });
  const before = logins();
  world.fixture.disconnect('silent');
  // the account's row names 408 only until the next connection, which comes at once
  await until('the line is found dead', () => gateway.lines.some((line) => line.includes('"code":408')));
  await until('it connects again', () => logins() > before, 15_000);
  expect((await gateway.row()).needs).toBeNull();
  const { id } = await world.fixture.contact('Bob').send('can you hear me?');
  await until('the message is stored', async () => (await rows()).includes(id), 15_000);
  expect(gateway.exits).toEqual([]);
});

it('405, a version that is too old: connects with the newest one, without a new link, and keeps it', async () => {
  let asked = 0;
  const gateway = await linked({
    newestVersion: () => {
      asked += 1;
      world.fixture.refuseLogins(null);
      return [2, 3000, 1_999_999_999];
    },
  });
  world.fixture.refuseLogins(405);
  world.fixture.disconnect('tcp');
  await gateway.rowWith(
    'it keeps the version that was accepted',
    (row) => row.version === '2.3000.1999999999' && row.state === 'authenticated',
  );
  expect([asked, logins('refused')]).toEqual([1, 1]);
});

it('405 where no newer version is known: asks for an upgrade, and stays linked', async () => {
  const gateway = await linked({});
  world.fixture.refuseLogins(405);
  world.fixture.disconnect('tcp');
  const row = await gateway.rowWith('it needs an upgrade', (now) => now.needs === 'upgrade');
  expect([row.state, row.last_code, row.wanted]).toEqual(['error', 405, 'on']);
  expect(await readCreds(db(), ACCOUNT)).not.toBeNull();
  expect(logins('refused')).toBe(1);
});
