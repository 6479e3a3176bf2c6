import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.ts';

let app: TestApp;
let bodies: string[] = [];
beforeAll(async () => {
  app = await startTestApp({ SUMMARY_MODEL: 'summer', FETCH_REASONING_EFFORT: 'low', FETCH_CONTEXT_TOKENS: '600' });
  app.model.hear((body) => bodies.push(body));
});
afterAll(() => app?.close());

async function told(thread: string, text: string): Promise<string> {
  expect((await app.say(thread, text)).kind, text).toBe('reply');
  return (await app.detail(thread)).items.findLast((item) => item.kind === 'agent_message')!.detail!;
}

it('a chat takes a model of the list, and another chat keeps the usual one', async () => {
  const [thread, other] = [await app.thread(), await app.thread()];
  expect(await told(thread, 'model')).toMatch(/^scripted of [\s\S]*There are:\n- practice/);
  expect(await told(thread, 'model Practice')).toBe('practice answers in this chat from the next step on.');
  expect(await told(thread, 'use model gpt-99')).toMatch(/^The endpoint has no model gpt-99\./);
  bodies = [];
  for (const each of [thread, other]) await app.ended(each, await app.turn(each, [{ say: 'hi' }]));
  expect(
    bodies.map((body) => JSON.parse(body)).map(({ model, reasoning_effort }) => [model, reasoning_effort]),
  ).toEqual([
    // the name of the practice model is that of no real one
    ['scripted', 'low'],
    ['scripted', 'low'],
  ]);
  expect(await told(thread, 'model default')).toBe('scripted answers in this chat again.');
});

it('a sentence that begins with the word is for the model', async () => {
  const thread = await app.thread();
  const { kind, turn_id } = await app.say(thread, 'model airplanes');
  expect(kind).toBe('turn');
  await app.ended(thread, turn_id!);
});

it('summaries are written by the model that is named for them', async () => {
  const thread = await app.thread();
  bodies = [];
  for (let n = 0; n < 5; n++)
    await app.ended(thread, await app.turn(thread, [{ say: `answer ${n} ${'word '.repeat(150)}` }]));
  const summaries = bodies
    .map((body) => JSON.parse(body))
    .filter(({ messages }) => messages[0].content.startsWith('Sum up'));
  expect(summaries.length).toBeGreaterThan(0);
  // the practice model sums up, too, and does not answer what it is to sum up
  const { body } = await app.store.db
    .selectFrom('summaries')
    .select('body')
    .where('thread_id', '=', thread)
    .executeTakeFirstOrThrow();
  expect(body).toMatch(/^Practice summary: /);
  expect(new Set(summaries.map(({ model }) => model))).toEqual(new Set(['summer']));
});
