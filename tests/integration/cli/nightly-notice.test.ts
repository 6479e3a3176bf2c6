import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { backupName } from '../../../src/cli/instance/home/kept-backups.ts';
import { keepNightly } from '../../../src/cli/instance/nightly-backup.ts';
import { loadConfig } from '../../../src/config.ts';
import { startTestDatabase, type TestDatabase } from '../../support/database.ts';
import { newThread } from '../../support/thread.ts';
import { until } from '../../support/until.ts';

/** A night without a backup is told to the owner, once for all nights in a row. */

const home = mkdtempSync(join(tmpdir(), 'fetch-nights-'));
const folder = join(home, 'nights');
let database: TestDatabase;
beforeAll(async () => {
  database = await startTestDatabase();
});
afterAll(async () => {
  await database?.close();
  rmSync(home, { recursive: true, force: true });
});

/** Looks as a start does, and waits until the failure was dealt with. */
async function failedNight(): Promise<void> {
  const said: string[] = [];
  const keep = (...words: unknown[]) => void said.push(String(words.at(-1)));
  const end = keepNightly(
    loadConfig({ FETCH_HOME: home, DATABASE_URL: database.url, FETCH_BACKUP_FOLDER: folder }, {}),
    {
      info: keep,
      warn: keep,
      error: keep,
    } as unknown as Logger,
  );
  await until('the night has failed, and that was dealt with', () => said.length >= 2, 60_000);
  end();
  expect(said).toEqual([expect.stringContaining('could not be made'), 'the owner knows of it']);
}

const notices = () =>
  database.store.db
    .selectFrom('outbox')
    .select(['chat_id', 'body', 'state'])
    .where('kind', '=', 'notice')
    .orderBy('ord')
    .execute();

it('the owner hears of it on the screen that was used last and on WhatsApp, and not again the next night', async () => {
  const { db } = database.store;
  const { chatId } = await newThread(db);
  await db
    .insertInto('wa_accounts')
    .values({ account: 'default', state: 'authenticated', wanted: 'on', jid: '15550001111:3@s.whatsapp.net' })
    .execute();
  const address = '15550001111@s.whatsapp.net';
  await db
    .insertInto('chats')
    .values({ id: 'chat_self', channel: 'whatsapp', address, workflow_id: 'chat/whatsapp/self', autonomy: 'cautious' })
    .execute();
  await failedNight();
  const told = await notices();
  expect(told.map(({ chat_id, state }) => [chat_id, state])).toEqual([
    [chatId, 'sent'],
    ['chat_self', 'queued'],
  ]);
  expect(told[0]!.body).toMatch(
    /^The backup of this night could not be made: Set FETCH_BACKUP_KEY to a long passphrase/,
  );
  expect(told[0]!.body).toContain('There is none yet.');
  await failedNight();
  expect(await notices()).toEqual(told);

  // one that was made in between ends the row of failures
  const yesterday = new Date(Date.now() - 30 * 3_600_000);
  writeFileSync(join(folder, backupName(yesterday)), '');
  utimesSync(join(folder, backupName(yesterday)), yesterday, yesterday);
  await failedNight();
  expect(await notices()).toHaveLength(4);
}, 120_000);
