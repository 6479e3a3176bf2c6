import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NO_DOCKER } from '../../support/docker.ts';
import { startGitHub, type TestGitHub } from '../../support/github.ts';
import { containersOf, findTask, workspace } from '../../support/kennel-app.ts';
import { type AgentTasks, startAgentTasks } from '../../support/providers/agent-tasks.ts';
import { type AgentStep, script } from '../../support/providers/script.ts';
import { by } from '../../support/shipping.ts';
import { until } from '../../support/until.ts';

/**
 * The whole way of a pull request with nothing in place of a part: an instance, its containers, Claude Code in them and
 * git over HTTP. Only the model is scripted. Its script stands in what the agent reads of the page, as a finding would.
 */

const WAIT = 240_000;
const SUM = {
  broken: 'export const sum = (a, b) => a - b;\n',
  right: 'export const sum = (a, b) => a + b;\n',
  named: '/** Adds two numbers. */\nexport const sum = (a, b) => a + b;\n',
};
const TEST = `import assert from 'node:assert';
import test from 'node:test';
import { sum } from './sum.mjs';
test('adds', () => assert.equal(sum(1, 2), 3));
`;
const writes = (text: string, said: string): AgentStep[] => [
  { do: [['shell', { command: `printf %b ${JSON.stringify(text)} > sum.mjs` }]] },
  { say: said },
];

let github: TestGitHub;
let tasks: AgentTasks;

describe.skipIf(NO_DOCKER)('a pull request', () => {
  beforeAll(async () => {
    github = await startGitHub();
    tasks = await startAgentTasks(
      { name: 'claude', model: null },
      {
        GH_TOKEN: github.token,
        GITHUB_API_URL: github.apiUrl,
        FETCH_SHIP_LOOK_SECONDS: '1',
        FETCH_KENNEL_AGENTS: 'claude',
        FETCH_KENNEL_MEMORY_MB: '3072',
      },
    );
  }, 900_000);
  afterAll(async () => {
    await tasks?.close();
    await github?.close();
  }, 120_000);

  it('comes from `ship` over a failed check and a review to its merge by the work of a real agent in its container', {
    timeout: 900_000,
  }, async () => {
    const { app } = tasks;
    github.make('shop');
    const { path, git } = await workspace(app, 'shop');
    const commit = (files: Record<string, string>, message: string): void => {
      for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
      git('add', '-A');
      git('commit', '-qm', message);
    };
    commit({ 'package.json': '{ "type": "module", "scripts": { "test": "node --test" } }\n' }, 'tests');
    git('remote', 'add', 'origin', `${github.apiUrl.replace('/api', '')}/ann/shop.git`);
    git('push', '-q', github.folder('shop'), 'main');
    git('update-ref', 'refs/remotes/origin/main', 'main');
    commit({ 'sum.mjs': SUM.broken, 'sum.test.mjs': TEST }, 'Add sums');
    const made = git('rev-parse', 'HEAD');

    const thread = await app.thread();
    const { db } = app.store;
    const said = async () =>
      (await db.selectFrom('outbox').select('body').where('thread_id', '=', thread).execute()).map(({ body }) => body);
    const told = (words: RegExp) =>
      until(`it tells ${words}`, async () => (await said()).find((body) => words.test(body)), WAIT);
    const asked = (words: RegExp) =>
      until(
        `it asks ${words}`,
        async () => {
          const open = await db.selectFrom('questions').selectAll().where('state', '=', 'open').execute();
          return open.find(({ prompt }) => words.test(prompt));
        },
        WAIT,
      );
    const shipment = () => db.selectFrom('shipments').selectAll().executeTakeFirstOrThrow();
    const onServer = async (file: string): Promise<string> =>
      git('--git-dir', github.folder('shop'), 'show', `${(await shipment()).branch}:${file}`);
    const headOnServer = async (): Promise<string> =>
      git('--git-dir', github.folder('shop'), 'rev-parse', (await shipment()).branch);
    const records = github.records('shop');
    const checks = (head: string, conclusion: string) => {
      records.checkRuns[head] = [{ id: 7, name: 'test', head_sha: head, status: 'completed', conclusion }];
    };
    const yes = async (words: RegExp) => {
      const { id } = await asked(words);
      await app.say(thread, 'yes');
      await until('it is answered', async () => {
        const row = await db.selectFrom('questions').select('state').where('id', '=', id).executeTakeFirstOrThrow();
        return row.state === 'answered';
      });
    };

    await app.say(thread, 'ship in shop');
    await told(/^The pull request #1 .* is open/);
    expect(await headOnServer()).toBe(made);

    records.logs['7'] = `not ok 1 - adds\n${script(...writes(SUM.right, 'It subtracted.'))}`;
    checks(made, 'failure');
    expect((await asked(/^Push this to #1/)).evidence).toContain('+export const sum = (a, b) => a + b;');
    const [first] = await db.selectFrom('tasks').select('id').orderBy('created_at').execute();
    const fixed = await findTask(app, first!.id);
    expect(fixed).toMatchObject({ harness: 'claude', state: 'completed', worktree: true });
    // the tests of the project ran in a container after the agent, against those of before
    expect(fixed.result?.verdict).toMatchObject({ level: 'verified', passed: 1, failed: 0 });
    expect(containersOf(fixed.id)).toEqual([]);
    expect(await headOnServer()).toBe(made);
    await yes(/^Push this to #1/);
    await told(/^Pushed to #1/);
    expect(await onServer('sum.mjs')).toBe(SUM.right.trim());
    const second = await headOnServer();
    checks(second, 'success');

    const remark = `Say what it does.\n${script(...writes(SUM.named, 'I have described it.'))}`;
    records.codeComments[1] = [{ id: 1, ...by('bo'), body: remark, path: 'sum.mjs', line: 1 }];
    expect((await asked(/^Push this to #1/)).evidence).toMatch(/I have described it[\s\S]*\+\/\*\* Adds two numbers/);
    expect(records.comments[1]).toBeUndefined();
    await yes(/^Push this to #1/);
    await until('the reviewer is answered', () => records.comments[1]?.length === 1);
    expect(JSON.stringify(records.comments[1])).toContain('I have described it.');
    await until('it is pushed', async () => (await headOnServer()) !== second);
    checks(await headOnServer(), 'success');
    await yes(/^Merge #1/);
    await told(/^The pull request #1 "Add sums" is merged/);

    expect(git('--git-dir', github.folder('shop'), 'show', 'main:sum.mjs')).toBe(SUM.named.trim());
    expect((await shipment()).state).toBe('merged');
    await until('its branches are gone', () => git('branch', '--list', 'fetch/*') === '');
    // the workspace of the person is as it was
    expect([git('rev-parse', 'main'), git('status', '--porcelain')]).toEqual([made, '']);
    expect(github.requests.filter((request) => /^POST .*git-receive-pack/.test(request))).toHaveLength(3);
  });
});
