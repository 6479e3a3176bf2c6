import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../support/app.ts';
import { kennelReady } from '../support/kennel-app.ts';
import { until } from '../support/until.ts';

let app: TestApp;

beforeAll(async () => {
  app = await startTestApp({ FETCH_AUTONOMY: 'autonomous' });
  await kennelReady(app);
});
afterAll(() => app?.close());

const task = async () => await app.store.db.selectFrom('tasks').selectAll().orderBy('created_at', 'desc').limit(1).executeTakeFirstOrThrow();

describe('a coding task', () => {
  it('works in a container and reports what changed', async () => {
    const ws = join(app.home, 'workspaces', 'demo');
    mkdirSync(ws, { recursive: true });
    const git = (...args: string[]) => execFileSync('git', ['-c', 'user.name=p', '-c', 'user.email=p@x', ...args], { cwd: ws }).toString();
    git('init', '-q', '-b', 'main');
    writeFileSync(join(ws, 'a.txt'), 'a\n');
    git('add', '.');
    git('commit', '-qm', 'first');
    await until('seen', async () => (await app.store.db.selectFrom('workspaces').selectAll().execute()).length > 0);
    const thread = await app.thread();
    const asked = await app.turn(thread, [
      { call: [['task_create', { goal: 'write hello.txt hello; wait 1; run ls', agent: 'practice', timeout: 100_000 }]] },
      { say: '$LAST' },
    ]);
    expect((await app.ended(thread, asked)).status).toBe('completed');
    console.log(JSON.stringify((await app.detail(thread)).items.map((i) => [i.kind, i.summary])));
    const done = await until(
      'the task is over',
      async () => {
        const row = await task();
        return row.ended_at ? row : null;
      },
      150_000,
    );
    console.log(JSON.stringify(done, null, 1));
    console.log((await app.detail(thread)).items.at(-1)?.detail);
    expect(done.state).toBe('completed');
  }, 200_000);
});
