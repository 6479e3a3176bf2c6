import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { onThread } from '../../../src/store/chats/thread-transaction.ts';
import { usageReport } from '../../../src/store/turns/steps/usage.ts';
import { closeTurn, openTurn, turnState } from '../../../src/store/turns/turns.ts';
import { startTestDatabase, type TestDatabase } from '../../support/database.ts';
import { newThread } from '../../support/thread.ts';

let database: TestDatabase;
let threads: string[];
beforeAll(async () => {
  database = await startTestDatabase();
  const { db } = database.store;
  threads = [(await newThread(db)).threadId, (await newThread(db)).threadId].sort();
  await turn(threads[0]!, '2026-03-01T23:59:59Z', ['gpt-5', 'deepseek-v4-pro']);
  await turn(threads[0]!, '2026-03-02T00:00:00Z', ['deepseek-v4-flash']);
  await turn(threads[1]!, '2026-03-02T12:00:00Z', ['anthropic/claude', 'gpt-5']);
});
afterAll(() => database?.close());

/**
 * A turn with a step of each model: 100 tokens in, 60 of them cached, 20 out, 5 of them thoughts, for 0.000035 dollars.
 */
async function turn(threadId: string, at: string, models: string[]): Promise<void> {
  const { db } = database.store;
  const id = await onThread(db, threadId, (tx) => openTurn(tx, { text: 'go' }).id);
  await sql`update turns set created_at = ${at} where id = ${id}`.execute(db);
  const used = { input_tokens: 100, cached_tokens: 60, output_tokens: 20, reasoning_tokens: 5, micro_usd: 35 };
  for (const [step, model] of models.entries()) {
    const row = { key: `${id}/${step}`, turn_id: id, step, model, result: sql<never>`'{}'::jsonb`, ...used };
    await db.insertInto('steps').values(row).execute();
  }
  await onThread(db, threadId, async (tx) => closeTurn(tx, (await turnState(tx.now, id))!, 'completed'));
}

const report = (group: 'day' | 'model' | 'provider' | 'thread', since?: string, until?: string) =>
  usageReport(database.store.db, {
    group,
    since: since ? new Date(since) : null,
    until: until ? new Date(until) : null,
  });
const of = (steps: number, turns: number) => ({
  input_tokens: 100 * steps,
  output_tokens: 20 * steps,
  cached_tokens: 60 * steps,
  reasoning_tokens: 5 * steps,
  cost_usd: (35 * steps) / 1e6,
  turns,
});

it('adds up to the same by every group, and counts a turn once in all and once with each model that it asked', async () => {
  expect(await report('day')).toEqual({
    totals: of(5, 3),
    buckets: [
      { key: '2026-03-01', ...of(2, 1) },
      { key: '2026-03-02', ...of(3, 2) },
    ],
  });
  expect(await report('thread')).toEqual({
    totals: of(5, 3),
    buckets: [
      { key: threads[0], ...of(3, 2) },
      { key: threads[1], ...of(2, 1) },
    ],
  });
  expect((await report('model')).buckets.map(({ key, turns }) => [key, turns])).toEqual([
    ['anthropic/claude', 1],
    ['deepseek-v4-flash', 1],
    ['deepseek-v4-pro', 1],
    ['gpt-5', 2],
  ]);
  expect((await report('provider')).buckets.map(({ key, turns, input_tokens }) => [key, turns, input_tokens])).toEqual([
    ['deepseek', 2, 200],
    ['openai', 2, 200],
    ['openrouter', 1, 100],
  ]);
});

it('counts turns from one time to another, both included', async () => {
  expect((await report('day', '2026-03-02T00:00:00Z', '2026-03-02T12:00:00Z')).totals).toEqual(of(3, 2));
  expect((await report('day', '2026-03-02T00:00:00.001Z')).totals).toEqual(of(2, 1));
  expect(await report('day', '2027-01-01T00:00:00Z')).toEqual({ totals: of(0, 0), buckets: [] });
});
