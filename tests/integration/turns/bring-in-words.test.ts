import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { NO_DOCKER } from '../../support/docker.ts';
import { kennelReady } from '../../support/kennel-app.ts';
import { until } from '../../support/until.ts';

/** `open FOLDER` as a message: consent and the tool, and no model. */

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'fetch-words-')));
let app: TestApp;

describe.skipIf(NO_DOCKER)('the words that bring in a project', () => {
  beforeAll(async () => {
    for (const args of [
      ['init', '-q', '-b', 'main'],
      ['add', '-A'],
      ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', 'commit', '-qm', 'first'],
    ]) {
      if (args[0] === 'add') writeFileSync(join(folder, 'notes.txt'), 'hello\n');
      execFileSync('git', args, { cwd: folder });
    }
    app = await startTestApp({ FETCH_AUTONOMY: 'autonomous' });
    await kennelReady(app);
  }, 600_000);
  afterAll(async () => {
    await app?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('ask once, make the workspace and say where it is, without a model', async () => {
    const thread = await app.thread();
    const said = await app.say(thread, `open ${folder} as notes`);
    const { id } = await until('a yes is asked for', async () => (await app.detail(thread)).pending_approvals[0]);
    const detail = await app.detail(thread);
    expect(JSON.stringify(detail.pending_approvals)).toContain(`Copy the repository ${folder} into a workspace`);
    // the question has the folder
    expect(JSON.stringify(detail.pending_approvals)).not.toContain('from: ');
    expect((await app.request('POST', `/v1/approvals/${id}`, { decision: 'allow' })).status).toBeLessThan(300);
    const turn = await app.ended(thread, said.turn_id!, 300_000);
    expect(turn.status).toBe('completed');
    const items = (await app.detail(thread)).items.filter(({ kind }) => kind === 'agent_message');
    expect(items.at(-1)?.detail).toContain(`Folder: ${join(realpathSync(app.home), 'workspaces/notes')}`);
    expect(readFileSync(join(app.home, 'workspaces/notes/notes.txt'), 'utf8')).toBe('hello\n');
    expect(app.model.requests()).toEqual([]);
  }, 400_000);

  it('say before the yes that there is no such folder', async () => {
    const thread = await app.thread();
    const said = await app.say(thread, `open ${folder}/nowhere`);
    const asked = await until('a yes is asked for', async () => (await app.detail(thread)).pending_approvals[0]);
    const { id } = asked;
    expect(JSON.stringify(asked)).toContain(`There is no folder ${folder}/nowhere on the machine`);
    await app.request('POST', `/v1/approvals/${id}`, { decision: 'deny' });
    await app.ended(thread, said.turn_id!);
  }, 120_000);

  it('say what came of a no', async () => {
    const thread = await app.thread();
    const said = await app.say(thread, `open ${folder} as never`);
    const { id } = await until('a yes is asked for', async () => (await app.detail(thread)).pending_approvals[0]);
    await app.request('POST', `/v1/approvals/${id}`, { decision: 'deny' });
    expect((await app.ended(thread, said.turn_id!)).status).toBe('completed');
    expect(app.model.requests()).toEqual([]);
  }, 120_000);
});
