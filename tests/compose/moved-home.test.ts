import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { childEnvironment } from '../../src/config.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { until } from '../support/until.ts';
import { ComposedServer, ROLES, serverPorts } from './server.ts';
import { IMAGE, provideImages } from './stand-ins.ts';

const ENTRY = fileURLToPath(new URL('../../bin/fetch.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'fetch-export-'));
let laptop: TestApp;
let server: ComposedServer;

beforeAll(async () => {
  const program = await provideImages();
  laptop = await startTestApp();
  server = new ComposedServer(program, IMAGE, await serverPorts());
});
afterAll(async () => {
  await laptop?.close();
  await server?.remove();
  rmSync(folder, { recursive: true, force: true });
});

test('a laptop moves to a server by the commands of docs/server.md, and its question is answered there', async () => {
  const thread = await laptop.thread();
  await laptop.turn(thread, [
    { call: [['ask_user', { question: 'Go on there?', options: ['yes', 'no'] }]] },
    { say: 'gone on' },
  ]);
  await until('a question waits', async () => (await laptop.detail(thread)).pending_user_inputs.length === 1);
  await laptop.stop();
  const exported = join(folder, 'fetch-home');
  await promisify(execFile)(process.execPath, [ENTRY, 'export-home', '--to', exported], {
    env: childEnvironment(laptop.settings),
  });

  await server.up();
  // as after `rsync`
  await promisify(execFile)('chown', ['-R', '1000:1000', exported]);
  await server.compose('stop', ...ROLES);
  const run = (...args: string[]) =>
    server.compose(
      'run',
      '--rm',
      '--no-deps',
      '--volume',
      `${exported}:/from`,
      'kennel',
      'import-home',
      '--from',
      '/from',
      ...args,
    );
  expect(await run()).toContain('--yes');
  expect(await run('--yes')).toContain('Moved.');
  await server.up();

  const { pending_user_inputs } = await server.api.detail(thread);
  expect(pending_user_inputs.map(({ request }) => request.questions[0]?.question)).toEqual(['Go on there?']);
  await server.api.say(thread, 'yes');
  const { turns } = await until('the turn has ended', async () => {
    const detail = await server.api.detail(thread);
    return detail.turns.every(({ status }) => status === 'completed') && detail;
  });
  expect(turns).toHaveLength(1);
});
