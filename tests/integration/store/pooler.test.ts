import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { EVENTS_CHANNEL, openStore, type StoreOptions } from '../../../src/store/postgres/database.ts';
import { startTestApp } from '../../support/app.ts';
import { startTestDatabase, type TestDatabase } from '../../support/database.ts';
import { startPgBouncer } from '../../support/pgbouncer.ts';
import { until } from '../../support/until.ts';

const IGNORED = { ignore_startup_parameters: 'statement_timeout,lock_timeout,idle_in_transaction_session_timeout' };

let database: TestDatabase;
let pooler: Awaited<ReturnType<typeof startPgBouncer>>;
let lenient: Awaited<ReturnType<typeof startPgBouncer>>;
beforeAll(async () => {
  database = await startTestDatabase();
  [pooler, lenient] = await Promise.all([startPgBouncer(database.url), startPgBouncer(database.url, IGNORED)]);
});
afterAll(async () => {
  await Promise.all([pooler?.close(), lenient?.close()]);
  await database?.close();
});

const closing: Array<() => Promise<void>> = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});
const opened = async (url: string, options: StoreOptions) => {
  const store = await openStore(url, { max: 4, migrate: false, ...options });
  closing.push(store.close);
  return store;
};
const checked = async (url: string, options: StoreOptions) => await (await opened(url, options)).checkPooler();

describe('PgBouncer in transaction mode', () => {
  it('is refused without the address of its server, with the name of the setting', async () => {
    await expect(checked(pooler.url, {})).rejects.toThrow(
      /^A pooler answers at .*\(DATABASE_URL\)\. Set DATABASE_DIRECT_URL/,
    );
    await expect(checked(lenient.url, {})).rejects.toThrow(
      /^No notification arrives through .*Set DATABASE_DIRECT_URL/,
    );
  });

  it('is refused without limits of time, with the commands that set them', async () => {
    const told = await checked(pooler.url, { direct: database.url }).then(
      () => '',
      (error: Error) => error.message,
    );
    expect(told).toMatch(/have no limit of time/);
    const commands = told.match(/alter role .*?;/g) ?? [];
    expect(commands).toHaveLength(3);
    for (const command of commands) await sql.raw(command).execute(database.store.db);
    await pooler.close();
    pooler = await startPgBouncer(database.url);
  });

  it('is refused when statements are prepared, with the name of the setting', async () => {
    await expect(checked(pooler.url, { direct: database.url })).rejects.toThrow(
      /Set FETCH_PREPARE_STATEMENTS=false\.$/,
    );
  });

  it('carries statements, and the notifications come by the direct way', async () => {
    const store = await opened(pooler.url, { direct: database.url, prepare: false });
    await store.checkPooler();
    const heard: Array<string | null> = [];
    closing.unshift(await store.listen((thread) => heard.push(thread)));
    await store.db.transaction().execute((tx) => sql`select pg_notify(${EVENTS_CHANNEL}, 'thr_1')`.execute(tx));
    await until('it is heard', () => heard.includes('thr_1'));
  });

  it('serves a whole instance', async () => {
    const app = await startTestApp({
      DATABASE_URL: pooler.url,
      DATABASE_DIRECT_URL: database.url,
      FETCH_PREPARE_STATEMENTS: 'false',
    });
    closing.push(app.close);
    const thread = await app.thread();
    for (let at = 0; at < 3; at++) {
      const turn = await app.turn(thread, [{ call: [['report_progress', { message: 'half' }]] }, { say: 'done' }]);
      expect((await app.ended(thread, turn)).status).toBe('completed');
    }
  });

  it('is not taken for another database', async () => {
    const other = `${database.url.replace(/\/[^/]*$/, '')}/template1`;
    await expect(checked(pooler.url, { direct: other, prepare: false })).rejects.toThrow(
      /Both must lead to the same database/,
    );
  });
});

it('a server without a pooler passes', () => checked(database.url, {}));
