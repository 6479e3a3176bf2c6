import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Connection } from '@temporalio/client';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeMoved } from '../../../src/adapters/moved-workspaces.ts';
import { notedHead } from '../../../src/cli/instance/home/audit-head.ts';
import { clusterFolder } from '../../../src/cli/instance/servers/postgres.ts';
import { childEnvironment } from '../../../src/config.ts';
import { verifyAudit } from '../../../src/store/home/audit-log.ts';
import { openStore } from '../../../src/store/postgres/database.ts';
import { readAccount } from '../../../src/store/whatsapp/account.ts';
import { callsThen, script } from '../../support/api-calls.ts';
import { FETCH_SETTING, startTestApp, type TestApp } from '../../support/app.ts';
import { startTestDatabase, type TestDatabase } from '../../support/database.ts';
import { callOverMcp } from '../../support/mcp-client.ts';
import { startTestTemporal, type TestTemporal } from '../../support/temporal.ts';
import { clientOf } from '../../support/temporal-client.ts';
import { until } from '../../support/until.ts';
import { startWhatsAppApp, type WhatsAppApp } from '../../support/whatsapp-app.ts';

const ENTRY = fileURLToPath(new URL('../../../bin/fetch.js', import.meta.url));
const CLEAN = Object.fromEntries(
  Object.entries(childEnvironment({})).filter(([name]) => !FETCH_SETTING.test(name) && !name.startsWith('VITEST')),
);
const folder = mkdtempSync(join(tmpdir(), 'fetch-moved-'));
const home = join(folder, 'home');
let laptop: WhatsAppApp;
let database: TestDatabase;
let temporal: TestTemporal;
let server: TestApp | undefined;
beforeAll(async () => {
  [laptop, database, temporal] = await Promise.all([startWhatsAppApp(), startTestDatabase(), startTestTemporal()]);
}, 120_000);
afterAll(async () => {
  await server?.close();
  await laptop?.close();
  await Promise.all([database?.close(), temporal?.close()]);
  rmSync(folder, { recursive: true, force: true });
});

/** Of an installation with servers of its own. */
const settings = (more: Record<string, string> = {}) => ({
  ...CLEAN,
  FETCH_HOME: home,
  DATABASE_URL: database.url,
  TEMPORAL_ADDRESS: temporal.address,
  ...more,
});
async function fetch(args: string[], more?: Record<string, string>): Promise<string> {
  return (await promisify(execFile)(process.execPath, [ENTRY, ...args], { env: settings(more) })).stdout;
}
const importHome = (...more: string[]) => ['import-home', '--from', laptop.app.home, ...more];

/** What a folder has: names, contents and links. */
function contentOf(path: string, skip: RegExp): Map<string, string> {
  const found = new Map<string, string>();
  const walk = (at: string, below: string) => {
    for (const name of readdirSync(at)) {
      const entry = `${below}/${name}`;
      if (skip.test(entry)) continue;
      const stat = lstatSync(join(at, name));
      if (stat.isSymbolicLink()) found.set(entry, readlinkSync(join(at, name)));
      else if (stat.isDirectory()) walk(join(at, name), entry);
      else if (stat.isFile())
        found.set(
          entry,
          createHash('sha256')
            .update(readFileSync(join(at, name)))
            .digest('hex'),
        );
    }
  };
  walk(path, '');
  return found;
}
/** With the database, which lies elsewhere for root. The mark and the claim of a start are what a move may leave. */
const laptopContent = () => [
  contentOf(laptop.app.home, /^\/(start\.lock|moved\.json|postgres$)/),
  contentOf(clusterFolder(laptop.app.home)!, /^$/),
];

