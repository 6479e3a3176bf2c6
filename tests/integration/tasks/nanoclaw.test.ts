import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { childEnvironment, loadConfig } from '../../../src/config.ts';
import type { TestApp } from '../../support/app.ts';
import { NO_DOCKER, requireDocker } from '../../support/docker.ts';
import {
  containersOf,
  findTask,
  inState,
  report,
  startTask,
  startTaskApp,
  workspace,
} from '../../support/kennel-app.ts';
import { until } from '../../support/until.ts';

/** An image that was built from the description of NanoClaw's protocol, as one more coding agent. */

const KEY = 'sk-real-0123456789-never-inside';
const IMAGE = 'nanoclaw-agent:latest';
/** where one of the person's own is meanwhile */
const KEPT = 'nanoclaw-agent:kept-by-a-test';

const docker = (...args: string[]): string =>
  execFileSync('docker', args, { encoding: 'utf8', env: childEnvironment({}), stdio: ['ignore', 'pipe', 'pipe'] });
const exists = (image: string): boolean => docker('images', '-q', image).trim() !== '';

describe.skipIf(NO_DOCKER)("NanoClaw's agent image", () => {
  let app: TestApp;
  beforeAll(async () => {
    await requireDocker();
    if (exists(IMAGE)) docker('tag', IMAGE, KEPT);
    const base = loadConfig().FETCH_KENNEL_BASE;
    docker('build', '-q', '-t', IMAGE, '--build-arg', `BASE=${base}`, resolve('tests/support/nanoclaw-agent'));
    app = await startTaskApp({ ANTHROPIC_API_KEY: KEY });
    await until('the host knows of the image', async () => {
      const host = await app.store.db.selectFrom('kennel_hosts').selectAll().executeTakeFirst();
      return host?.harnesses.some(({ name, ready }) => name === 'nanoclaw' && ready);
    });
  }, 900_000);
  afterAll(async () => {
    await app?.close();
    // on another host of this engine its agent would be ready
    if (!exists(KEPT)) return void docker('rmi', IMAGE);
    docker('tag', KEPT, IMAGE);
    docker('rmi', KEPT);
  });

  it('works as it is: by its own protocol, over a restart, told something, with calls that its person agrees to', async () => {
    await workspace(app, 'claw');
    const thread = await app.thread();
    // the address of a chat of the API
    const jid = thread;
    const schedule = { type: 'schedule_task', taskId: 'hourly', prompt: 'look', schedule_type: 'interval' };
    const goal = [
      'input',
      `message ${JSON.stringify({ type: 'message', chatJid: jid, text: 'half way' })}`,
      `task ${JSON.stringify({ ...schedule, schedule_value: '3600000', targetJid: jid })}`,
      'file messages/broken.json {"type":',
      'until go',
      'say <internal>hidden</internal>made it',
    ].join('\n');
    const { id } = await startTask(app, goal, { workspace: 'claw', agent: 'nanoclaw', thread });
    await inState(app, id, 'running', 300_000);
    await until('it has spoken', async () =>
      app.store.db.selectFrom('outbox').select('id').where('body', 'like', '%> half way').executeTakeFirst(),
    );
    const asked = await until('its person is asked', async () => (await app.detail(thread)).pending_approvals[0]);
    expect(JSON.stringify(asked)).toContain('look');
    await app.say(thread, 'yes');
    await until('it is scheduled', () =>
      app.store.db.selectFrom('crons').select('name').where('name', '=', 'hourly').executeTakeFirst(),
    );
    const before = containersOf(id);
    await app.stop();
    await app.start();
    expect((await app.say(thread, 'tell the agent: write told.txt told')).kind).toBe('reply');
    writeFileSync(join(app.home, 'workspaces/claw/go'), '');
    await inState(app, id, 'completed', 120_000);
    expect(before).toHaveLength(1);
    expect((await findTask(app, id)).step).toBeLessThanOrEqual(2);
    const read = (name: string) => readFileSync(join(app.home, 'workspaces/claw', name), 'utf8');
    const input = read('input.json');
    expect(JSON.parse(input)).toMatchObject({ groupFolder: 'claw', chatJid: jid, isMain: true });
    expect(input).not.toContain(KEY);
    expect(read('told.txt')).toBe('told\n');
    const text = await report(app, id);
    expect(text).not.toContain('hidden');
    expect(text).toContain('input.json');
  }, 600_000);
});
