import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { until } from '../../support/until.ts';

/** Settings and sessions of a running instance. */

let app: TestApp;
let file: string;
beforeAll(async () => {
  app = await startTestApp();
  file = join(app.home, '.env');
});
afterAll(() => app?.close());

const ask = async (method: string, path: string) => {
  const token = readFileSync(join(app.home, 'admin-token'), 'utf8').trim();
  const response = await fetch(`${app.statusUrl}${path}`, { method, headers: { authorization: `Bearer ${token}` } });
  return {
    status: response.status,
    body: (await response.json()) as Record<string, unknown> & { session: { messages: Array<{ content: string }> } },
  };
};
/** What a search comes to in the worker now. */
async function search(): Promise<string> {
  const thread = await app.thread();
  await app.ended(thread, await app.turn(thread, [{ call: [['web_search', { query: 'heron' }]] }, { say: 'Done.' }]));
  return (await app.detail(thread)).items.find(({ kind }) => kind === 'tool_call')!.detail!;
}
const NOBODY = 'FETCH_SEARXNG_URL=http://127.0.0.1:1\n';

it('every role applies a changed .env, and its removal', async () => {
  expect(await search()).toContain('not set up');
  writeFileSync(file, NOBODY);
  expect((await ask('POST', '/api/config/reload')).status).toBe(200);
  await until('the worker asks at the new address', async () =>
    (await search()).includes('No SearXNG answers at http://127.0.0.1:1'),
  );
  rmSync(file);
  await until('the worker asks nobody', async () => (await search()).includes('not set up'));
});

it('a worker that is killed comes back with what was changed since the start', async () => {
  writeFileSync(file, NOBODY);
  app.kill('worker');
  await app.whenReady();
  expect(await search()).toContain('No SearXNG answers');
  rmSync(file);
  await until('the worker asks nobody', async () => (await search()).includes('not set up'));
});

it.each([
  ['cleared', 'POST', '/clear'],
  ['deleted', 'DELETE', ''],
])('a session that was %s begins without what was said before, also for the model', async (_, method, path) => {
  const thread = await app.thread();
  await app.ended(thread, await app.turn(thread, [{ say: 'The word is heron.' }]));
  expect((await ask('GET', `/api/sessions/${thread}`)).body.session.messages).toHaveLength(2);
  expect((await ask(method, `/api/sessions/${thread}${path}`)).status).toBe(200);
  await app.ended(thread, await app.turn(thread, [{ say: 'Which word?' }]));
  const { messages } = (await ask('GET', `/api/sessions/${thread}`)).body.session;
  expect(JSON.stringify(messages)).not.toContain('heron');
  expect(messages).toHaveLength(2);
  expect(JSON.stringify(app.model.requests().at(-1))).not.toContain('heron');
});
