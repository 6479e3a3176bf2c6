import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { keptBackups } from '../../../src/cli/instance/home/kept-backups.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { until } from '../../support/until.ts';

const ENTRY = fileURLToPath(new URL('../../../bin/fetch.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'fetch-restored-'));
const file = join(folder, 'fetch.backup');
const home = join(folder, 'home');
let app: TestApp;
let other: TestApp | undefined;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(async () => {
  await other?.close();
  await app?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function fetch(settings: Record<string, string>, ...args: string[]): Promise<string> {
  const env = { ...process.env, ...app.settings, FETCH_BACKUP_KEY: 'correct horse', ...settings };
  return (await promisify(execFile)(process.execPath, [ENTRY, ...args], { env })).stdout;
}

it('goes on elsewhere from a backup that was made while it ran', async () => {
  const waiting = await app.thread();
  const asked = await app.turn(waiting, [
    { call: [['ask_user', { question: 'Still there?', options: ['yes', 'no'] }]] },
    { say: 'You said $LAST' },
  ]);
  await until('the question is open', async () => (await app.detail(waiting)).pending_user_inputs.length === 1);
  const scheduled = await app.thread();
  const steps = [{ tool: 'read_output', args: { callId: 'x' } }];
  const calls: Array<[string, object]> = [
    ['workflow_create', { name: 'daily', steps }],
    ['cron_create', { workflow: 'daily', schedule: '0 4 * * *' }],
  ];
  await app.ended(
    scheduled,
    await app.turn(scheduled, [...calls.map((call) => ({ call: [call] })), { say: 'scheduled' }]),
  );
  const busy = await app.thread();
  const speaking = await app.turn(busy, [{ say: 'words '.repeat(200), pace: 50 }]);
  await until('text streams', async () => (await app.events(busy)).some((event) => event.event === 'item.delta'));

  // one that was killed has left this
  const left = join(app.home, '.backup-left');
  mkdirSync(left);
  await fetch({}, 'backup', file);
  expect(existsSync(left)).toBe(false);
  await app.ended(busy, speaking);
  await app.stop();

  const damaged = readFileSync(file);
  damaged[damaged.length - 1]! ^= 1;
  writeFileSync(`${file}.damaged`, damaged);
  // in one sentence, and not as a defect of ours
  await expect(fetch({ FETCH_HOME: home }, 'restore', `${file}.damaged`)).rejects.toMatchObject({
    stderr: expect.stringMatching(/^This backup cannot be read: .*\.\n$/),
  });
  await expect(fetch({ FETCH_HOME: home, FETCH_BACKUP_KEY: 'another' }, 'restore', file)).rejects.toThrow(
    /cannot be read/,
  );
  expect(readdirSync(home)).toEqual(['start.lock']);
  await expect(fetch({}, 'restore', file)).rejects.toThrow(/is not empty/);
  expect(await fetch({ FETCH_HOME: home }, 'restore', file, '--dry-run')).toMatch(/The file is whole/);
  await fetch({ FETCH_HOME: home }, 'restore', file);

  const nights = { FETCH_BACKUP_FOLDER: join(folder, 'nights'), FETCH_BACKUP_KEY: 'correct horse' };
  other = await startTestApp({ OPENAI_BASE_URL: app.settings.OPENAI_BASE_URL!, ...nights }, { home });
  expect((await other.detail(waiting)).pending_user_inputs).toHaveLength(1);
  expect((await other.say(waiting, '1')).kind).toBe('answer');
  expect((await other.ended(waiting, asked)).status).toBe('completed');
  expect((await other.ended(busy, speaking, 110_000)).status).toBe('completed');
  const said = (await other.detail(busy)).items.filter(
    (item) => item.kind === 'agent_message' && item.status === 'completed',
  );
  expect(said).toHaveLength(1);
  expect(await other.store.db.selectFrom('crons').select('id').execute()).toHaveLength(1);
  await other.ended(scheduled, await other.turn(scheduled, [{ say: 'awake' }]));

  const [night] = await until('the backup of the night is there', async () => {
    const kept = keptBackups(nights.FETCH_BACKUP_FOLDER);
    return kept.length > 0 && kept;
  });
  expect(await fetch({ FETCH_HOME: home }, 'restore', night!.file, '--dry-run')).toMatch(/The file is whole/);
}, 240_000);
