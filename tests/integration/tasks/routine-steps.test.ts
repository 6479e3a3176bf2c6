import { Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AGENT_QUEUE, scheduleId } from '../../../src/contracts/ids.ts';
import type { TestApp } from '../../support/app.ts';
import { startTaskApp, workspace } from '../../support/kennel-app.ts';
import { clientOf } from '../../support/temporal-client.ts';
import { until } from '../../support/until.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTaskApp({ FETCH_KENNEL_AGENTS: 'practice' });
});
afterAll(() => app?.close());

/** Lets the model call one tool in a turn of its own; what the tool said. */
async function call(
  thread: string,
  name: string,
  args: Record<string, unknown>,
): Promise<{ ok: boolean; output: string }> {
  const turn = await app.turn(thread, [{ call: [[name, args]] }, { say: 'done' }]);
  await app.ended(thread, turn);
  const row = await app.store.db
    .selectFrom('calls')
    .select(['ok', 'output'])
    .where('turn_id', '=', turn)
    .executeTakeFirstOrThrow();
  return { ok: row.ok === true, output: row.output ?? '' };
}

/** The results that routines have delivered to a thread, oldest first. */
const resultsOf = async (thread: string): Promise<string[]> => {
  const query = app.store.db
    .selectFrom('outbox')
    .select('body')
    .where('thread_id', '=', thread)
    .where('kind', '=', 'result')
    .where('state', '=', 'sent');
  return (await query.orderBy('created_at').execute())
    .map(({ body }) => body)
    .filter((body) => /^(?:nightly|hourly)\b/.test(body));
};
const result = (thread: string, number = 0) =>
  until('the result is delivered', async () => (await resultsOf(thread))[number], 120_000);

async function routine(steps: unknown[], more: object = {}): Promise<string> {
  const thread = await app.thread();
  expect(await call(thread, 'workflow_create', { name: 'nightly', steps, ...more })).toMatchObject({ ok: true });
  return thread;
}

describe('a coding task as a step', () => {
  it('is waited for over a kill of the worker, and its result is that of the step', async () => {
    const { path } = await workspace(app, 'waits');
    const task = { tool: 'task_create', name: 'Work', args: { goal: 'wait 4; write a.txt a' } };
    const thread = await routine([task, { tool: 'file_read', name: 'Look', args: { path: 'a.txt' } }], {
      workspace: 'waits',
    });
    await call(thread, 'workflow_run', { workflow: 'nightly' });
    await until(
      'the task works',
      () =>
        app.store.db
          .selectFrom('tasks')
          .select('id')
          .where('workspace', '=', 'waits')
          .where('state', '=', 'running')
          .executeTakeFirst(),
      120_000,
    );
    const { workflow_id } = await app.store.db
      .selectFrom('tasks')
      .select('workflow_id')
      .where('workspace', '=', 'waits')
      .executeTakeFirstOrThrow();
    const connection = await Connection.connect({ address: app.temporalAddress });
    // the task may ask a person
    expect((await clientOf(app, connection).workflow.getHandle(workflow_id).describe()).taskQueue).toBe(AGENT_QUEUE);
    await connection.close();
    app.kill('worker');
    const body = await result(thread);
    expect(body).toMatch(/^nightly:\n\n.*\ba$/);
    const { results } = await app.store.db
      .selectFrom('routine_runs')
      .select('results')
      .where('routine_name', '=', 'nightly')
      .executeTakeFirstOrThrow();
    expect(results[0]!.output).toMatch(/^The coding task is done/);
    expect(path).toContain('waits');
  });

  it('that fails is a failed step, and runs the step that is there for it', async () => {
    await workspace(app, 'breaks');
    const thread = await routine(
      [
        { tool: 'task_create', name: 'Work', args: { goal: 'fail as asked' } },
        { tool: 'git_status', name: 'After success', args: {} },
        { tool: 'git_log', name: 'After failure', args: {}, when: 'failed' },
      ],
      { workspace: 'breaks' },
    );
    await call(thread, 'workflow_run', { workflow: 'nightly' });
    const body = await result(thread);
    expect(body).toMatch(/^nightly did not work: 1 of 3 steps done, step 1 \(Work\) failed/);
    expect(body).toMatch(/2\. After success: skipped\n3\. After failure: done/);
    expect(body).toMatch(/The coding task did not work/);
    expect((await call(thread, 'workflow_list', { includeRuns: true })).output).toMatch(
      /failed, 1 of 3 steps done.*; Work: The coding task did not work/,
    );
  });
});

