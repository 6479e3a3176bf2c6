import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ FETCH_FALLBACK_MODEL: 'second', FETCH_CONTEXT_TOKENS: '600' });
});
afterAll(() => app?.close());

it('defect 51: lets the second model take over when the first one cannot answer', async () => {
  const thread = await app.thread({ model: 'first' });
  const turn = await app.turn(thread, [{ fail: 404, times: 1, say: 'from the second' }]);
  expect((await app.ended(thread, turn)).status).toBe('completed');
  expect(
    (await app.store.db.selectFrom('steps').select('model').where('turn_id', '=', turn).execute()).map(
      (step) => step.model,
    ),
  ).toEqual(['second']);
});

it('lets the second model take over at once where the first one is at its limit for hours', async () => {
  const thread = await app.thread({ model: 'first' });
  const turn = await app.turn(thread, [{ fail: 429, retryAfter: 7_200, times: 1, say: 'from the second' }]);
  expect((await app.ended(thread, turn, 20_000)).status).toBe('completed');
  expect(
    (await app.store.db.selectFrom('steps').select('model').where('turn_id', '=', turn).execute()).map(
      (step) => step.model,
    ),
  ).toEqual(['second']);
});

it('defect 17: sums up a long conversation and keeps the raw log', async () => {
  const thread = await app.thread();
  for (let n = 0; n < 5; n++)
    await app.ended(thread, await app.turn(thread, [{ say: `answer ${n} ${'word '.repeat(150)}` }]));
  const kinds = (await app.detail(thread)).items.map((item) => item.kind);
  expect(kinds).toContain('context_compaction');
  expect(kinds.filter((kind) => kind === 'agent_message')).toHaveLength(5);
  const said = await app.store.db.selectFrom('transcript').select('id').where('thread_id', '=', thread).execute();
  expect(said).toHaveLength(10);
});
