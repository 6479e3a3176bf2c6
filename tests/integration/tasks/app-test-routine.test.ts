import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TestApp } from '../../support/app.ts';
import { startTaskApp, workspace } from '../../support/kennel-app.ts';
import { until } from '../../support/until.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTaskApp();
}, 300_000);
afterAll(() => app?.close());

async function call(
  thread: string,
  name: string,
  args: Record<string, unknown>,
): Promise<{ ok: boolean; output: string }> {
  const turn = await app.turn(thread, [{ call: [[name, args]] }, { say: 'done' }]);
  await app.ended(thread, turn);
  const row = await app.store.db
    .selectFrom('calls')
    .select(['ok', 'output'])
    .where('turn_id', '=', turn)
    .executeTakeFirstOrThrow();
  return { ok: row.ok === true, output: row.output ?? '' };
}

const results = (thread: string) =>
  app.store.db
    .selectFrom('outbox')
    .selectAll()
    .where('thread_id', '=', thread)
    .where('kind', '=', 'result')
    .orderBy('created_at')
    .execute();

it('tells the chat that made a nightly routine of app_test when the tests fail, with what they printed', {
  timeout: 300_000,
}, async () => {
  const { path } = await workspace(app, 'nightly');
  const other = await app.thread();
  const thread = await app.thread({ allow_shell: true });
  writeFileSync(join(path, 'Makefile'), 'test:\n\t@echo checking; test ! -e broken\n');
  const made = await call(thread, 'workflow_create', {
    name: 'Nightly',
    steps: [{ tool: 'app_test', name: 'Tests', args: { workspace: 'nightly' } }],
  });
  expect(made).toMatchObject({ ok: true });
  expect(await call(thread, 'cron_create', { workflow: 'nightly', schedule: '* * * * *' })).toMatchObject({ ok: true });
  writeFileSync(join(path, 'broken'), '');
  const told = await until(
    'the failure was told',
    async () => (await results(thread)).find(({ body }) => body.includes('failed')),
    150_000,
  );
  expect(told.body).toMatch(/^Nightly did not work: 0 of 1 steps done, step 1 \(Tests\) failed/);
  expect(told.body).toMatch(/make test failed with exit code 2[\s\S]*checking/);
  expect(await results(other)).toEqual([]);
});
