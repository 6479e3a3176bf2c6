import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { requireDocker } from '../../support/docker.ts';
import { findTask, inState, kennelReady, startTask, workspace } from '../../support/kennel-app.ts';
import { type LimitedEndpoint, MODEL_CALLER, startLimitedEndpoint } from '../../support/limited-endpoint.ts';
import { type ScriptedModel, startScriptedModel } from '../../support/scripted-model.ts';
import { until } from '../../support/until.ts';

let app: TestApp;
let model: ScriptedModel;
let endpoint: LimitedEndpoint;

beforeAll(async () => {
  await requireDocker();
  model = await startScriptedModel();
  endpoint = await startLimitedEndpoint({ behind: model.baseUrl });
  app = await startTestApp({
    FETCH_AUTONOMY: 'autonomous',
    OPENAI_BASE_URL: endpoint.url,
    FETCH_MODEL_TELL_SECONDS: '1',
    FETCH_PROGRESS_SECONDS: '0',
    FETCH_TIME_ZONE: 'Europe/Berlin',
  });
  await kennelReady(app);
}, 600_000);
afterAll(async () => {
  await app?.close();
  await endpoint?.close();
  await model?.close();
});
afterEach(async () => {
  endpoint.refuse(null);
  await app.store.db.deleteFrom('model_limits').execute();
});

/** Tasks whose program asks the model of the chats as soon as it may. */
const begun = async (name: string) => {
  const { path, git } = await workspace(app, name);
  writeFileSync(join(path, 'ask.mjs'), MODEL_CALLER);
  git('add', '.');
  git('commit', '-qm', 'a program that asks the model');
  const { id } = await startTask(app, 'write a.txt a; run node ask.mjs scripted chat; append b.txt b', {
    workspace: name,
  });
  return { id, path, go: () => writeFileSync(join(path, 'go'), '') };
};
const asleep = (id: string) =>
  until(`task ${id} waits for its model`, async () => (await findTask(app, id)).state === 'waiting', 60_000);
const refused = () => endpoint.requests().filter(({ answered }) => !answered).length;
const noticesOf = async (turn: string) =>
  (
    await app.store.db
      .selectFrom('outbox')
      .select('body')
      .where('turn_id', '=', turn)
      .where('kind', '=', 'notice')
      .execute()
  ).map(({ body }) => body);
const chat = async (say: string) => {
  const thread = await app.thread();
  return { thread, turn: await app.turn(thread, [{ say }]) };
};

describe('chats and coding tasks of one account', () => {
  it('knock once at a limit, all wait for its end, and all go on by themselves', async () => {
    const tasks = [await begun('one'), await begun('two')];
    endpoint.refuse({ status: 429, headers: { 'retry-after': '30' }, forMs: 30_000 });
    const first = await chat('answer 0');
    await until('the first chat is refused', () => refused() === 1);
    const others = await Promise.all(Array.from({ length: 9 }, (_, n) => chat(`answer ${n + 1}`)));
    for (const { go } of tasks) go();
    const chats = [first, ...others];
    for (const { turn } of chats) await until('the wait is told', async () => (await noticesOf(turn)).length > 0);
    for (const { id } of tasks) await asleep(id);
    expect(refused()).toBe(1);
    app.kill('worker');
    for (const { thread, turn } of chats) expect((await app.ended(thread, turn, 120_000)).status).toBe('completed');
    for (const { id } of tasks) await inState(app, id, 'completed', 120_000);
    expect(refused()).toBe(1);
    for (const { turn } of chats) {
      const [told, ...slow] = await noticesOf(turn);
      expect(told).toMatch(/^The model at 127\.0\.0\.1:\d+ is at its limit until \d\d:\d\d\. I go on then by myself/);
      // on a busy machine the answer after the limit takes longer than the second after which that is told
      for (const each of slow) expect(each).toMatch(/has not answered for \d+ seconds/);
      expect(model.asked(turn)).toBe(1);
    }
    for (const { path } of tasks) expect(readFileSync(join(path, 'b.txt'), 'utf8')).toBe('b\n');
    expect(await app.store.db.selectFrom('model_limits').selectAll().execute()).toEqual([]);
  });

  it('knock once more when it is not over at the time that was named', async () => {
    endpoint.refuse({ status: 429, headers: { 'retry-after': '4' }, forMs: 8_000 });
    const before = refused();
    const first = await chat('answer 0');
    await until('the first chat is refused', () => refused() === before + 1);
    const chats = [first, ...(await Promise.all(Array.from({ length: 9 }, (_, n) => chat(`answer ${n + 1}`))))];
    for (const { thread, turn } of chats) expect((await app.ended(thread, turn, 120_000)).status).toBe('completed');
    expect(refused() - before).toBe(2);
  });

  it('tell each other in both directions: what a task met holds a chat back, and the next answer frees both', async () => {
    const task = await begun('three');
    endpoint.refuse({ status: 429, headers: { 'retry-after': '15' }, forMs: 15_000 });
    const before = refused();
    task.go();
    await until('the task is refused', () => refused() === before + 1, 60_000);
    const { thread, turn } = await chat('at last');
    await until('the chat says that it waits', async () => (await noticesOf(turn)).length > 0);
    expect((await app.ended(thread, turn, 60_000)).status).toBe('completed');
    await inState(app, task.id, 'completed', 120_000);
    expect(refused() - before).toBe(1);
    expect(await noticesOf(turn)).toHaveLength(1);
  });
});
