import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { childEnvironment } from '../../../src/config.ts';
import { forgetHost } from '../../../src/store/kennel/gone-host.ts';
import { FETCH_SETTING, type TestApp } from '../../support/app.ts';
import {
  containersOf,
  findTask,
  inState,
  linesOf,
  startTask,
  startTaskApp,
  workspace,
} from '../../support/kennel-app.ts';
import { startPartition } from '../../support/partition.ts';
import { until } from '../../support/until.ts';

const ENTRY = fileURLToPath(new URL('../../../bin/fetch.js', import.meta.url));
/** A host counts as away after a second, and as gone after ten. */
const AWAY = { FETCH_AUTONOMY: 'autonomous', FETCH_KENNEL_AWAY_SECONDS: '1' };

let app: TestApp;
const workers: ChildProcess[] = [];

/**
 * A kennel worker beside the instance, on its servers; without a `home` of its own it has the same folders, as on a
 * common disk.
 */
function worker(host: string, env: Record<string, string> = {}): { child: ChildProcess; output(): string } {
  const clean = Object.fromEntries(
    Object.entries(childEnvironment({})).filter(([name]) => !FETCH_SETTING.test(name) && !name.startsWith('VITEST')),
  );
  const settings = {
    FETCH_HOME: app.home,
    FETCH_KENNEL_HOST: host,
    TEMPORAL_ADDRESS: app.temporalAddress,
    DATABASE_URL: app.databaseUrl,
  };
  const child = spawn(process.execPath, [ENTRY, 'kennel-worker'], {
    env: { ...clean, ...AWAY, ...settings, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  workers.push(child);
  let said = '';
  child.stderr!.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-5_000);
  });
  return { child, output: () => said };
}

/** A thread whose active workspace is that of a host, once the host shows it. */
async function threadAt(host: string, name: string): Promise<string> {
  await until(`${host} shows the workspace`, () =>
    app.store.db
      .selectFrom('workspaces')
      .select('name')
      .where('host', '=', host)
      .where('name', '=', name)
      .executeTakeFirst(),
  );
  const thread = await app.thread({ allow_shell: true });
  await app.store.db
    .updateTable('chats')
    .set({ workspace: name, workspace_host: host })
    .where('id', '=', (e) => e.selectFrom('threads').select('chat_id').where('id', '=', thread))
    .execute();
  return thread;
}

const isWaiting = (id: string) => async () =>
  (await linesOf(app, id)).some((line) => line.type === 'tool' && line.title.includes('wait'));
const toldOf = async (id: string) =>
  (await app.store.db.selectFrom('outbox').select('body').where('id', 'like', `out_${id}_%`).orderBy('ord').execute())
    .map((row) => row.body)
    .join('\n');

beforeAll(async () => {
  app = await startTaskApp(AWAY);
}, 600_000);
afterAll(async () => {
  for (const child of workers) child.kill('SIGKILL');
  await app?.close();
});

/** Whether every process of a container but the runner and the first one is stopped. */
const still = (container: string): boolean => {
  const states = execFileSync('docker', ['top', container, '-o', 'pid,stat'], { encoding: 'utf8', stdio: 'pipe' })
    .trim()
    .split('\n')
    .slice(1);
  return states.some((state) => /\sT/.test(state));
};

describe('a host that dies', () => {
  it('is told about, and its task goes on at another host that has the workspace, while its own container holds still', async () => {
    const second = worker('second');
    const { git } = await workspace(app, 'shared');
    const thread = await threadAt('second', 'shared');
    // the container that is left would go on long before the end of the one that takes its place
    const { id } = await startTask(app, 'append a.txt one; wait 14; append a.txt two', { workspace: 'shared', thread });
    expect((await findTask(app, id)).host).toBe('second');
    await until('it waits', isWaiting(id), 60_000);
    const [left] = containersOf(id);
    second.child.kill('SIGKILL');
    await until('its container holds still', () => still(left!), 30_000);
    const task = await inState(app, id, 'completed', 120_000);
    expect(task.host).toBe('local');
    expect(readFileSync(join(app.home, 'workspaces/shared/a.txt'), 'utf8')).toBe('one\ntwo\n');
    expect(git('log', '--format=%s').split('\n')).toHaveLength(2);
    expect(await toldOf(id)).toMatch(
      /the host "second".*does not answer[\s\S]*goes on at the host "local"[\s\S]*Done in /,
    );
    const back = worker('second');
    await until('it is removed when the host is back', async () => containersOf(id).length === 0, 60_000);
    back.child.kill('SIGTERM');
    await until('it has ended', () => back.child.exitCode !== null);
    await forgetHost(app.store.db, 'second');
  }, 240_000);

  it('has its container go on where it was when it is back before that', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'fetch-own-workspaces-'));
    try {
      const alone = worker('alone', { FETCH_WORKSPACES: folder });
      const { path } = await workspace({ ...app, folder }, 'own');
      const thread = await threadAt('alone', 'own');
      const { id } = await startTask(app, 'append a.txt one; wait 12; append a.txt two', { workspace: 'own', thread });
      await until('it waits', isWaiting(id), 60_000);
      const [container] = containersOf(id);
      alone.child.kill('SIGKILL');
      await until('its container holds still', () => still(container!), 30_000);
      worker('alone', { FETCH_WORKSPACES: folder });
      const task = await inState(app, id, 'completed', 90_000);
      expect([task.host, task.step, readFileSync(join(path, 'a.txt'), 'utf8')]).toEqual(['alone', 1, 'one\ntwo\n']);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }, 240_000);
});

