import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { readCreds } from '../../src/store/whatsapp/auth.ts';
import { startTestDatabase, type TestDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';
import { ACCOUNT, type ConnectedGateway, link, startGateway } from '../support/whatsapp/connected.ts';
import { startWhatsAppFixture, type WhatsAppFixture } from '../support/whatsapp/fixture.ts';

let database: TestDatabase;
let fixture: WhatsAppFixture;
let gateway: ConnectedGateway;

beforeAll(async () => {
  database = await startTestDatabase(8);
}, 60_000);
afterAll(() => database?.close());
beforeEach(async () => {
  for (const table of ['wa_accounts', 'wa_creds', 'wa_keys', 'wa_inbox']) await sql.raw(`delete from ${table}`).execute(database.store.db);
  fixture = await startWhatsAppFixture();
});
afterEach(async () => {
  await gateway?.stop();
  await fixture.close();
});

const linked = async (options: Parameters<typeof startGateway>[2]): Promise<void> => {
  gateway = await startGateway(fixture, database.store, options);
  await link(fixture, database.store, gateway);
};
const logins = (outcome: 'accepted' | 'refused') => fixture.ledger.logins.filter((login) => login.outcome === outcome).length;

it('an open connection on which nothing arrives is tried, renewed, and then has what was held back', async () => {
  await linked({ watchdog: { silentMs: 2_000, checkMs: 50 } });
  const before = logins('accepted');
  fixture.faults.holdInbound(true);
  const { id } = await fixture.contact('Bob').send('can you hear me?');
  await until('it connects anew', () => logins('accepted') > before, 15_000);
  fixture.faults.holdInbound(false);
  const stored = async () => (await database.store.db.selectFrom('wa_inbox').select('message_id').execute()).map((row) => row.message_id);
  await until('the message is stored', async () => (await stored()).includes(id), 15_000);
  expect(gateway.exits).toEqual([]);
});

it('405, a version that is too old: connects with the newest one, without a new link, and keeps it', async () => {
  let asked = 0;
  await linked({
    newestVersion: () => {
      asked += 1;
      fixture.refuseLogins(null);
      return [2, 3000, 1_999_999_999];
    },
  });
  fixture.refuseLogins(405);
  fixture.disconnect('tcp');
  await gateway.rowWith('it keeps the version that was accepted', (row) => row.version === '2.3000.1999999999' && row.state === 'authenticated');
  expect([asked, logins('refused')]).toEqual([1, 1]);
});

it('405 where no newer version is known: asks for an upgrade, and stays linked', async () => {
  await linked({});
  fixture.refuseLogins(405);
  fixture.disconnect('tcp');
  const row = await gateway.rowWith('it needs an upgrade', (now) => now.needs === 'upgrade');
  expect([row.state, row.last_code, row.wanted]).toEqual(['error', 405, 'on']);
  expect(await readCreds(database.store.db, ACCOUNT)).not.toBeNull();
  expect(logins('refused')).toBe(1);
});
