import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { childEnvironment } from '../../src/config.ts';
import { FETCH_SETTING, startTestApp, type TestApp } from '../support/app.ts';
import { requireDocker } from '../support/docker.ts';
import { containersOf, findTask, inState, kennelReady, linesOf, startTask, workspace } from '../support/kennel-app.ts';
import { until } from '../support/until.ts';

const ENTRY = fileURLToPath(new URL('../../bin/fetch.js', import.meta.url));
/** A host counts as away after a second, and as gone after ten. */
const AWAY = { FETCH_AUTONOMY: 'autonomous', FETCH_KENNEL_AWAY_SECONDS: '1' };

let app: TestApp;
let second: ChildProcess;

beforeAll(async () => {
  await requireDocker();
  app = await startTestApp(AWAY);
  await kennelReady(app);
  const clean = Object.fromEntries(Object.entries(childEnvironment({})).filter(([name]) => !FETCH_SETTING.test(name) && !name.startsWith('VITEST')));
  // another host that has the same folders, as on a common disk
  second = spawn(process.execPath, [ENTRY, 'kennel-worker'], {
    env: { ...clean, ...AWAY, FETCH_HOME: app.home, FETCH_KENNEL_HOST: 'second', TEMPORAL_ADDRESS: app.temporalAddress, DATABASE_URL: app.databaseUrl },
    stdio: 'ignore',
  });
}, 600_000);
afterAll(async () => {
  second?.kill('SIGKILL');
  await app?.close();
});

describe('a host that dies', () => {
  it('is told about, and its task goes on at another host that has the workspace', async () => {
    await workspace(app, 'shared');
    await until('the second host shows the workspace', () =>
      app.store.db.selectFrom('workspaces').select('name').where('host', '=', 'second').where('name', '=', 'shared').executeTakeFirst(),
    );
    const thread = await app.thread();
    await app.store.db
      .updateTable('chats')
      .set({ workspace: 'shared', workspace_host: 'second' })
      .where('id', '=', (e) => e.selectFrom('threads').select('chat_id').where('id', '=', thread))
      .execute();
    const { id } = await startTask(app, 'append a.txt one; wait 8; append a.txt two', { workspace: 'shared', thread });
    expect((await findTask(app, id)).host).toBe('second');
    await until('it waits', async () => (await linesOf(app, id)).some((line) => line.type === 'tool' && line.title.includes('wait')), 60_000);
    second.kill('SIGKILL');
    for (const container of containersOf(id)) execFileSync('docker', ['rm', '-f', container]);
    const task = await inState(app, id, 'completed', 120_000);
    expect(task.host).toBe('local');
    expect(readFileSync(join(app.home, 'workspaces/shared/a.txt'), 'utf8')).toBe('one\ntwo\n');
    const told = await app.store.db.selectFrom('outbox').select('body').where('id', 'like', `out_${id}_%`).orderBy('ord').execute();
    expect(told.map((row) => row.body).join('\n')).toMatch(/the host "second".*does not answer[\s\S]*goes on at the host "local"[\s\S]*is done/);
  }, 240_000);
});
