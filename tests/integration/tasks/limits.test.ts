import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { addTaskUsage } from '../../../src/store/kennel/tasks/usage.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { requireDocker } from '../../support/docker.ts';
import {
  containersOf,
  findTask,
  inState,
  kennelReady,
  linesOf,
  startTask,
  workspace,
} from '../../support/kennel-app.ts';
import { type LimitedEndpoint, MODEL_CALLER, startLimitedEndpoint } from '../../support/limited-endpoint.ts';
import { until } from '../../support/until.ts';

let app: TestApp;
let endpoint: LimitedEndpoint;

beforeAll(async () => {
  await requireDocker('opencode');
  endpoint = await startLimitedEndpoint();
  app = await startTestApp({
    FETCH_AUTONOMY: 'autonomous',
    ANTHROPIC_BASE_URL: endpoint.url,
    FETCH_PROGRESS_SECONDS: '0',
  });
  await kennelReady(app);
}, 600_000);
afterAll(async () => {
  await app?.close();
  await endpoint?.close();
});
// one account: what a test left known of it must not hold up the next
afterEach(async () => {
  endpoint.refuse(null);
  await app.store.db.deleteFrom('model_limits').execute();
});

const begun = async (name: string, goal: string) => {
  const { path, git } = await workspace(app, name);
  writeFileSync(join(path, 'ask.mjs'), MODEL_CALLER);
  git('add', '.');
  git('commit', '-qm', 'a program that asks the model');
  return { path, ...(await startTask(app, goal, { workspace: name })) };
};
const GOAL = 'write a.txt a; run node ask.mjs; append b.txt b';
const limited = (id: string) =>
  until(
    `task ${id} waits for its model`,
    async () => {
      const task = await findTask(app, id);
      if (task.ended_at) throw new Error(`it is ${task.state}: ${task.reason}`);
      return task.state === 'waiting' && task.limited_until ? task : null;
    },
    60_000,
  );
const told = async (id: string) =>
  (
    await app.store.db
      .selectFrom('outbox')
      .innerJoin('tasks', 'tasks.thread_id', 'outbox.thread_id')
      .select('outbox.body')
      .where('outbox.kind', '=', 'notice')
      .where('tasks.id', '=', id)
      .orderBy('outbox.created_at')
      .execute()
  ).map(({ body }) => body);

describe('a task whose model is at its limit', () => {
  it('waits without a container, says so once, and goes on by itself in the session that it has', async () => {
    endpoint.refuse({ status: 429, headers: { 'retry-after': '60' }, forMs: 60_000 });
    const before = endpoint.requests().length;
    const { id, thread, path } = await begun('sleeps', GOAL);
    const waiting = await limited(id);
    const opensAt = endpoint.endsAt();
    expect(Math.abs(waiting.limited_until!.getTime() - opensAt)).toBeLessThan(5_000);
    expect(containersOf(id)).toEqual([]);
    expect(await told(id)).toEqual([
      expect.stringMatching(
        /is at its limit until \d\d:\d\d UTC\. I go on then; .*`now` tries at once, `stop` ends it\.$/,
      ),
    ]);
    await app.ended(thread, await app.turn(thread, [{ call: [['task_status', { taskId: id }]] }, { say: '$LAST' }]));
    expect((await app.detail(thread)).items.at(-1)?.detail).toMatch(
      /waits for the limit of practice agent, which ends at/,
    );

    // another task with the same account learns of it without asking
    const other = await begun('shares', GOAL);
    await limited(other.id);
    expect(endpoint.requests().length - before).toBe(1);

    for (const each of [id, other.id]) await inState(app, each, 'completed', 180_000);
    expect(Date.now() - opensAt).toBeLessThan(60_000);
    expect(readFileSync(join(path, 'answers.txt'), 'utf8')).toBe('answered\n');
    expect((await told(id)).filter((text) => text.includes('limit'))).toHaveLength(1);
    const steps = await linesOf(app, id);
    // the file was written once, and the session went on
    expect(
      steps.filter(
        (line) => line.type === 'tool' && line.title.startsWith('write a.txt') && line.status === 'completed',
      ),
    ).toHaveLength(1);
    expect(steps.findLast((line) => line.type === 'session')).toMatchObject({ step: 2, resumed: true });
    expect(await app.store.db.selectFrom('model_limits').selectAll().execute()).toEqual([]);
  });

  it('is ended by no death and no restart of any process while it waits', async () => {
    endpoint.refuse({ status: 429, headers: { 'retry-after': '45' }, forMs: 45_000 });
    const { id, path } = await begun('killed', GOAL);
    await until('it was refused', () => endpoint.endsAt() < Number.POSITIVE_INFINITY, 60_000);
    app.kill('kennel');
    await limited(id);
    app.kill('worker');
    app.kill('temporal');
    await app.stop();
    await app.start();
    await inState(app, id, 'completed', 240_000);
    expect(readFileSync(join(path, 'answers.txt'), 'utf8')).toBe('answered\n');
    expect(readFileSync(join(path, 'b.txt'), 'utf8')).toBe('b\n');
    expect((await told(id)).filter((text) => text.includes('at its limit'))).toHaveLength(1);
  });

  it('has its container ended although its agent would ask on for hours, and goes on at once when it is told to', async () => {
    endpoint.refuse({ status: 429, headers: { 'retry-after': '7200' } });
    const { id, thread, path } = await begun('told', 'run node ask.mjs m again; append b.txt b');
    await limited(id);
    expect(containersOf(id)).toEqual([]);
    const asked = endpoint.requests().length;
    // too early: it is told that there is no answer yet
    expect((await app.say(thread, 'now')).kind).toBe('task');
    await until('it has asked again', () => endpoint.requests().length > asked);
    await until(
      'it waits again',
      async () => (await told(id)).filter((text) => text.includes('at its limit')).length === 2,
    );
    endpoint.refuse(null);
    await limited(id);
    // as a client says it that knows turns alone
    expect((await app.ended(thread, await app.turn(thread, 'now'))).status).toBe('completed');
    await inState(app, id, 'completed');
    expect(readFileSync(join(path, 'answers.txt'), 'utf8')).toBe('answered\n');
    expect((await told(id)).filter((text) => /^The agent in .* tries again now\.$/.test(text))).toHaveLength(2);
  });

  it('goes on with another agent in the same working tree when the person names one', async () => {
    endpoint.refuse({ status: 429, headers: { 'retry-after': '7200' } });
    const { id, thread, path } = await begun('switched', GOAL);
    await limited(id);
    expect(await told(id)).toEqual([expect.stringMatching(/`now \w+` goes on with [\w ]+, `now` tries at once/)]);
    await app.say(thread, 'now gemini');
    await until('what Gemini CLI lacks is told', async () =>
      (await app.detail(thread)).items.some(({ detail }) => detail?.includes('needs a key of Gemini')),
    );
    expect((await app.say(thread, 'now opencode')).kind).toBe('task');
    await until(
      'the other agent has begun',
      async () => (await linesOf(app, id)).some((line) => line.type === 'started' && line.harness === 'opencode'),
      120_000,
    );
    expect(await told(id)).toContainEqual(expect.stringMatching(/^The agent in .* goes on with opencode\.$/));
    await until(
      'it is over, or can be stopped',
      async () => (await findTask(app, id)).ended_at ?? (await app.say(thread, 'stop')),
    );
    await until('it is over', async () => (await findTask(app, id)).ended_at, 60_000);
    expect(readFileSync(join(path, 'a.txt'), 'utf8')).toBe('a\n');
  });

  it('ends while it waits when the person says stop', async () => {
    endpoint.refuse({
      status: 529,
      body: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    });
    const { id, thread } = await begun('stopped', GOAL);
    await limited(id);
    await until('a wait that lasts is told', async () => (await told(id)).length > 0, 60_000);
    expect(await told(id)).toEqual([expect.stringContaining('is overloaded. I try again by myself until it answers')]);
    await app.say(thread, 'stop');
    const task = await inState(app, id, 'cancelled');
    expect(task.result?.changes?.files.map(({ path }) => path)).toContain('a.txt');
  });

  it('fails at once where waiting cannot help', async () => {
    const error = { type: 'billing_error', message: 'Your credit balance is too low to access the API.' };
    endpoint.refuse({ status: 402, body: { type: 'error', error } });
    const { id } = await begun('unpaid', GOAL);
    await inState(app, id, 'failed');
  });
});

