import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { homeLabel, LABEL } from '../../src/adapters/kennel/docker/containers.ts';
import { connect } from '../../src/adapters/kennel/docker/engine.ts';
import { loadConfig } from '../../src/config.ts';
import { script, type TestApp } from '../support/app.ts';
import { type Site, serve } from '../support/browser-bench.ts';
import { NO_DOCKER, requireDocker } from '../support/docker.ts';
import { startGitHub, type TestGitHub } from '../support/github.ts';
import { inState, startTaskApp, workspace } from '../support/kennel-app.ts';
import { until } from '../support/until.ts';
import { CONTRACT } from './contract-tools.ts';

/**
 * What each tool of the contract returns, called by a model in one running instance: prose as `output`, and the same
 * for programs as `metadata`.
 */

interface Returned {
  ok: boolean;
  output: string;
  metadata: Record<string, unknown>;
}

const RUN: Record<string, () => Promise<void>> = {};
/** The last result of each tool. */
const seen = new Map<string, Returned>();

describe.skipIf(NO_DOCKER)('every tool of the contract', () => {
  let app: TestApp;
  let github: TestGitHub;
  let site: Site;
  let search: Server;
  /** of the calls that belong together: a browser, workflows */
  let shared: string;
  const known: Record<string, string> = {};

  beforeAll(async () => {
    await requireDocker('browser');
    github = await startGitHub();
    site = await serve({
      '/': '<title>Shop</title><article><h1>Shop</h1><p>Bread and butter, every day of the week, for all who like it.</p></article><a href="/more">More</a>',
      '/more': '<title>More</title><h1>More bread</h1>',
      '/data.json': (_, response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"bread":1}'),
    });
    search = createServer((_, response) => {
      const results = [1, 2, 3].map((n) => ({
        url: `https://example.org/${n}`,
        title: `Result ${n}`,
        content: `Snippet ${n}`,
        engine: 'e',
      }));
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ results, unresponsive_engines: [] }));
    });
    await new Promise<void>((resolve) => search.listen(0, '127.0.0.1', resolve));
    app = await startTaskApp({
      GH_TOKEN: github.token,
      GITHUB_API_URL: github.apiUrl,
      FETCH_SEARXNG_URL: `http://127.0.0.1:${(search.address() as AddressInfo).port}`,
    });
    shared = await app.thread({ auto_approve: true, allow_shell: true });
    await workspace(app, 'local');
  }, 900_000);

  afterAll(async () => {
    const home = app && homeLabel(app.home);
    await app?.close();
    await Promise.all([site?.close(), github?.close()]);
    search?.close();
    // browsers outlive their instance for some minutes
    const { docker } = connect(loadConfig());
    const left = home
      ? await docker.listContainers({ all: true, filters: { label: [`${LABEL.home}=${home}`, LABEL.browser] } })
      : [];
    await Promise.all(left.map(({ Id }) => docker.getContainer(Id).remove({ force: true, v: true })));
  });

  /** A call in a chat that trusts it; what needs a yes all the same gets it. */
  async function call(
    name: string,
    args: Record<string, unknown>,
    options: { in?: string; answer?: string } = {},
  ): Promise<Returned> {
    const thread = options.in ?? (await app.thread({ auto_approve: true, allow_shell: true }));
    const turn = await app.turn(thread, script([{ call: [[name, args]] }, { say: 'done' }]));
    await until(
      `${name} has ended`,
      async () => {
        const { turns, pending_approvals, pending_user_inputs } = await app.detail(thread);
        for (const { id } of pending_approvals) await app.request('POST', `/v1/approvals/${id}`, { decision: 'allow' });
        if (options.answer && pending_user_inputs.length > 0) await app.say(thread, options.answer);
        return turns.find(({ id }) => id === turn)?.status === 'completed';
      },
      120_000,
    );
    const row = await app.store.db
      .selectFrom('calls')
      .selectAll()
      .where('turn_id', '=', turn)
      .where('name', '=', name)
      .executeTakeFirstOrThrow();
    const returned = { ok: row.ok!, output: row.output!, metadata: row.metadata! };
    seen.set(name, returned);
    return returned;
  }

  const returns = (name: string, play: () => Promise<void>): void => {
    RUN[name] = play;
    it(`${name} returns a narrative and what programs need`, play);
  };
  const expected = (output: RegExp, metadata: object) => ({
    ok: true,
    output: expect.stringMatching(output),
    metadata: expect.objectContaining(metadata),
  });

  returns('workspace_create', async () =>
    expect(await call('workspace_create', { name: 'my-app', template: 'node', description: 'A shop' })).toEqual(
      expected(/^Created my-app \(.*git initialized\)/, {
        name: 'my-app',
        template: 'node',
        profile: expect.any(Object),
        github: expect.any(Object),
      }),
    ),
  );
  returns('workspace_list', async () =>
    expect(await call('workspace_list', {})).toEqual(
      expected(/^2 workspaces: .*my-app \(.*main\)/, { workspaces: expect.any(Array), active: null }),
    ),
  );
  returns('workspace_select', async () =>
    expect(await call('workspace_select', { name: 'my-app' }, { in: shared })).toEqual(
      expected(/^Switched to my-app \(.*on main\)/, { name: 'my-app' }),
    ),
  );
  returns('workspace_status', async () =>
    // the active one of its chat
    expect(await call('workspace_status', {}, { in: shared })).toEqual(
      expected(/^my-app \(.*\) - on main - clean/, {
        name: 'my-app',
        profile: expect.objectContaining({ git: expect.any(Object) }),
      }),
    ),
  );
  returns('app_test', async () =>
    expect(await call('app_test', { workspace: 'my-app' })).toEqual(
      expected(/npm test/, { exit_code: 0, timed_out: false, workspace: 'my-app' }),
    ),
  );
  returns('app_run', async () =>
    expect(
      await call('app_run', {
        workspace: 'my-app',
        command: 'mkdir -p src/generated; echo made | tee src/temp.txt src/generated/a.txt',
      }),
    ).toEqual(expected(/made/, { exit_code: 0, command: expect.stringContaining('tee'), workspace: 'my-app' })),
  );
  returns('file_delete', async () =>
    expect(await call('file_delete', { path: 'src/temp.txt', workspace: 'my-app' })).toEqual(
      expected(/^Deleted file src\/temp\.txt/, { workspace: 'my-app' }),
    ),
  );
  returns('folder_delete', async () =>
    expect(await call('folder_delete', { path: 'src/generated', workspace: 'my-app' })).toEqual(
      expected(/^Deleted folder src\/generated/, { workspace: 'my-app' }),
    ),
  );
  returns('github_branch_create', async () =>
    expect(await call('github_branch_create', { name: 'feature/one', workspace: 'my-app' })).toEqual(
      expected(/feature\/one/, {
        branch: 'feature/one',
        head: expect.stringMatching(/^[0-9a-f]{40}$/),
        url: expect.stringContaining('feature/one'),
      }),
    ),
  );
  returns('workspace_sync', async () => {
    await call('app_run', { workspace: 'my-app', command: 'echo note > note.md' });
    expect(await call('workspace_sync', { name: 'my-app', message: 'Add a note' })).toEqual(
      expected(/^Committed 1 file: 'Add a note' \([0-9a-f]{7}\), pushed to origin\/feature\/one/, {
        pushed: true,
        files: 1,
        message: 'Add a note',
      }),
    );
  });
  returns('github_pr_create', async () =>
    expect(await call('github_pr_create', { title: 'Add a note', workspace: 'my-app' })).toEqual(
      expected(/Add a note/, { url: expect.stringMatching(/\/pull\/1$/), number: 1, draft: true, base: 'main' }),
    ),
  );
  returns('github_pr_list', async () =>
    expect(await call('github_pr_list', { workspace: 'my-app' })).toEqual(
      expected(/#1.*Add a note/, { pullRequests: [expect.objectContaining({ number: 1, title: 'Add a note' })] }),
    ),
  );
  returns('github_pr_view', async () =>
    expect(await call('github_pr_view', { number: 1, repo: 'ann/my-app' })).toEqual(
      expected(/Add a note/, { pullRequest: expect.any(Object) }),
    ),
  );
  returns('github_issue_create', async () =>
    expect(
      await call('github_issue_create', { title: 'Crash', body: 'It ends.', labels: ['bug'], workspace: 'my-app' }),
    ).toEqual(expected(/Crash/, { url: expect.stringMatching(/\/issues\/1$/), number: 1 })),
  );
  returns('github_issue_list', async () =>
    expect(await call('github_issue_list', { workspace: 'my-app' })).toEqual(
      expected(/#1.*Crash/, { issues: [expect.objectContaining({ number: 1, title: 'Crash' })] }),
    ),
  );
  returns('github_action_status', async () => {
    const at = {
      id: 1,
      name: 'CI',
      display_title: 'Fix',
      head_sha: 'abcdef0123',
      event: 'push',
      status: 'completed',
      conclusion: 'success',
    };
    const page = {
      html_url: 'https://example.org/actions/runs/1',
      created_at: '2026-11-20T10:00:00Z',
      updated_at: '2026-11-20T10:05:00Z',
    };
    github.records('my-app').runs.push({ ...at, ...page, head_branch: 'feature/one' });
    expect(await call('github_action_status', { workspace: 'my-app' })).toEqual(
      expected(/CI: success/, { runs: [expect.objectContaining({ id: 1 })] }),
    );
  });
  returns('github_search_repos', async () => {
    const at = {
      full_name: 'ann/cats',
      description: 'Cats',
      html_url: 'https://example.org/ann/cats',
      stargazers_count: 3,
      language: 'Go',
    };
    github.found.push({ ...at, private: false, archived: false, fork: false, updated_at: '2026-11-20T10:00:00Z' });
    expect(await call('github_search_repos', { query: 'cats' })).toEqual(
      expected(/ann\/cats/, { repositories: [expect.any(Object)] }),
    );
  });
  returns('workspace_publish', async () =>
    expect(await call('workspace_publish', { name: 'local', description: 'By hand' })).toEqual(
      expected(/^Published local to .*\/ann\/local \(private\)/, {
        url: expect.stringContaining('/ann/local'),
        private: true,
      }),
    ),
  );
  returns('workspace_delete', async () =>
    expect(await call('workspace_delete', { name: 'local' })).toEqual(
      expected(/^Deleted workspace local/, { name: 'local' }),
    ),
  );

  returns('task_create', async () => {
    const goal = 'ask Go on? | yes | no; write b.txt {answer}';
    const made = await call('task_create', { goal, agent: 'practice', workspace: 'my-app' }, { in: shared });
    expect(made).toEqual(
      expected(/^Created task tsk_\w+: 'ask Go on.*' → practice in my-app/, {
        task: expect.objectContaining({ goal, workspace: 'my-app' }),
      }),
    );
    known.task = (made.metadata.task as { id: string }).id;
    await inState(app, known.task, 'waiting');
  });
  returns('task_status', async () =>
    expect(await call('task_status', {}, { in: shared })).toEqual(
      expected(new RegExp(`^Task ${known.task} waiting \\(\\d+.*\\) — 'ask Go on`), {
        task: expect.objectContaining({ id: known.task, status: 'waiting_input' }),
      }),
    ),
  );
  returns('task_respond', async () => {
    expect(await call('task_respond', { response: 'yes' }, { in: shared })).toEqual(
      expected(new RegExp(`^Sent response to task ${known.task}, resuming execution`), { taskId: known.task }),
    );
    await inState(app, known.task!, 'completed');
  });
  returns('task_cancel', async () => {
    const made = await call(
      'task_create',
      { goal: 'wait 300', agent: 'practice', workspace: 'my-app' },
      { in: shared },
    );
    const { id } = made.metadata.task as { id: string };
    await inState(app, id, 'running');
    expect(await call('task_cancel', { taskId: id }, { in: shared })).toEqual(
      expected(new RegExp(`^Cancelled task ${id} \\(was running .*\\)`), { taskId: id, wasRunning: true }),
    );
    await inState(app, id, 'cancelled');
  });

  returns('ask_user', async () =>
    expect(
      await call('ask_user', { question: 'Which one?', options: ['Postgres', 'SQLite'] }, { answer: 'SQLite' }),
    ).toEqual({
      ok: true,
      output: 'SQLite',
      metadata: { answer: 'SQLite' },
    }),
  );
  returns('report_progress', async () =>
    expect(await call('report_progress', { message: 'half way', percent: 50 })).toEqual(
      expected(/has been told/, { sent: true }),
    ),
  );

  returns('web_fetch', async () => {
    const at = `http://127.0.0.2:${site.port}`;
    expect(await call('web_fetch', { url: `${at}/data.json` })).toEqual(
      expected(/\{"bread":1\}/, { url: `${at}/data.json`, contentType: 'application/json' }),
    );
    expect(await call('web_fetch', { url: `${at}/` })).toEqual(
      expected(/Bread and butter/, { url: `${at}/`, title: 'Shop', truncated: false, length: expect.any(Number) }),
    );
  });
  returns('web_search', async () => {
    const results = [1, 2].map((n) => ({
      url: `https://example.org/${n}`,
      title: `Result ${n}`,
      snippet: `Snippet ${n}`,
      engine: 'e',
    }));
    expect(await call('web_search', { query: 'bread', count: 2 })).toEqual(
      expected(/^1\. Result 1/, { query: 'bread', count: 2, results }),
    );
  });

  const page = /\[ref=\d+\]|ref=\d+/;
  returns('browser_open', async () => {
    const opened = await call('browser_open', { url: `http://127.0.0.2:${site.port}/` }, { in: shared });
    expect(opened).toEqual(
      expected(page, { url: `http://127.0.0.2:${site.port}/`, title: 'Shop', elements: expect.any(Number) }),
    );
    known.link = /link "More" \[.*?ref=(\d+)/.exec(opened.output)?.[1] ?? '';
    expect(known.link).not.toBe('');
  });
  returns('browser_snapshot', async () =>
    expect(await call('browser_snapshot', {}, { in: shared })).toEqual(
      expected(page, { title: 'Shop', newBrowser: false }),
    ),
  );
  returns('browser_action', async () =>
    expect(await call('browser_action', { action: 'click', ref: Number(known.link) }, { in: shared })).toEqual(
      expected(/More bread/, { action: 'click', title: 'More' }),
    ),
  );
  returns('browser_screenshot', async () => {
    const { metadata, output } = await call('browser_screenshot', {}, { in: shared });
    expect(metadata).toMatchObject({
      attachment: expect.stringMatching(/^att_/),
      mime: 'image/png',
      width: expect.any(Number),
      height: expect.any(Number),
    });
    expect(output).toContain(String(metadata.attachment));
    const { status } = await app.request('GET', `/v1/threads/${shared}/attachments/${metadata.attachment}`);
    expect(status).toBe(200);
  });
  returns('browser_test', async () => {
    const url = `http://127.0.0.2:${site.port}/`;
    expect(await call('browser_test', { url, mustInclude: ['BREAD'], screenshot: true })).toEqual(
      expected(/^PASS: all 2 checks/, { url, failed: [], steps: expect.any(Array), mime: 'image/png' }),
    );
    expect(await call('browser_test', { url, mustInclude: ['cheese'] })).toMatchObject({
      ok: false,
      output: expect.stringMatching(/^FAIL: 1 of 2/),
    });
  });

  returns('workflow_create', async () =>
    expect(await call('workflow_create', { name: 'nightly', steps: ['workflow_list'] }, { in: shared })).toEqual(
      expected(/"nightly"/, {
        id: expect.stringMatching(/^wf_/),
        name: 'nightly',
        steps: [expect.objectContaining({ tool: 'workflow_list' })],
      }),
    ),
  );
  returns('cron_create', async () =>
    expect(
      await call('cron_create', { workflow: 'nightly', schedule: '0 3 * * *', timezone: 'UTC' }, { in: shared }),
    ).toEqual(
      expected(/^Scheduled "nightly": every day at 3:00, next /, {
        id: expect.stringMatching(/^cron_/),
        schedule: '0 3 * * *',
        timezone: 'UTC',
        nextRunAt: expect.stringMatching(/T03:00:00\.000Z$/),
      }),
    ),
  );
  returns('cron_list', async () =>
    expect(await call('cron_list', {}, { in: shared })).toEqual(
      expected(/^1 schedule:\n- nightly: every day at 3:00; next /, {
        crons: [expect.objectContaining({ name: 'nightly', state: 'enabled' })],
      }),
    ),
  );
  returns('workflow_run', async () => {
    expect(await call('workflow_run', { workflow: 'nightly' }, { in: shared })).toEqual(
      expected(/nightly/, { runId: expect.stringMatching(/^wfr_/) }),
    );
    await runsEnded(1);
  });
  returns('cron_run', async () => {
    expect(await call('cron_run', { cron: 'nightly' }, { in: shared })).toEqual(
      expected(/nightly/, { runId: expect.stringMatching(/^wfr_/) }),
    );
    await runsEnded(2);
  });
  returns('workflow_list', async () =>
    expect(await call('workflow_list', { includeRuns: true }, { in: shared })).toEqual(
      expected(/^1 routine:\n- nightly .*1 step: workflow_list\nRuns, newest first:/, {
        workflows: [expect.objectContaining({ name: 'nightly' })],
        runs: expect.arrayContaining([expect.objectContaining({ status: 'completed' })]),
      }),
    ),
  );
  returns('cron_delete', async () =>
    expect(await call('cron_delete', { cron: 'nightly' }, { in: shared })).toEqual(
      expected(/^The schedule "nightly" is gone/, { id: expect.stringMatching(/^cron_/) }),
    ),
  );
  returns('workflow_delete', async () =>
    expect(await call('workflow_delete', { workflow: 'nightly' }, { in: shared })).toEqual(
      expected(/nightly/, { id: expect.stringMatching(/^wf_/) }),
    ),
  );

  const runsEnded = (count: number) =>
    until(
      'the runs have ended',
      async () =>
        (await app.store.db.selectFrom('routine_runs').select('id').where('status', '!=', 'running').execute())
          .length === count,
    );

  it('answers garbage of a model with an error that it can correct, and the turn goes on', async () => {
    const texts = [
      '{',
      'null',
      '[]',
      '{"nonsense":1}',
      '{"__proto__":{"confirm":true}}',
      `${'{"a":'.repeat(2_000)}1${'}'.repeat(2_000)}`,
      '{"a":"\\u0000\\ud83d"}',
    ];
    const calls = Object.keys(CONTRACT).map((name, at): [string, string] => [name, texts[at % texts.length]!]);
    const thread = await app.thread({ auto_approve: true, allow_shell: true });
    const turn = await app.turn(
      thread,
      script([{ call: calls }, { call: [['nothing\u0000', '{}']] }, { say: 'done' }]),
    );
    expect((await app.ended(thread, turn)).status).toBe('completed');
    const rows = await app.store.db
      .selectFrom('calls')
      .select(['name', 'ok', 'output'])
      .where('turn_id', '=', turn)
      .execute();
    expect(rows).toHaveLength(41);
    for (const { name, ok, output } of rows) expect([name, ok, output!.length > 0]).toEqual([name, false, true]);
  });

  it('leaves a task with the fields of the contract', () => {
    const { task } = seen.get('task_status')!.metadata;
    expect(task).toMatchObject({
      id: expect.stringMatching(/^tsk_/),
      goal: expect.any(String),
      agent: 'practice',
      status: 'waiting_input',
      step: 1,
      createdAt: expect.stringMatching(/Z$/),
      result: null,
    });
  });

  it('is among these', () => expect(Object.keys(RUN).toSorted()).toEqual(Object.keys(CONTRACT).toSorted()));

  it('says in words what it did, and never only in JSON', () => {
    for (const [name, { output, metadata }] of seen) {
      expect([name, output.trim().startsWith('{') || output.trim().startsWith('[')]).toEqual([name, false]);
      expect([name, typeof metadata]).toEqual([name, 'object']);
    }
  });
});
