import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { until } from '../../support/until.ts';

/** What a thread and a turn leave open to tools, as the real model path heeds it. */

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ FETCH_AUTONOMY: 'autonomous' });
});
afterAll(() => app?.close());

const SHELL = [{ call: [['shell_run', { command: 'id' }]] }, { say: 'Tool said: $LAST' }];
const WRITE = [{ call: [['file_write', { path: 'a.txt', content: 'a' }]] }, { say: 'Tool said: $LAST' }];
const CLOSED = 'is not available here';

/** What the last tool of a turn said, and the names of the tools that its model was offered. */
async function run(
  thread: string,
  steps: unknown[],
  turn: Record<string, unknown> = {},
): Promise<{ said: string; offered: string[] }> {
  const answer = await app.request('POST', `/v1/threads/${thread}/turns`, {
    prompt: `SCRIPT:${JSON.stringify(steps)}`,
    ...turn,
  });
  const { id } = (answer.body as { turn: { id: string } }).turn;
  await app.ended(thread, id);
  const { items } = await app.detail(thread);
  const request = app.model.requests().findLast((each) => each.requestId.startsWith(id))!;
  return {
    said: items.filter((item) => item.turn_id === id && item.kind === 'agent_message').at(-1)!.detail!,
    offered: request.tools,
  };
}

describe('commands', () => {
  it('are neither offered nor run where a thread does not allow them, which is so unless a client asks for it', async () => {
    for (const fields of [{}, { allow_shell: false }]) {
      const { said, offered } = await run(await app.thread(fields), SHELL);
      expect(said).toContain(CLOSED);
      for (const name of ['shell_run', 'app_run', 'app_test']) expect(offered).not.toContain(name);
      expect(offered).toContain('file_read');
    }
  });

  it('are there where a thread allows them, unless the turn does not', async () => {
    const thread = await app.thread({ allow_shell: true });
    const open = await run(thread, SHELL);
    expect(open.said).not.toContain(CLOSED);
    expect(open.offered).toContain('shell_run');
    expect((await run(thread, SHELL, { allow_shell: false })).said).toContain(CLOSED);
    expect((await run(thread, SHELL)).said).not.toContain(CLOSED);
  });

  it('are there for the turn that asks for them, and for no later one', async () => {
    const thread = await app.thread();
    expect((await run(thread, SHELL, { allow_shell: true })).said).not.toContain(CLOSED);
    expect((await run(thread, SHELL)).said).toContain(CLOSED);
  });

  it('are not run by a routine of a thread that allows none', async () => {
    const thread = await app.thread({ allow_shell: true });
    const steps = [
      { call: [['workflow_create', { name: 'tidy', steps: [{ name: 'look', tool: 'app_test', args: {} }] }]] },
      { say: 'made' },
    ];
    await run(thread, steps);
    await app.store.db.updateTable('threads').set({ allow_shell: false }).where('id', '=', thread).execute();
    await run(thread, [{ call: [['workflow_run', { workflow: 'tidy' }]] }, { say: 'started' }]);
    const [result] = await until('the run has ended', async () => {
      const row = await app.store.db
        .selectFrom('routine_runs')
        .selectAll()
        .where('status', '!=', 'running')
        .executeTakeFirst();
      return row?.results;
    });
    expect(result).toMatchObject({ ok: false, output: expect.stringContaining(CLOSED) });
  });
});

describe('a plan', () => {
  it('looks and changes nothing, for a thread and for a turn', async () => {
    const planning = await app.thread({ mode: 'plan', allow_shell: true });
    const { said, offered } = await run(planning, WRITE);
    expect(said).toContain(CLOSED);
    expect(offered).toEqual(expect.arrayContaining(['file_read', 'file_search', 'ask_user']));
    for (const name of ['file_write', 'task_create', 'cron_create', 'shell_run', 'workspace_publish'])
      expect(offered).not.toContain(name);
    expect((await run(planning, WRITE, { mode: 'agent' })).said).not.toContain(CLOSED);
    const working = await app.thread();
    expect((await run(working, WRITE, { mode: 'plan' })).said).toContain(CLOSED);
    expect((await run(working, WRITE)).said).not.toContain(CLOSED);
  });
});

it('defect 16: commands and changes of files are items of their own kinds', async () => {
  const thread = await app.thread({ allow_shell: true });
  const answer = await app.request('POST', `/v1/threads/${thread}/turns`, {
    prompt: `SCRIPT:${JSON.stringify([
      {
        call: [
          ['shell_run', { command: 'id' }],
          ['file_write', { path: 'a.txt', content: 'a' }],
          ['workflow_list', {}],
        ],
      },
      { say: 'done' },
    ])}`,
  });
  const { id } = (answer.body as { turn: { id: string } }).turn;
  await app.ended(thread, id);
  const kinds = (await app.detail(thread)).items.map(({ kind }) => kind);
  expect(kinds).toEqual(expect.arrayContaining(['command_execution', 'file_change', 'tool_call']));
});

it('the chat of a person may run commands: they ask for each', async () => {
  const { body } = await app.request('GET', '/v1/console');
  expect(body).toMatchObject({ allow_shell: true });
});
