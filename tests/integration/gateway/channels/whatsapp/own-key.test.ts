import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { readCreds } from '../../../../../src/store/whatsapp/auth.ts';
import { until } from '../../../../support/until.ts';
import { ACCOUNT, type ConnectedGateway } from '../../../../support/whatsapp/connected.ts';
import { gatewaysOfTest } from '../../../../support/whatsapp/gateways.ts';

/** A second gateway on a machine that has made an encryption key of its own. */

const world = gatewaysOfTest();
const { start, linked, want, db } = world;
const another = () => randomBytes(32).toString('hex');
const SAYS = /written with another encryption key.*Copy the file encryption-key.*FETCH_ENCRYPTION_KEY/;

const says = (gateway: ConnectedGateway) =>
  until('it says so', () => gateway.lines.find((line) => SAYS.test(line)), 5_000);

describe('a gateway whose key does not open the stored credentials', () => {
  it('says so when it starts, while the other one serves, and leaves the account to it', async () => {
    const first = await linked();
    const second = await start({ key: another() });
    await says(second);
    expect(await first.row()).toMatchObject({ state: 'authenticated', last_error: null });
    await first.stop();
    await second.rowWith('the person reads it', (row) => SAYS.test(row.last_error ?? ''));
    // it does not hold what it cannot use: one with the key has it at once
    const third = await start();
    await third.rowWith('it is connected', (row) => row.state === 'authenticated');
    expect(second.lines.filter((line) => SAYS.test(line))).toHaveLength(1);
  });

  it('says so also when it was there before anything was stored', async () => {
    const first = await start();
    await want('on');
    const { qr } = await first.rowWith('a QR', (row) => row.qr !== null);
    const second = await start({ key: another() });
    await until('it waits', () => second.lines.some((line) => line.includes('waiting for its lease')));
    await world.fixture.phone.scan(qr!);
    await first.rowWith('it is connected', (row) => row.state === 'authenticated');
    await says(second);
  });

  it('can log WhatsApp out and link it again, where the key is lost', async () => {
    const first = await linked();
    await first.stop();
    const second = await start({ key: another() });
    await says(second);
    await want('out');
    await second.rowWith('it is logged out', (row) => row.needs === 'pairing');
    expect(await readCreds(db(), ACCOUNT)).toBeNull();
    await world.linkAgain(second);
  });
});
