import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { workspaceIdentity } from '../../../src/adapters/workspaces.ts';
import { projectProfile } from '../../../src/store/kennel/workspaces/project-profiles.ts';
import type { TestApp } from '../../support/app.ts';
import { findTask, inState, report, startTask, startTaskApp, workspace } from '../../support/kennel-app.ts';
import { dependent, type NpmRegistry, startNpmRegistry } from '../../support/npm-registry.ts';
import { reconcileNow } from '../../support/reconcile.ts';
import { clientOf } from '../../support/temporal-client.ts';
import { until } from '../../support/until.ts';

/** Projects that are installed and tested before anything is changed in them, in real containers. */

let app: TestApp;
let registry: NpmRegistry;
beforeAll(async () => {
  registry = await startNpmRegistry();
  // npm is not told of it, but the gate may reach it
  app = await startTaskApp({ FETCH_KENNEL_MIRRORS: `pip=${registry.url}` });
}, 600_000);
afterAll(async () => {
  await app?.close();
  await registry?.close();
});

async function project(name: string, files: Record<string, string>) {
  const made = await workspace(app, name);
  for (const [file, text] of Object.entries(files)) writeFileSync(join(made.path, file), text);
  made.git('add', '.');
  made.git('commit', '-qm', 'files');
  return made;
}

/** The latest message of a thread that fits. */
const told = (thread: string, what: RegExp): Promise<string> =>
  until(
    `it is told: ${what}`,
    async () => {
      const rows = await app.store.db
        .selectFrom('outbox')
        .select('body')
        .where('thread_id', '=', thread)
        .orderBy('ord', 'desc')
        .execute();
      return rows.find(({ body }) => what.test(body))?.body;
    },
    180_000,
  );
const profileOf = (name: string) => projectProfile(app.store.db, { host: 'local', workspace: name });
const questionsOf = (name: string) =>
  app.store.db.selectFrom('questions').selectAll().where('prompt', '~', `(test ${name} once|^${name} could)`).execute();