/** Starts it, and kills it at this moment. */
async function killedWhen(what: string, isThen: (said: string) => boolean): Promise<void> {
  const child: ChildProcess = spawn(process.execPath, [ENTRY, ...importHome('--yes')], {
    env: settings(),
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let said = '';
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.stdout!.on('data', (chunk: Buffer) => {
    said += chunk;
  });
  await until(what, () => isThen(said) || child.exitCode !== null);
  child.kill('SIGKILL');
  await ended;
  expect(child.signalCode, `${what}: ${said}`).toBe('SIGKILL');
}

it('a home goes on at other servers, though its move was killed at every step, and does not start where it was', async () => {
  const { app, fixture } = laptop;
  const asking = await app.thread();
  const asked = await app.turn(asking, [
    { call: [['ask_user', { question: 'Still there?', options: ['yes', 'no'] }]] },
    { say: 'You said $LAST' },
  ]);
  await until('the question is open', async () => (await app.detail(asking)).pending_user_inputs.length === 1);
  const asleep = await app.thread();
  await app.ended(asleep, await app.turn(asleep, [{ say: 'the heron is grey' }]));
  await callOverMcp(app, 'recall', { query: 'herons' });
  const scheduled = await app.thread();
  const calls: Array<[string, Record<string, unknown>]> = [
    ['workflow_create', { name: 'hourly', steps: [{ tool: 'workflow_list', args: {} }] }],
    ['cron_create', { workflow: 'hourly', schedule: '0 * * * *' }],
  ];
  await app.ended(scheduled, await app.turn(scheduled, callsThen(calls, 'scheduled')));
  await app.say(scheduled, 'remind me to stretch in 40 minutes');
  await fixture.phone.selfChat(script([{ say: 'on the laptop' }]));
  await until(
    'the phone shows the answer',
    () => fixture.phone.received.some((each) => JSON.stringify(each).includes('on the laptop')),
    30_000,
  );
  const workspace = join(app.home, 'workspaces/demo');
  mkdirSync(workspace, { recursive: true });
  writeFileSync(join(workspace, 'README.md'), 'a heron\n');
  execFileSync('git', ['init', '-q', workspace]);
  const side = join(
    app.home,
    'workspaces/.side',
    `${lstatSync(workspace).ino}-${Math.floor(lstatSync(workspace).birthtimeMs)}`,
  );
  mkdirSync(side, { recursive: true });
  writeFileSync(join(side, 'HEAD'), 'a checkpoint\n');
  mkdirSync(join(app.home, 'skills/birds'), { recursive: true });
  writeFileSync(join(app.home, 'skills/birds/SKILL.md'), 'about herons\n');
  writeFileSync(
    join(app.home, '.env'),
    'FETCH_TIME_ZONE=Europe/Berlin\nFETCH_RUNTIME_PORT=9999\nFETCH_SEARXNG_URL=http://localhost:8888\n',
  );

  await expect(fetch(importHome('--yes')), 'while it runs').rejects.toThrow(
    /Fetch runs for .* End it first: npm run fetch -- stop/,
  );
  // both were due while nothing ran
  await app.store.db
    .updateTable('crons')
    .set({ enabled_since: new Date(Date.now() - 90 * 60_000) })
    .execute();
  await app.store.db
    .updateTable('reminders')
    .set({ due_at: new Date(Date.now() - 1000) })
    .execute();
  await app.stop();

  // what the first start of a server makes
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, 'payload-keys'), `${'ab'.repeat(32)}\n`, { mode: 0o600 });
  writeFileSync(join(home, 'chat-key'), `${'cd'.repeat(32)}\n`, { mode: 0o600 });
  const before = laptopContent();
  const plan = await fetch(importHome());
  expect(plan).toMatch(/5 chats .*1 open questions/);
  expect(plan).toMatch(/1 schedules, 1 reminders, 0 coding tasks/);
  expect(plan).toContain('the link of WhatsApp with its keys');
  expect(plan).toMatch(/not the setting FETCH_SEARXNG_URL: it names the machine of the home/);
  expect(plan).toContain('Nothing was changed');
  expect(readFileSync(join(home, 'chat-key'), 'utf8')).toContain('cdcd');
  expect(existsSync(join(app.home, 'moved.json'))).toBe(false);

  const scratch = join(home, '.import-home/.scratch/postgres/postmaster.pid');
  await killedWhen('the copy of the database is read', () => existsSync(scratch));
  for (const step of ['Preparing', 'Copying the workspace', 'Marking', 'Copying the database']) {
    await killedWhen(step, (said) => said.includes(step));
    const { count } = await database.store.db
      .selectFrom('chats')
      .select(sql<number>`count(*)::int`.as('count'))
      .executeTakeFirstOrThrow();
    expect([0, 5], step).toContain(count);
  }
  await expect(fetch(['worker']), 'with half of a home').rejects.toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/A move into .* was not finished/),
  });
  expect(await fetch(importHome('--yes'))).toContain('Moved.');
  expect(await fetch(importHome('--yes'))).toContain('was moved to');
  expect(laptopContent()).toEqual(before);
  await expect(
    promisify(execFile)(process.execPath, [ENTRY, 'start'], { env: { ...CLEAN, ...app.settings } }),
  ).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/was moved to .* does not start here any more/),
  });

  expect(readFileSync(join(home, 'chat-key'), 'utf8')).toBe(readFileSync(join(app.home, 'chat-key'), 'utf8'));
  expect(readFileSync(join(home, 'payload-keys'), 'utf8')).toBe(
    `${'ab'.repeat(32)}\n${readFileSync(join(app.home, 'payload-keys'), 'utf8')}`,
  );
  expect(readFileSync(join(home, '.env'), 'utf8')).toBe('FETCH_TIME_ZONE=Europe/Berlin\n');
  expect(readFileSync(join(home, 'skills/birds/SKILL.md'), 'utf8')).toBe('about herons\n');
  const moved = await describeMoved(join(home, 'workspaces/demo'));
  expect(readFileSync(join(moved.path, 'README.md'), 'utf8')).toBe('a heron\n');
  expect(readFileSync(join(moved.side!, 'HEAD'), 'utf8')).toBe('a checkpoint\n');
  expect(readdirSync(home).filter((name) => name.startsWith('.import') || name.startsWith('moving'))).toEqual([]);

  const servers = { DATABASE_URL: database.url, TEMPORAL_ADDRESS: temporal.address };
  server = await startTestApp(
    { ...servers, ...fixture.env, WHATSAPP_PACE_MS: '0', OPENAI_BASE_URL: app.settings.OPENAI_BASE_URL! },
    { home },
  );
  const there = server;
  expect((await there.detail(asking)).pending_user_inputs).toHaveLength(1);
  const named = await there.store.db.selectFrom('turns').select('call').where('call', 'is not', null).execute();
  expect(named).toEqual([{ call: { name: 'recall', args: { query: 'herons' } } }]);
  expect((await there.say(asking, '1')).kind).toBe('answer');
  expect((await there.ended(asking, asked)).status).toBe('completed');
  const said = async (thread: string) =>
    (await there.detail(thread)).items.filter(({ kind }) => kind === 'agent_message').map(({ detail }) => detail ?? '');
  expect((await said(asking)).filter((text) => text.includes('You said'))).toHaveLength(1);
  await there.ended(asleep, await there.turn(asleep, [{ say: 'awake' }]));
  expect((await said(asleep)).map((text) => text.trim())).toEqual(['the heron is grey', 'awake']);
  await until(
    'the missed firing has run',
    async () => (await said(scheduled)).some((text) => text.includes('hourly')),
    60_000,
  );
  await until(
    'the reminder is said',
    async () => (await said(scheduled)).some((text) => text.startsWith('⏰')),
    60_000,
  );
  expect((await said(scheduled)).filter((text) => text.startsWith('⏰'))).toHaveLength(1);
  const runs = await there.store.db.selectFrom('routine_runs').select('scheduled_for').execute();
  expect(new Set(runs.map(({ scheduled_for }) => String(scheduled_for))).size).toBe(runs.length);
  await until('the schedule is there', async () => {
    for await (const each of clientOf(there, temporal.client.connection as Connection).schedule.list())
      if (each.scheduleId.startsWith('cron/')) return true;
    return false;
  });

  await until(
    'WhatsApp is connected',
    async () => (await readAccount(there.store.db, 'default'))?.state === 'authenticated',
    30_000,
  );
  await fixture.phone.selfChat(script([{ say: 'on the server' }]));
  await until(
    'the phone shows the answer',
    () => fixture.phone.received.some((each) => JSON.stringify(each).includes('on the server')),
    30_000,
  );
  const audit = await verifyAudit(there.store.db, notedHead(home));
  expect(audit.findings).toEqual([]);
  expect(audit.entries).toBeGreaterThan(0);
}, 300_000);