describe('a host that is cut off', () => {
  it('holds its containers still, and removes those of tasks that went on elsewhere when it is back', async () => {
    const database = await startPartition({ host: '127.0.0.1', port: Number(new URL(app.databaseUrl).port) });
    const temporal = await startPartition({ host: '127.0.0.1', port: Number(app.temporalAddress.split(':')[1]) });
    const url = new URL(app.databaseUrl);
    url.port = String(database.port);
    const third = worker('third', { DATABASE_URL: url.href, TEMPORAL_ADDRESS: `127.0.0.1:${temporal.port}` });
    try {
      const { path, git } = await workspace(app, 'parted');
      const thread = await threadAt('third', 'parted');
      // the container, left alone, would write beside the one that takes its place
      const { id } = await startTask(app, 'append a.txt one; wait 20; append a.txt two', {
        workspace: 'parted',
        thread,
      });
      await until('it waits', isWaiting(id), 60_000);
      const [cutOff] = containersOf(id);
      const gateOfThird = join(app.home, 'kennel/runs', id, 'gate/model.sock');
      expect(existsSync(gateOfThird)).toBe(true);
      database.cut();
      temporal.cut();
      const paused = () =>
        execFileSync('docker', ['inspect', '-f', '{{.State.Paused}}', cutOff!], { encoding: 'utf8' }).trim() === 'true';
      await until('its container is held', async () => paused(), 30_000);
      const task = await inState(app, id, 'completed', 120_000);
      expect(task.host).toBe('local');
      expect(paused()).toBe(true);
      expect(readFileSync(join(path, 'a.txt'), 'utf8')).toBe('one\ntwo\n');
      expect(git('log', '--format=%s').split('\n')).toHaveLength(2);
      database.heal();
      temporal.heal();
      await until('its container is gone', async () => containersOf(id).length === 0, 60_000);
      expect(readFileSync(join(path, 'a.txt'), 'utf8')).toBe('one\ntwo\n');
      expect(git('log', '--format=%s').split('\n')).toHaveLength(2);
      expect(third.child.exitCode).toBeNull();
    } finally {
      third.child.kill('SIGKILL');
      await Promise.all([database.close(), temporal.close()]);
    }
  }, 240_000);

  it('lets its containers go on when nobody else has taken their tasks', async () => {
    const database = await startPartition({ host: '127.0.0.1', port: Number(new URL(app.databaseUrl).port) });
    const url = new URL(app.databaseUrl);
    url.port = String(database.port);
    const fourth = worker('fourth', { DATABASE_URL: url.href });
    try {
      const { path } = await workspace(app, 'briefly');
      const thread = await threadAt('fourth', 'briefly');
      const { id } = await startTask(app, 'append a.txt one; wait 30; append a.txt two', {
        workspace: 'briefly',
        thread,
      });
      await until('it waits', isWaiting(id), 60_000);
      const [container] = containersOf(id);
      const kept = await app.turn(thread, [
        { call: [['app_run', { workspace: 'briefly', keep: true, command: 'echo up; sleep 600' }]] },
        { say: 'done' },
      ]);
      await app.ended(thread, kept, 60_000);
      const appOf = execFileSync(
        'docker',
        ['ps', '-q', '--filter', 'label=fetch.app', '--filter', `label=fetch.workspace=${path}`],
        {
          encoding: 'utf8',
        },
      ).trim();
      database.cut();
      const paused = (of: string) =>
        execFileSync('docker', ['inspect', '-f', '{{.State.Paused}}', of], { encoding: 'utf8' }).trim() === 'true';
      await until('its containers are held', async () => paused(container!) && paused(appOf), 30_000);
      database.heal();
      await until('its app goes on', async () => !paused(appOf), 30_000);
      execFileSync('docker', ['rm', '-f', appOf], { stdio: 'ignore' });
      const task = await inState(app, id, 'completed', 90_000);
      expect([task.host, task.step]).toEqual(['fourth', 1]);
    } finally {
      fourth.child.kill('SIGKILL');
      await database.close();
    }
  }, 200_000);
});

describe('a second host of the same name', () => {
  it('is refused with a sentence that says what to do, and the first one serves on', async () => {
    const home = mkdtempSync(join(tmpdir(), 'fetch-other-home-'));
    // as a person brings it to a second host
    copyFileSync(join(app.home, 'payload-keys'), join(home, 'payload-keys'));
    try {
      const other = worker('local', { FETCH_HOME: home });
      await until('it has ended', async () => other.child.exitCode !== null, 60_000);
      expect(other.child.exitCode).toBe(1);
      expect(other.output()).toMatch(
        /The kennel host name "local" is served by another process .*Give this machine a name of its own: FETCH_KENNEL_HOST\./,
      );
      await workspace(app, 'mine');
      const { id } = await startTask(app, 'write a.txt a', { workspace: 'mine' });
      expect((await inState(app, id, 'completed')).host).toBe('local');
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  }, 120_000);
});
