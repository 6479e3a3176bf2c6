import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { wish } from '../../../src/store/whatsapp/account.ts';
import { startTestDatabase, type TestDatabase } from '../database.ts';
import { ACCOUNT, type ConnectedGateway, link, startGateway } from './connected.ts';
import { startWhatsAppFixture, type WhatsAppFixture } from './fixture.ts';

type Options = Parameters<typeof startGateway>[2];

/**
 * For a whole test file: one database, and for each test an empty one, a local WhatsApp, and the gateways that it
 * starts, which end with it.
 */
export function gatewaysOfTest() {
  let database: TestDatabase;
  let fixture: WhatsAppFixture;
  const gateways: ConnectedGateway[] = [];

  beforeAll(async () => {
    database = await startTestDatabase(12);
  }, 60_000);
  afterAll(async () => database?.close());
  beforeEach(async () => {
    for (const table of ['wa_accounts', 'wa_creds', 'wa_keys', 'wa_inbox'])
      await sql.raw(`delete from ${table}`).execute(database.store.db);
    fixture = await startWhatsAppFixture();
  });
  afterEach(async () => {
    await Promise.all(gateways.splice(0).map((gateway) => gateway.stop()));
    await fixture.close();
  });

  const start = async (options: Options = {}): Promise<ConnectedGateway> => {
    const gateway = await startGateway(fixture, database.store, options);
    gateways.push(gateway);
    return gateway;
  };
  return {
    get fixture() {
      return fixture;
    },
    db: () => database.store.db,
    start,
    async linked(options: Options = {}): Promise<ConnectedGateway> {
      const gateway = await start(options);
      await link(fixture, database.store, gateway);
      return gateway;
    },
    linkAgain: (gateway: ConnectedGateway) => link(fixture, database.store, gateway),
    want: (wanted: 'on' | 'off' | 'out', pairPhone: string | null = null) =>
      wish(database.store.db, ACCOUNT, { wanted, pairPhone }),
    logins: (outcome: 'accepted' | 'refused' = 'accepted') =>
      fixture.ledger.logins.filter((login) => login.outcome === outcome).length,
    /** ids of the stored messages, in order */
    rows: async () =>
      (await database.store.db.selectFrom('wa_inbox').selectAll().orderBy('seq').execute()).map(
        (row) => row.message_id,
      ),
    /** how many statements wait for a lock on a table */
    async waitingFor(table: string): Promise<number> {
      const { rows: found } = await sql<{
        n: number;
      }>`select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and query like ${`%${table}%`}`.execute(
        database.store.db,
      );
      return found[0]!.n;
    },
  };
}
