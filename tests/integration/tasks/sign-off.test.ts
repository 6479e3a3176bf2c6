import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestApp } from '../../support/app.ts';
import { inState, startTask, startTaskApp, workspace } from '../../support/kennel-app.ts';
import { until } from '../../support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'fetch-sign-'));
let app: TestApp;

beforeAll(async () => {
  const settings = join(folder, 'gitconfig');
  writeFileSync(settings, '[user]\n\tname = Ada Lovelace\n\temail = ada@example.com\n');
  app = await startTaskApp({ GIT_CONFIG_GLOBAL: settings });
}, 600_000);
afterAll(async () => {
  await app?.close();
  rmSync(folder, { recursive: true, force: true });
});

const asked = async () =>
  (
    await app.store.db
      .selectFrom('outbox')
      .select(['id', 'body', 'state'])
      .where('body', 'like', '%Whose name shall the commits have?%')
      .execute()
  ).map((row) => ({ ...row, sent: row.state === 'sent' }));
const ADA = 'Ada Lovelace <ada@example.com>';
const AUTHOR = '--format=%an <%ae>|%cn <%ce>|%(trailers:key=Signed-off-by,valueonly,separator=%x2C)';
const said = async (thread: string, text: string): Promise<string> => {
  await app.say(thread, text);
  return await until('it is answered', async () => {
    const last = (await app.detail(thread)).items.at(-1);
    return last?.kind === 'agent_message' ? (last.detail ?? '') : null;
  });
};

describe('the name of the commits', () => {
  it('is asked for once, with the name that git has, and nothing waits for the answer', async () => {
    const { git } = await workspace(app, 'unsigned');
    const first = await startTask(app, 'write a.txt a', { workspace: 'unsigned' });
    await inState(app, first.id, 'completed');
    expect(git('log', '-1', AUTHOR)).toBe('Fetch <fetch@localhost>|Fetch <fetch@localhost>|');
    await until('the question is sent', async () => (await asked())[0]?.sent);
    expect(await asked()).toEqual([
      expect.objectContaining({ id: `out_${first.id}_sign`, body: expect.stringContaining(ADA) }),
    ]);
    const second = await startTask(app, 'write b.txt b', { workspace: 'unsigned' });
    await inState(app, second.id, 'completed');
    expect(await asked()).toHaveLength(1);
  });

  it('counts as soon as it is said, for commits of the task, of its agent, and of a tool, in every chat of the owner', async () => {
    const { git, path } = await workspace(app, 'signed');
    const { thread, id } = await startTask(app, 'run git commit --allow-empty -qm own; wait 3; write a.txt a', {
      workspace: 'signed',
    });
    expect(await said(thread, 'sign as me')).toContain(`Commits from now on are by ${ADA}`);
    await inState(app, id, 'completed');
    expect(git('log', '-1', AUTHOR)).toBe(`${ADA}|${ADA}|${ADA}`);
    const other = await startTask(app, 'run git commit --allow-empty -qm own; write b.txt b', { workspace: 'signed' });
    await inState(app, other.id, 'completed');
    expect(git('log', '-1', '--skip=1', '--format=%s|%an <%ae>|%cn <%ce>')).toBe(`own|${ADA}|${ADA}`);
    execFileSync('sh', ['-c', 'echo more >> README.md'], { cwd: path });
    const third = await app.thread();
    await app.ended(
      third,
      await app.turn(third, [{ call: [['git_commit', { message: 'more', workspace: 'signed' }]] }, { say: 'done' }]),
    );
    expect(git('log', '-1', `${AUTHOR}|%s`)).toBe(`${ADA}|${ADA}|${ADA}|more`);
  });

  it('is shown, changed, and given back to Fetch by a word', async () => {
    const { git } = await workspace(app, 'changed');
    const thread = await app.thread();
    expect(await said(thread, 'sign as Grace Hopper <grace@example.com>')).toContain(
      'by Grace Hopper <grace@example.com>',
    );
    expect(await said(thread, 'sign')).toContain('Commits are by Grace Hopper <grace@example.com>');
    expect(await said(thread, 'sign as Grace <grace>')).toContain('angle brackets');
    expect(await said(thread, 'sign as fetch')).toContain('by Fetch');
    const { id } = await startTask(app, 'write a.txt a', { workspace: 'changed' });
    await inState(app, id, 'completed');
    expect(git('log', '-1', AUTHOR)).toBe('Fetch <fetch@localhost>|Fetch <fetch@localhost>|');
  });
});
