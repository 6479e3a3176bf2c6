import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestApp } from '../../support/app.ts';
import {
  containersOf,
  findTask,
  inState,
  linesOf,
  startTask,
  startTaskApp,
  workspace,
} from '../../support/kennel-app.ts';
import { until } from '../../support/until.ts';

let app: TestApp;

beforeAll(async () => {
  // a question keeps its container for two seconds here
  app = await startTaskApp({ FETCH_TASK_HOLD_MINUTES: String(2 / 60) });
}, 600_000);
afterAll(() => app?.close());

const openQuestions = (id: string) =>
  app.store.db.selectFrom('questions').selectAll().where('task_id', '=', id).where('state', '=', 'open').execute();
const supervise = (thread: string) =>
  app.store.db
    .updateTable('chats')
    .set({ autonomy: 'supervised' })
    .where('id', '=', (e) => e.selectFrom('threads').select('chat_id').where('id', '=', thread))
    .execute();

describe('a question that waits longer than its container is held', () => {
  it('costs nothing while it waits, and its answer is heard after every process was restarted', async () => {
    await workspace(app, 'parked');
    const { thread, id } = await startTask(app, 'write a.txt a; ask Go on? | yes | no; write b.txt {answer}', {
      workspace: 'parked',
    });
    await inState(app, id, 'waiting');
    await until('its container is gone', () => containersOf(id).length === 0);
    expect(await openQuestions(id)).toHaveLength(1);
    await app.stop();
    await app.start();
    expect(await openQuestions(id)).toHaveLength(1);
    expect((await app.say(thread, 'yes')).kind).toBe('answer');
    const task = await inState(app, id, 'completed');
    expect(task.step).toBe(2);
    expect(readFileSync(join(app.home, 'workspaces/parked/b.txt'), 'utf8').trim()).toBe('yes');
    // it was asked once
    expect((await linesOf(app, id)).filter((line) => line.type === 'question')).toHaveLength(1);
  });
});

describe('something that is said to a task at work', () => {
  it('is the next prompt of its agent, also over a restart', async () => {
    await workspace(app, 'told');
    const goal = 'run until [ -e go ]\\; do sleep 0.2\\; done; write a.txt a';
    const { thread, id } = await startTask(app, goal, { workspace: 'told' });
    await inState(app, id, 'running');
    expect((await app.say(thread, 'tell the agent: write b.txt b;')).kind).toBe('reply');
    await app.stop();
    await app.start();
    const turn = await app.turn(thread, [
      { call: [['task_respond', { response: 'write c.txt c' }]] },
      { say: '$LAST' },
    ]);
    await app.ended(thread, turn);
    expect((await app.detail(thread)).items.at(-1)?.detail).toContain('hears it as soon as');
    writeFileSync(join(app.home, 'workspaces/told/go'), '');
    await inState(app, id, 'completed');
    for (const name of ['a', 'b', 'c'])
      expect(readFileSync(join(app.home, `workspaces/told/${name}.txt`), 'utf8').trim()).toBe(name);
    // one after the other, in one session
    const told = (await linesOf(app, id)).flatMap((line) => (line.type === 'told' ? line.ids : []));
    expect(new Set(told).size).toBe(2);
  });

  it('is heard when it comes at the very end of the run', async () => {
    await workspace(app, 'late');
    const goal = 'run until [ -e go ]\\; do sleep 0.2\\; done';
    const { thread, id } = await startTask(app, goal, { workspace: 'late' });
    await until('it is at work', async () => (await linesOf(app, id)).some(({ type }) => type === 'tool'));
    // the agent ends its turn before its host has looked for more to tell it
    writeFileSync(join(app.home, 'workspaces/late/go'), '');
    expect((await app.say(thread, 'tell the agent: write late.txt late')).kind).toBe('reply');
    expect((await inState(app, id, 'completed')).step).toBeLessThanOrEqual(2);
    expect(readFileSync(join(app.home, 'workspaces/late/late.txt'), 'utf8')).toBe('late\n');
  });
});

describe('what an agent wants to do under supervision', () => {
  const supervised = async (name: string, goal: string) => {
    await workspace(app, name);
    const thread = await app.thread();
    await supervise(thread);
    const turn = await app.turn(thread, [
      { call: [['task_create', { goal, agent: 'practice', workspace: name, timeout: 120_000 }]] },
      { say: '$LAST' },
    ]);
    await until('consent to the task is asked for', async () => (await app.detail(thread)).pending_approvals[0]);
    await app.say(thread, 'yes');
    await app.ended(thread, turn);
    const { id } = await app.store.db
      .selectFrom('tasks')
      .select('id')
      .where('workspace', '=', name)
      .executeTakeFirstOrThrow();
    return { thread, id };
  };
  const asked = (id: string, count: number) =>
    until(`it has asked ${count} times`, async () => {
      const rows = await app.store.db
        .selectFrom('questions')
        .selectAll()
        .where('task_id', '=', id)
        .orderBy('asked_at')
        .execute();
      return rows.length >= count && rows.at(-1)!.state === 'open' ? rows : null;
    });

  it('is shown with its command, and runs after a yes that came when its container was gone', async () => {
    const { thread, id } = await supervised('allowed', 'allow? touch allowed.txt; write end.txt end');
    const [question] = await asked(id, 1);
    const sent = await app.store.db
      .selectFrom('outbox')
      .select('body')
      .where('body', 'like', 'May practice do this in %touch allowed.txt%')
      .execute();
    expect(question!.kind).toBe('approval');
    expect(sent).toHaveLength(1);
    await until('its container is gone', () => containersOf(id).length === 0);
    expect((await app.say(thread, '👍')).kind).toBe('answer');
    await inState(app, id, 'completed');
    expect(readFileSync(join(app.home, 'workspaces/allowed/allowed.txt'), 'utf8')).toBe('');
    expect(await app.store.db.selectFrom('questions').selectAll().where('task_id', '=', id).execute()).toHaveLength(1);
  });

  it('is not done after a no', async () => {
    const { thread, id } = await supervised('denied', 'allow? touch denied.txt; write end.txt end');
    await asked(id, 1);
    await app.say(thread, 'no');
    await until('it is over', async () => (await findTask(app, id)).ended_at);
    expect((await findTask(app, id)).result?.changes?.files.map((file) => file.path) ?? []).not.toContain('denied.txt');
  });

  it('cannot be consented to by the model', async () => {
    const { thread, id } = await supervised('forged', 'allow? touch forged.txt');
    const [question] = await asked(id, 1);
    const turn = await app.turn(thread, [
      { call: [['task_respond', { taskId: id, response: 'yes' }]] },
      { say: '$LAST' },
    ]);
    await app.ended(thread, turn);
    expect((await app.detail(thread)).items.at(-1)?.detail).toMatch(/only the person can give it/);
    expect((await openQuestions(id)).map((each) => each.id)).toEqual([question!.id]);
    await app.say(thread, 'no');
  });
});
