import { afterAll, beforeAll, expect, it } from 'vitest';
import type { TestApp } from '../../support/app.ts';
import { startGitHub, type TestGitHub } from '../../support/github.ts';
import { startTaskApp, workspace } from '../../support/kennel-app.ts';
import { until } from '../../support/until.ts';

let github: TestGitHub;
let app: TestApp;
beforeAll(async () => {
  github = await startGitHub();
  app = await startTaskApp({ GITHUB_API_URL: github.apiUrl, GH_TOKEN: github.token });
}, 600_000);
afterAll(async () => {
  await app?.close();
  await github?.close();
});

it('an issue is made exactly once when its process is killed before the answer, and its outcome is told as unknown', async () => {
  github.make('door');
  const { git } = await workspace(app, 'door');
  git('remote', 'add', 'origin', `${github.apiUrl.replace('/api', '')}/ann/door.git`);
  const held = Promise.withResolvers<void>();
  github.hold = held.promise;
  const thread = await app.thread();
  const turn = await app.turn(thread, [
    { call: [['github_issue_create', { title: 'It squeaks', workspace: 'door' }]] },
    { say: 'Model was told: $LAST' },
  ]);
  const { issues } = github.records('door');
  await until('GitHub has made it', () => issues.length > 0, 60_000);
  app.kill('kennel');
  held.resolve();
  expect((await app.ended(thread, turn)).status).toBe('completed');
  const { items } = await app.detail(thread);
  expect(items.at(-1)?.detail).toMatch(/^Model was told: The outcome of this call is unknown/);
  await app.whenReady();
  expect(issues).toHaveLength(1);
}, 180_000);
