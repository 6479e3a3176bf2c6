import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TestApp } from '../../support/app.ts';
import { startTaskApp, workspace } from '../../support/kennel-app.ts';
import { until } from '../../support/until.ts';

/** An app that `app_run` has left running, and that ends. */

let app: TestApp;
beforeAll(async () => {
  app = await startTaskApp();
}, 300_000);
afterAll(() => app?.close());

const COMMAND = 'echo up; while [ ! -e end ]; do sleep 0.1; done; echo "last words"; exit 3';

/** An app that runs until there is a file `end` in its workspace. */
async function started(
  name: string,
): Promise<{ thread: string; path: string; callId: string; isRunning: () => boolean }> {
  const { path } = await workspace(app, name);
  const thread = await app.thread({ allow_shell: true });
  const turn = await app.turn(thread, [
    { call: [['app_run', { workspace: name, keep: true, command: COMMAND }]] },
    { say: 'done' },
  ]);
  await app.ended(thread, turn, 60_000);
  const call = await app.store.db.selectFrom('calls').selectAll().where('turn_id', '=', turn).executeTakeFirstOrThrow();
  expect(call).toMatchObject({ ok: true, metadata: { app: { state: 'running' } } });
  const { id } = (call.metadata as { app: { id: string } }).app;
  const isRunning = () =>
    execFileSync('docker', ['ps', '-q', '--filter', `label=fetch.app=${id}`, '--filter', 'status=running'], {
      encoding: 'utf8',
    }).trim() !== '';
  expect(isRunning()).toBe(true);
  return { thread, path, callId: call.id, isRunning };
}
const told = (thread: string) =>
  app.store.db.selectFrom('outbox').selectAll().where('thread_id', '=', thread).where('kind', '=', 'notice').execute();
const stateOf = async (callId: string) =>
  (
    (await app.store.db.selectFrom('calls').select('metadata').where('id', '=', callId).executeTakeFirstOrThrow())
      .metadata as { app: { state: string } }
  ).app.state;

it('is told to its chat once, although the kennel is killed between the end and the report', {
  timeout: 180_000,
}, async () => {
  const { thread, path, callId, isRunning } = await started('falls');
  app.kill('kennel');
  writeFileSync(join(path, 'end'), '');
  await until('it has ended', () => !isRunning());
  const notice = await until(
    'its chat is told',
    async () => (await told(thread)).find(({ state }) => state === 'sent'),
    60_000,
  );
  expect(notice.body).toMatch(/^The app in falls has ended by itself, with exit code 3: echo up;/);
  expect(notice.body).toMatch(/Its last lines:\n```\nup\nlast words\n```$/);
  const { sources } = await app.store.db
    .selectFrom('transcript')
    .select('sources')
    .where('content', '=', notice.body)
    .executeTakeFirstOrThrow();
  expect(sources).toMatchObject([{ kind: 'command' }]);
  // killed after the report and before the mark
  await until('it is marked', async () => (await stateOf(callId)) === 'exited');
  const { metadata } = await app.store.db
    .selectFrom('calls')
    .select('metadata')
    .where('id', '=', callId)
    .executeTakeFirstOrThrow();
  const before = metadata as { app: object };
  await app.store.db
    .updateTable('calls')
    .set({ metadata: JSON.stringify({ ...before, app: { ...before.app, state: 'running' } }) })
    .where('id', '=', callId)
    .execute();
  await until('it is marked again', async () => (await stateOf(callId)) === 'exited', 30_000);
  expect(await told(thread)).toMatchObject([{ attempts: 1 }]);
});

it('is not told when it was stopped on purpose', { timeout: 180_000 }, async () => {
  const { thread, callId, isRunning } = await started('stops');
  const stopping = await app.turn(thread, [{ call: [['app_control', { action: 'stop' }]] }, { say: 'done' }]);
  await app.ended(thread, stopping);
  expect(isRunning()).toBe(false);
  await until('it is marked', async () => (await stateOf(callId)) === 'exited', 30_000);
  expect(await told(thread)).toEqual([]);
});
