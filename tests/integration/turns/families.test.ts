import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { script } from '../../support/app.ts';
import { told } from '../../support/extensions.ts';
import { type SharedApp, useSharedApp } from '../../support/shared-app.ts';

/** Which tools the model of a chat is offered, from its first request on. */

let app: SharedApp;
useSharedApp((shared) => {
  app = shared;
}, 'autonomous');

/** The tools of each request of a turn, in order. */
async function offered(thread: string, steps: unknown[] | string): Promise<string[][]> {
  const id = await app.turn(thread, steps);
  await app.ended(thread, id);
  return app.model
    .requests()
    .filter(({ requestId }) => requestId.startsWith(id))
    .map(({ tools }) => tools);
}

/** A script that opens a family without a word that opens it by itself. */
const opening = (family: string, then: string): string =>
  script([{ call: [['open_tools', { family: '#' }]] }, { say: then }]).replace(
    '#',
    () => `\\u00${family.charCodeAt(0).toString(16)}${family.slice(1)}`,
  );

const plain = (thread: string) => offered(thread, [{ say: 'ok' }]).then(([first]) => first!);
const last = async (thread: string) =>
  (await app.detail(thread)).items.findLast(({ kind }) => kind === 'agent_message')?.detail;

describe('a family of tools', () => {
  it('is not in the first request, is added behind the core by open_tools, and stays until a new conversation begins', async () => {
    const thread = await app.thread();
    const core = await plain(thread);
    expect(core).toContain('open_tools');
    expect(core).not.toContain('github_pr_list');

    const [before, after] = await offered(thread, opening('github', '$LAST'));
    expect(await last(thread)).toBe('The tools of github are offered to you from now on.');
    expect(before).toEqual(core);
    expect(after!.slice(0, core.length)).toEqual(core);
    expect(after!.slice(core.length)).toContain('github_pr_list');
    expect(await plain(thread)).toEqual(after);

    await told(app, thread, '/new');
    expect(await plain(thread)).toEqual(core);
  });

  it('is opened by a call of one of its tools, which runs', async () => {
    const thread = await app.thread();
    const [before, after] = await offered(thread, [{ call: [['cron_list', {}]] }, { say: '$LAST' }]);
    expect(await last(thread)).toContain('There are no schedules');
    expect(before).not.toContain('cron_list');
    expect(after!.slice(before!.length)).toContain('cron_list');
  });

  it('is opened by a wrong call, so that the model sees how to call it rightly', async () => {
    const thread = await app.thread();
    const [, after] = await offered(thread, [{ call: [['github_pr_view', { number: 'first' }]] }, { say: '$LAST' }]);
    expect(await last(thread)).toContain('number');
    expect(after).toContain('github_pr_view');
  });

  it('of an unknown name is told as such, with those that there are', async () => {
    const thread = await app.thread();
    await offered(thread, [{ call: [['open_tools', { family: 'kitchen' }]] }, { say: '$LAST' }]);
    expect(await last(thread)).toMatch(/no family of this name.*github/);
  });

  it('is there at once when a word of the person asks for it, and behind what was opened before', async () => {
    const thread = await app.thread();
    const [first] = await offered(thread, `Take a screenshot, please. SCRIPT:${JSON.stringify([{ say: 'ok' }])}`);
    expect(first).toContain('browser_screenshot');
    expect(first).not.toContain('github_pr_create');
    const [second] = await offered(thread, `And open a pull request. SCRIPT:${JSON.stringify([{ say: 'ok' }])}`);
    expect(second!.slice(0, first!.length)).toEqual(first);
    expect(second!.slice(first!.length)).toContain('github_pr_create');
  });

  it('of GitHub is there in a workspace whose repository is on GitHub', async () => {
    const thread = await app.thread();
    const profile = {
      git: {
        branch: 'main',
        head: null,
        modified: 0,
        untracked: 0,
        ahead: 0,
        behind: 0,
        remote: 'https://github.com/ann/shop.git',
      },
    };
    await app.store.db
      .insertInto('workspaces')
      .values({ host: 'elsewhere', name: 'shop', path: '/shop', profile: JSON.stringify(profile) })
      .execute();
    await sql`update chats set workspace = 'shop', workspace_host = 'elsewhere' where id = (select chat_id from threads where id = ${thread})`.execute(
      app.store.db,
    );
    expect(await plain(thread)).toContain('github_pr_create');
  });

  it('goes with a copy of the thread, and what the copy opens stays in the copy', async () => {
    const thread = await app.thread();
    await offered(thread, opening('apps', 'ok'));
    const answer = await app.request('POST', `/v1/threads/${thread}/fork`);
    const { id: copy } = answer.body as { id: string };
    expect(await plain(copy)).toEqual(await plain(thread));
    await offered(copy, opening('browser', 'ok'));
    expect(await plain(copy)).toContain('browser_open');
    expect(await plain(thread)).not.toContain('browser_open');
  });

  it('is opened by several calls of one step, each once', async () => {
    const thread = await app.thread();
    const call = [
      ['cron_list', {}],
      ['workflow_list', {}],
      ['git_log', {}],
    ];
    const [, after] = await offered(thread, [{ call }, { say: 'ok' }]);
    expect(after!.filter((name) => name === 'cron_list')).toHaveLength(1);
    expect(after).toContain('git_log');
    const { families } = await app.store.db
      .selectFrom('threads')
      .select('families')
      .where('id', '=', thread)
      .executeTakeFirstOrThrow();
    expect(families).toEqual(['routines', 'git']);
  });
});