describe('a project', () => {
  it('is tested without a question where nothing is missing, and a task is not blamed for what was red', async () => {
    await project('red', {
      'package.json': '{ "scripts": { "test": "node --test" } }',
      'a.test.mjs': `import assert from 'node:assert';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import test from 'node:test';
test('adds', () => assert.equal(1 + 1, 2));
test('is broken', () => assert.equal(1 + 1, 3));
test('draws', () => {
  if (existsSync('drawn.txt')) return;
  writeFileSync('drawn.txt', 'x');
  assert.fail();
});
`,
    });
    const thread = await app.thread();
    expect((await app.say(thread, 'check red')).kind).toBe('reply');
    expect(await told(thread, /^red has failing tests/)).toMatch(
      /: 1 of 3 tests fails \(.*\)\. That is so before any change of mine\.\nFailing: `is broken`\.\nThese pass only sometimes: `draws`\.$/,
    );
    expect(await questionsOf('red')).toEqual([]);
    expect(await profileOf('red')).toMatchObject({
      checked: { tests: { passed: 2, failed: 1, failing: ['is broken'] } },
      flaky: ['draws'],
      asked: null,
    });
    expect(existsSync(join(app.home, 'workspaces/red/drawn.txt'))).toBe(false);
    await app.say(thread, '/project red');
    expect(await told(thread, /^red is the active project now/)).toMatch(/- tested by `npm test`, fails/);

    const { id } = await startTask(app, 'write note.txt a; say Done.', { workspace: 'red', thread });
    await inState(app, id, 'completed', 180_000);
    expect((await findTask(app, id)).result!.verdict).toMatchObject({ level: 'partly' });
    expect(await report(app, id)).toContain('failed before it, too');
    // what the check has found is the state before the task, whose tests are not run once more
    const runs = await app.store.db
      .selectFrom('test_runs')
      .select('tree')
      .where('workspace', '=', (await findTask(app, id)).workspace_identity)
      .execute();
    expect(runs).toHaveLength(2);
  }, 600_000);

  it('that comes in is installed after one yes, which holds for the project, and is asked about once', async () => {
    const from = join(realpathSync(mkdtempSync(join(app.home, 'own-'))), 'needs');
    execFileSync('git', ['init', '-q', '-b', 'main', from]);
    const files = {
      ...dependent,
      'package.json': JSON.stringify({
        ...JSON.parse(dependent['package.json']),
        scripts: { test: 'node --test' },
      }),
      'a.test.mjs': `import assert from 'node:assert';
import test from 'node:test';
import left from 'left';
test('is installed', () => assert.equal(left, 'left'));
`,
      '.npmrc': `registry=${registry.url}\n`,
      '.gitignore': 'node_modules\n',
    };
    for (const [file, text] of Object.entries(files)) writeFileSync(join(from, file), text);
    for (const args of [
      ['add', '-A'],
      ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', 'commit', '-qm', 'first'],
    ])
      execFileSync('git', args, { cwd: from });
    const thread = await app.thread({ allow_shell: true });
    await app.say(thread, `open ${from}`);
    await until('a yes is asked for', async () => (await app.detail(thread)).pending_approvals[0]);
    await app.say(thread, 'yes');
    expect(await told(thread, /^I can install and test needs once/)).toContain(
      `It needs npm's registry (${registry.at})`,
    );
    await app.say(thread, 'yes');
    expect(await told(thread, /^needs is ready/)).toMatch(/it installs \(\d+ s\) and 1 test passes/);
    expect((await profileOf('needs')).asked).toBeNull();
    // the project has the packages now, so its tests run in the chat, where there is no network
    expect(existsSync(join(app.home, 'workspaces/needs/node_modules/left'))).toBe(true);
    const turn = await app.turn(thread, [{ call: [['app_test', { workspace: 'needs' }]] }, { say: '$LAST' }]);
    await app.ended(thread, turn);
    const call = app.store.db.selectFrom('calls').select(['ok', 'output']).where('turn_id', '=', turn);
    expect(await call.executeTakeFirst()).toMatchObject({ ok: true, output: expect.stringContaining('succeeded') });
    await app.say(thread, 'check needs again');
    await until(
      'it is checked again',
      async () => {
        const rows = await app.store.db
          .selectFrom('outbox')
          .select('body')
          .where('thread_id', '=', thread)
          .where('body', 'like', 'needs is ready%')
          .execute();
        return rows.length === 2;
      },
      180_000,
    );
    expect(await questionsOf('needs')).toHaveLength(1);
    // a task of the project asks nothing more, and its registry is there
    const { id } = await startTask(app, 'run npm ci --no-audit --no-fund; say Done.', { workspace: 'needs', thread });
    await inState(app, id, 'completed', 180_000);
    expect(existsSync(join(app.home, 'workspaces/needs/node_modules/left'))).toBe(true);
  }, 600_000);

  it('is left alone after a no, and a yes counts although the workflow was lost', async () => {
    await project('later', { ...dependent, '.npmrc': `registry=${registry.url}\n`, '.gitignore': 'node_modules\n' });
    const thread = await app.thread();
    await app.say(thread, 'check later');
    await told(thread, /^I can install and test later once/);
    await app.say(thread, 'no');
    await until('it is answered', async () => (await questionsOf('later'))[0]?.state === 'answered');
    expect((await profileOf('later')).checked).toBeNull();
    await told(thread, /^later stays unchecked/);
    await app.say(thread, 'check later');
    const asked = await until('it is asked again', async () =>
      (await questionsOf('later')).find(({ state }) => state === 'open'),
    );
    const connection = await Connection.connect({ address: app.temporalAddress });
    await clientOf(app, connection)
      .workflow.getHandle(`baseline/${asked.id.slice(0, 14)}`)
      .terminate('lost');
    await connection.close();
    await app.say(thread, 'yes');
    await reconcileNow(app);
    expect(await told(thread, /^later (?:is ready|cannot be installed)/)).toMatch(/^later is ready: it installs/);
  }, 600_000);

  it('is asked about in one place: a task takes the question back, and asks itself', async () => {
    await project('busy', { ...dependent, '.npmrc': `registry=${registry.url}\n`, '.gitignore': 'node_modules\n' });
    const thread = await app.thread();
    await app.say(thread, 'check busy');
    await told(thread, /^I can install and test busy once/);
    await app.say(thread, 'check busy');
    await told(thread, /^That waits for your answer/);
    const { id } = await startTask(app, 'write a.txt a', { workspace: 'busy', thread: await app.thread() });
    await until('it is taken back', async () => (await questionsOf('busy'))[0]?.state === 'cancelled');
    await until('the task asks', async () => {
      const rows = await app.store.db.selectFrom('questions').select('state').where('task_id', '=', id).execute();
      return rows.length === 1;
    });
    expect((await profileOf('busy')).asked).toBeNull();
  }, 300_000);

  it('is asked about what its programs wanted, where nothing else names it, and checked again after the yes', async () => {
    const fetches = `node -e "fetch('${registry.url}left').then((a) => { if (!a.ok) process.exit(1); console.log('ok 1 - came'); })"`;
    await project('unnamed', { Makefile: `test:\n\t@${fetches} && echo 1..1\n` });
    const thread = await app.thread();
    await app.say(thread, 'check unnamed');
    expect(await told(thread, /^unnamed could not be installed and tested/)).toContain(`It needs ${registry.at}.`);
    await app.say(thread, 'yes');
    await told(thread, /^unnamed is ready: 1 test passes/);
    expect(await questionsOf('unnamed')).toHaveLength(1);
  }, 300_000);

  it('is asked about once, and its result is told and stored once, whatever is killed meanwhile', async () => {
    const { path } = await project('killed', {
      ...dependent,
      'package.json': JSON.stringify({ ...JSON.parse(dependent['package.json']), scripts: { test: 'node --test' } }),
      'a.test.mjs': "import test from 'node:test';\ntest('is slow', (_, done) => void setTimeout(done, 4_000));\n",
      '.npmrc': `registry=${registry.url}\n`,
      '.gitignore': 'node_modules\n',
    });
    const thread = await app.thread();
    await app.say(thread, 'check killed');
    app.kill('worker');
    app.kill('kennel');
    await app.whenReady();
    await told(thread, /^I can install and test killed once/);
    const [asked] = await questionsOf('killed');
    const label = `label=fetch.step=${asked!.id.slice(0, 14)} check`;
    const containers = () => execFileSync('docker', ['ps', '-aq', '--filter', label], { encoding: 'utf8' });
    await app.say(thread, 'yes');
    await until('its programs run', () => containers() !== '', 60_000);
    app.kill('kennel');
    app.kill('worker');
    await app.whenReady();
    await told(thread, /^killed is ready/);
    expect(await questionsOf('killed')).toHaveLength(1);
    const { db } = app.store;
    const messages = db.selectFrom('outbox').select('body').where('thread_id', '=', thread);
    expect((await messages.execute()).filter(({ body }) => /^(?:I can|killed is)/.test(body))).toHaveLength(2);
    const workspace = await workspaceIdentity(path);
    expect(await db.selectFrom('test_runs').select('tree').where('workspace', '=', workspace).execute()).toHaveLength(
      1,
    );
    expect(containers()).toBe('');
    expect(readdirSync(join(app.home, 'kennel/checks'))).toEqual([]);
  }, 600_000);

  it('that is gone is not checked, and that is said', async () => {
    const files = { ...dependent, '.npmrc': `registry=${registry.url}\n`, '.gitignore': 'node_modules\n' };
    const { path } = await project('gone', files);
    const thread = await app.thread();
    await app.say(thread, 'check gone');
    await told(thread, /^I can install and test gone once/);
    rmSync(path, { recursive: true });
    await app.say(thread, 'yes');
    await told(thread, /^gone could not be checked: its folder/);
  }, 300_000);

  it('of which nothing is known is not checked, and that is said', async () => {
    await workspace(app, 'bare');
    const thread = await app.thread();
    await app.say(thread, 'check bare');
    await told(thread, /^Nothing was checked: bare has no commit, or its files do not say/);
  }, 300_000);

  it('is tested as its person says, until that is forgotten', async () => {
    await project('spoken', { Makefile: 'check:\n\t@echo "ok 1 - by make"; echo "1..1"\n' });
    const thread = await app.thread();
    await app.say(thread, 'spoken is tested by make check');
    await told(thread, /^From now on, spoken is tested by `make check`/);
    const { id } = await startTask(app, 'write note.txt a; say Done.', { workspace: 'spoken', thread });
    await inState(app, id, 'completed', 180_000);
    expect((await findTask(app, id)).result!.tests).toMatchObject({ command: 'make check', ok: true });
    await app.say(thread, 'forget how spoken is tested');
    await told(thread, /^That is forgotten\. How spoken is tested is not known now\./);
    expect((await app.say(thread, 'paris is tested by rain')).kind).not.toBe('reply');
  }, 600_000);
});
