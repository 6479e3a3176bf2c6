import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestApp } from '../../support/app.ts';
import {
  containersOf,
  findTask,
  inState,
  linesOf,
  report,
  startTask,
  startTaskApp,
  workspace,
} from '../../support/kennel-app.ts';
import { dependent, type NpmRegistry, startNpmRegistry } from '../../support/npm-registry.ts';
import { until } from '../../support/until.ts';

/** Whole tasks in real containers that want hosts: registries on this machine stand in, as mirrors of the owner. */

let app: TestApp;
let npm: NpmRegistry;
let other: NpmRegistry;

beforeAll(async () => {
  [npm, other] = [await startNpmRegistry(), await startNpmRegistry()];
  // a question keeps its container for ten seconds here
  app = await startTaskApp({
    FETCH_KENNEL_MIRRORS: `npm=${npm.url},pip=${other.url}`,
    FETCH_TASK_HOLD_MINUTES: String(10 / 60),
  });
}, 600_000);
afterAll(async () => {
  await app?.close();
  await npm?.close();
  await other?.close();
});

const questionsOf = (id: string) =>
  app.store.db.selectFrom('questions').selectAll().where('task_id', '=', id).orderBy('asked_at').execute();
const asked = (id: string, count = 1) =>
  until(`it has asked ${count} times`, async () => {
    const found = await questionsOf(id);
    const { state, reason } = await findTask(app, id);
    if (state === 'failed') throw new Error(`${reason} ${JSON.stringify(await linesOf(app, id)).slice(-2000)}`);
    return found.length >= count && found.at(-1)!.state === 'open' && found.at(-1);
  });

/** A workspace that needs a package of the registry, in its root or in a folder. */
async function project(name: string, folder = '.'): Promise<string> {
  const { path: root, git } = await workspace(app, name);
  const path = join(root, folder);
  mkdirSync(path, { recursive: true });
  for (const [file, text] of Object.entries(dependent)) writeFileSync(join(path, file), text);
  writeFileSync(join(path, '.gitignore'), 'node_modules\n');
  git('add', '.');
  git('commit', '-qm', 'needs left');
  return path;
}
const IN_APP = 'run cd app && npm ci --no-audit --no-fund --loglevel=error';
const CI = 'run npm ci --no-audit --no-fund --loglevel=error';
/** Wants both registries at the same time. */
const both = () => {
  const get = (at: string) =>
    `new Promise((r, j) => require("http").get({ host: "127.0.0.1", port: 4011, path: "http://${at}/left" }, (a) => a.statusCode === 200 ? a.resume().on("end", r) : j(a.statusCode)).on("error", j))`;
  return `run node -e 'Promise.all([${get(npm.at)}, ${get(other.at)}]).then(() => console.log("both"), (e) => { console.error(e)\\; process.exit(3) })'`;
};
const lastReply = async (thread: string): Promise<string> => (await app.detail(thread)).items.at(-1)?.detail ?? '';