it('an export is imported on a machine without the home, and only where nothing is, unless it may be replaced', async () => {
  const { home: from } = laptop.app;
  const exported = join(folder, 'exported');
  const elsewhere = join(folder, 'elsewhere');
  await sql`create database elsewhere`.execute(database.store.db);
  const url = new URL(database.url);
  url.pathname = '/elsewhere';
  const there = { FETCH_HOME: elsewhere, DATABASE_URL: url.href, TEMPORAL_NAMESPACE: 'elsewhere' };
  const own = { FETCH_HOME: from, DATABASE_URL: '', TEMPORAL_ADDRESS: '' };
  await expect(fetch(['export-home', '--to', exported], own)).rejects.toThrow(/was moved to/);
  await expect(fetch(['import-home', '--from', from], there)).rejects.toThrow(/was moved to .* already/);
  rmSync(join(from, 'moved.json'));
  expect(await fetch(['export-home', '--to', exported], own)).toContain('5 chats, 1 workspaces');
  expect(existsSync(join(from, 'moved.json'))).toBe(true);

  const store = await openStore(url.href, { max: 1 });
  try {
    await store.db
      .insertInto('chats')
      .values({ id: 'chat_own', channel: 'api', address: 'own', workflow_id: 'chat/api/own', autonomy: 'cautious' })
      .execute();
    await expect(fetch(['import-home', '--from', exported, '--yes'], there)).rejects.toThrow(/has chats already/);
    const damaged = join(exported, 'tables/items.copy');
    const whole = readFileSync(damaged);
    writeFileSync(damaged, whole.subarray(0, whole.length - 2));
    await expect(fetch(['import-home', '--from', exported, '--yes', '--replace'], there)).rejects.toThrow(
      /is damaged or incomplete/,
    );
    writeFileSync(damaged, whole);
    expect(await fetch(['import-home', '--from', exported, '--yes', '--replace'], there)).toContain('Moved.');
    const chats = await store.db.selectFrom('chats').select('id').execute();
    expect(chats).toHaveLength(5);
    expect(chats.map(({ id }) => id)).not.toContain('chat_own');
    expect((await verifyAudit(store.db, notedHead(elsewhere))).findings).toEqual([]);
    expect(readFileSync(join(elsewhere, 'workspaces/demo/README.md'), 'utf8')).toBe('a heron\n');
    expect(readFileSync(join((await describeMoved(join(elsewhere, 'workspaces/demo'))).side!, 'HEAD'), 'utf8')).toBe(
      'a checkpoint\n',
    );
  } finally {
    await store.close();
  }
}, 120_000);