describe('a task that has used up its budget', () => {
  const question = (id: string) =>
    until(
      `task ${id} asks whether more may be spent`,
      () =>
        app.store.db
          .selectFrom('questions')
          .selectAll()
          .where('task_id', '=', id)
          .where('state', '=', 'open')
          .where('delivered_at', 'is not', null)
          .executeTakeFirst(),
      90_000,
    );
  const written = (id: string) =>
    until(
      `task ${id} has written its first file`,
      async () => {
        const { ended_at, state, reason } = await findTask(app, id);
        if (ended_at) throw new Error(`it is ${state}: ${reason}`);
        return (await linesOf(app, id)).some(({ type }) => type === 'tool');
      },
      120_000,
    );
  const spent = async (id: string, usd: number) =>
    await addTaskUsage(
      app.store.db,
      id,
      [{ model: 'dear', calls: 1, inputTokens: 1, outputTokens: 1, microUsd: usd * 1_000_000 }],
      'UTC',
    );

  it('waits for a yes without a container, over killed processes, and goes on in its session; a no ends it', async () => {
    const { id, thread, path } = await begun('spends', 'write a.txt a; run sleep 20; append b.txt b');
    await written(id);
    await spent(id, 11);
    const { prompt } = await question(id);
    expect(prompt).toMatch(/^The work in spends waits: .* has spent \$11 of \$10\. Continue for \$10 more\?$/);
    await until('its container is gone', () => containersOf(id).length === 0);
    app.kill('worker');
    app.kill('kennel');
    await app.whenReady();
    await app.say(thread, 'yes');
    await inState(app, id, 'completed', 120_000);
    expect(readFileSync(join(path, 'b.txt'), 'utf8')).toContain('b');
    const asked = await app.store.db.selectFrom('questions').select('id').where('task_id', '=', id).execute();
    expect(asked).toHaveLength(1);

    const other = await begun('refused', 'write a.txt a; run sleep 20; append b.txt b');
    await written(other.id);
    await spent(other.id, 12);
    await question(other.id);
    await app.say(other.thread, 'no');
    const { reason } = await inState(app, other.id, 'failed', 60_000);
    expect(reason).toBe(
      'This coding task has spent $12 of $10. No more is to be spent on it; what was done so far is kept.',
    );
    expect(existsSync(join(other.path, 'a.txt'))).toBe(true);
  });
});