describe('a workflow', () => {
  it('goes on after a step that may fail, and leaves out what is only there for a failure', async () => {
    const mayFail = { tool: 'read_output', name: 'May fail', args: { callId: 'none' }, onFailure: 'continue' };
    const thread = await routine([
      mayFail,
      'workflow_list|Then',
      { tool: 'cron_list', name: 'Only then', when: 'failed' },
      { tool: 'cron_list', name: 'Always', when: 'always' },
    ]);
    await call(thread, 'workflow_run', { workflow: 'nightly' });
    const body = await result(thread);
    expect(body).toMatch(/^nightly: 2 of 4 steps done, step 1 \(May fail\) failed/);
    expect(body).toMatch(/2\. Then: done\n3\. Only then: skipped\n4\. Always: done/);
  });

  it('takes inputs from the call that runs it, and their defaults from nobody else', async () => {
    const thread = await routine([{ tool: 'read_output', args: { callId: '{{input.id}}', limit: '{{input.most}}' } }]);
    expect(await call(thread, 'workflow_run', { workflow: 'nightly' })).toEqual({
      ok: false,
      output: 'The routine "nightly" needs inputs: id, most.',
    });
    expect(await call(thread, 'cron_create', { workflow: 'nightly', schedule: '@daily' })).toMatchObject({
      ok: false,
      output: 'The routine "nightly" needs inputs: id, most.',
    });
    await call(thread, 'workflow_run', { workflow: 'nightly', inputs: { id: 'call_of_nobody', most: 50 } });
    expect(await result(thread)).toMatch(/There is no tool call call_of_nobody/);
  });

  it('defect 52: is changed by talking, with its schedule, and keeps its cron and its history', async () => {
    const connection = await Connection.connect({ address: app.temporalAddress });
    const { schedule } = clientOf(app, connection);
    const thread = await routine(['workflow_list']);
    await call(thread, 'cron_create', { workflow: 'nightly', schedule: '0 4 * * *' });
    await call(thread, 'workflow_run', { workflow: 'nightly' });
    await result(thread);
    expect(
      await call(thread, 'workflow_update', {
        workflow: 'nightly',
        name: 'hourly',
        steps: ['cron_list|Look', 'workflow_list'],
      }),
    ).toMatchObject({
      ok: true,
      output: expect.stringMatching(/^Changed the routine "hourly" \(wf_\w+\), which has 2 steps/),
    });
    expect(
      await call(thread, 'cron_update', {
        cron: 'nightly',
        schedule: '30 5 * * MON-FRI',
        timezone: 'Europe/Berlin',
        name: 'mornings',
      }),
    ).toMatchObject({
      ok: true,
      output: expect.stringMatching(/^The schedule "mornings" is now: every weekday at 5:30, next .*05:30\./),
    });
    expect((await call(thread, 'cron_list', {})).output).toMatch(
      /mornings \(runs hourly\): every weekday at 5:30; next .*05:30/,
    );
    const { id } = await app.store.db
      .selectFrom('crons')
      .select('id')
      .where('name', '=', 'mornings')
      .executeTakeFirstOrThrow();
    expect((await schedule.getHandle(scheduleId(id)).describe()).spec.timezone).toBe('Europe/Berlin');
    await call(thread, 'cron_run', { cron: 'mornings' });
    expect(await result(thread, 1)).toMatch(/^hourly:\n/);
    expect((await call(thread, 'workflow_list', { includeRuns: true })).output).toMatch(
      /Runs, newest first:\n- .* hourly .*\n- .* nightly /,
    );
    expect(await call(thread, 'cron_update', { cron: 'mornings', schedule: '61 * * * *' })).toMatchObject({
      ok: false,
      output: expect.stringMatching(/not right/),
    });
    await connection.close();
  });
});