describe('a task whose package manager wants a registry', () => {
  it('gets it at the first try after one yes, for the project until that is taken back, and says what it reached', async () => {
    const path = await project('installs', 'app');
    const first = await startTask(app, IN_APP, { workspace: 'installs' });
    const question = await asked(first.id);
    expect(question.prompt).toBe(`npm in installs wants ${npm.at}.`);
    expect([npm.requests, existsSync(join(path, 'node_modules/left/index.js'))]).toEqual([[], false]);
    // other words decide nothing
    expect((await app.say(first.thread, 'yes, but only small ones')).kind).not.toBe('answer');
    expect((await app.say(first.thread, 'this project')).kind).toBe('answer');
    const done = await inState(app, first.id, 'completed');
    expect([done.step, readFileSync(join(path, 'node_modules/left/index.js'), 'utf8')]).toEqual([
      1,
      'module.exports = "left";\n',
    ]);
    // npm looks for its own updates besides
    expect(npm.requests.filter((path) => path !== '/npm')).toEqual(['/left', '/left/-/left-1.0.0.tgz']);
    expect(await report(app, first.id)).toMatch(
      new RegExp(`Reached: ${npm.at} \\([\\d.]+ (bytes|kB) out, [\\d.]+ (bytes|kB) in\\)`),
    );

    const second = await startTask(app, IN_APP, { workspace: 'installs', thread: first.thread });
    await inState(app, second.id, 'completed');
    expect(await questionsOf(second.id)).toEqual([]);

    await app.say(first.thread, 'egress');
    expect(await lastReply(first.thread)).toContain(`may reach ${npm.at} (this project)`);
    const turn = await app.turn(first.thread, [{ call: [['workspace_status', {}]] }, { say: 'done' }]);
    await app.ended(first.thread, turn);
    const listed = await app.store.db
      .selectFrom('calls')
      .select(['output', 'sources'])
      .where('turn_id', '=', turn)
      .executeTakeFirstOrThrow();
    expect(listed).toMatchObject({
      output: expect.stringContaining(`may reach ${npm.at} (this project)`),
      sources: expect.arrayContaining([expect.objectContaining({ label: 'names of hosts' })]),
    });
    await app.say(first.thread, `egress remove ${npm.at}`);
    const third = await startTask(app, IN_APP, { workspace: 'installs', thread: first.thread });
    await asked(third.id);
    await app.say(first.thread, 'no');
    await until('it is over', async () => (await findTask(app, third.id)).ended_at);
    expect(await questionsOf(third.id)).toHaveLength(1);
    expect(JSON.stringify(await linesOf(app, third.id))).toMatch(/Not allowed by the person|has not allowed/);
  });

  it('asks about two hosts with one question, waits without a container, and goes on after kills and a yes', async () => {
    await workspace(app, 'waits');
    const { thread, id } = await startTask(app, both(), { workspace: 'waits' });
    const question = await asked(id);
    expect(question.prompt).toMatch(/wants 2 hosts:\n- /);
    app.kill('kennel');
    await until('its container is gone', () => containersOf(id).length === 0, 120_000);
    for (const role of ['worker', 'gateway'] as const) app.kill(role);
    await until('the gateway is back', () => app.detail(thread), 60_000);
    expect((await app.say(thread, 'once')).kind).toBe('answer');
    const task = await inState(app, id, 'completed', 120_000);
    expect([task.step, await questionsOf(id)]).toEqual([
      2,
      [expect.objectContaining({ state: 'answered', answer: 'once' })],
    ]);
    expect(other.requests).toEqual(['/left']);
  });

  it('is asked about before its first run when the project says which registry it uses, and a no is remembered', async () => {
    const path = await project('node-app');
    const first = await startTask(app, CI, { workspace: 'node-app' });
    const question = await asked(first.id);
    expect([question.prompt, question.options]).toEqual([
      `node-app is a Node project: may tasks here use its package registry (${npm.at})?`,
      ['yes', 'no'],
    ]);
    expect(containersOf(first.id)).toEqual([]);
    await app.say(first.thread, 'yes');
    await inState(app, first.id, 'completed');
    expect([existsSync(join(path, 'node_modules/left/index.js')), await questionsOf(first.id)]).toEqual([
      true,
      [expect.objectContaining({ answer: 'yes' })],
    ]);
    await app.say(first.thread, `egress remove ${npm.at}`);
    rmSync(join(path, 'node_modules'), { recursive: true });

    const second = await startTask(app, CI, { workspace: 'node-app', thread: first.thread });
    await asked(second.id);
    await app.say(first.thread, 'no');
    const third = await startTask(app, CI, { workspace: 'node-app', thread: first.thread });
    // its report comes after its end
    await inState(app, third.id, 'failed', 120_000);
    expect((await findTask(app, second.id)).ended_at).not.toBeNull();
    expect([(await questionsOf(second.id)).length, await questionsOf(third.id)]).toEqual([1, []]);
    expect(JSON.stringify(await linesOf(app, third.id))).toContain('Not allowed by the person');
    await app.say(first.thread, 'egress');
    expect(await lastReply(first.thread)).toContain(`may not reach ${npm.at} (this project)`);
  });

  it('is asked about its registry after a yes to its plan, and not before', async () => {
    const path = await project('planned-app');
    const { thread, id } = await startTask(app, `look cat package.json; ${CI}`, {
      workspace: 'planned-app',
      plan: true,
    });
    expect((await asked(id)).kind).toBe('plan');
    await app.say(thread, 'yes');
    const question = await asked(id, 2);
    expect([question.prompt, containersOf(id)]).toEqual([
      `planned-app is a Node project: may tasks here use its package registry (${npm.at})?`,
      [],
    ]);
    for (const role of ['worker', 'kennel'] as const) app.kill(role);
    await until('the gateway is back', () => app.detail(thread), 60_000);
    await app.say(thread, 'yes');
    await inState(app, id, 'completed', 120_000);
    expect([existsSync(join(path, 'node_modules/left/index.js')), (await questionsOf(id)).length]).toEqual([true, 2]);
  });
});
