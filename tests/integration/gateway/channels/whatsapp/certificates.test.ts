import { afterAll, beforeAll, expect, it } from 'vitest';
import { wish } from '../../../../../src/store/whatsapp/account.ts';
import { startTestDatabase, type TestDatabase } from '../../../../support/database.ts';
import { ACCOUNT, startGateway } from '../../../../support/whatsapp/connected.ts';
import { startWhatsAppFixture, type WhatsAppFixture } from '../../../../support/whatsapp/fixture.ts';

let fixture: WhatsAppFixture;
let database: TestDatabase;
beforeAll(async () => {
  [fixture, database] = await Promise.all([startWhatsAppFixture(), startTestDatabase()]);
});
afterAll(() => Promise.all([fixture?.close(), database?.close()]));

it('nothing is said to a server that is not WhatsApp, and the person reads why', async () => {
  const gateway = await startGateway(fixture, database.store, { settings: { WA_NOISE_ROOT_KEY: 'ab'.repeat(32) } });
  await wish(database.store.db, ACCOUNT, { wanted: 'on', pairPhone: null });
  const row = await gateway.rowWith('it was refused', ({ last_error }) => last_error !== null);
  expect(row.last_error).toContain('The server is not WhatsApp');
  expect([row.qr, row.jid]).toEqual([null, null]);
  await gateway.stop();
});
