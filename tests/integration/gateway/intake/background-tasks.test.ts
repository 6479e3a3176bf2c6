import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TaskRecord } from '../../../../src/api/runtime/tasks/schemas.ts';
import { type Detail, script, startTestApp, type TestApp } from '../../../support/app.ts';
import { until } from '../../../support/until.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ FETCH_AUTONOMY: 'supervised' });
});
afterAll(() => app?.close());

async function ask<T = TaskRecord>(
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
): Promise<T> {
  const answer = await app.request(method, `/v1/tasks${path}`, body, headers);
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer.body as T;
}
const start = (steps: unknown[], fields: Record<string, unknown> = {}) =>
  ask('POST', '', { prompt: script(steps), ...fields });
const reached = (id: string, ...statuses: string[]) =>
  until(`task ${id} is ${statuses.join(' or ')}`, async () => {
    const task = await ask('GET', `/${id}`);
    return statuses.includes(task.status) ? task : null;
  });
const kinds = (task: TaskRecord) => task.timeline.map(({ kind }) => kind);
/** Asks for consent in a supervised chat. */
const ASKS = ['workflow_create', { name: 'tidy', steps: ['workflow_list'] }];

describe('a background task', () => {
  it('is a thread of its own that names it, and tells what it did', async () => {
    const accepted = await start([
      { say: 'looking', call: [['cron_list', {}]] },
      { call: [['read_output', { callId: 'none' }]] },
      { say: 'all done' },
    ]);
    expect(accepted).toMatchObject({
      status: 'queued',
      started_at: null,
      tool_calls: [],
      timeline: [{ kind: 'queued', summary: 'Task queued' }],
    });
    const done = await reached(accepted.id, 'completed');
    expect(done).toMatchObject({
      result_summary: 'all done',
      thread_id: accepted.thread_id,
      duration_ms: expect.any(Number),
    });
    expect(done.tool_calls.map(({ name, status, ended_at }) => [name, status, ended_at !== null])).toEqual([
      ['cron_list', 'success', true],
      ['read_output', 'failed', true],
    ]);
    expect(done.tool_calls[1]).toMatchObject({
      input_summary: expect.stringContaining('"callId":"none"'),
      output_summary: expect.stringContaining('no tool call none'),
    });
    expect(kinds(done)).toEqual([
      'queued',
      'running',
      'runtime_link',
      'tool_started',
      'message',
      'tool_completed',
      'tool_started',
      'tool_completed',
      'message',
      'finished',
    ]);
    expect((await app.detail(done.thread_id)).thread).toMatchObject({ task_id: done.id, archived: false });
    const { tasks, counts } = await ask<{ tasks: Array<{ id: string }>; counts: Record<string, number> }>(
      'GET',
      '?limit=1',
    );
    expect([tasks.map(({ id }) => id), counts.completed]).toEqual([[done.id], 1]);
  });

  it('is cancelled while it waits for an approval, and nothing of it runs for ever', async () => {
    const { id, thread_id } = await start([{ call: [ASKS] }, { say: 'done' }]);
    const open = async () => (await app.detail(thread_id)).pending_approvals;
    await until('it asks', async () => (await open()).length > 0);
    expect((await ask('GET', `/${id}`)).tool_calls).toMatchObject([
      { name: 'workflow_create', status: 'running', ended_at: null },
    ]);
    await ask('POST', `/${id}/cancel`, {});
    const ended = await reached(id, 'canceled');
    expect(ended.tool_calls).toMatchObject([
      { name: 'workflow_create', status: expect.stringMatching(/^(failed|canceled)$/), ended_at: expect.any(String) },
    ]);
    expect(kinds(ended)).toContain('finished');
    expect(kinds(ended)).toContain('cancel_requested');
    expect(await open()).toEqual([]);
    expect(await ask('POST', `/${id}/cancel`)).toEqual(ended);
  });

  it('does what would ask without a question when its body says so', async () => {
    const { id } = await start(
      [{ call: [['workflow_create', { name: 'sweep', steps: ['workflow_list'] }]] }, { say: 'made' }],
      { auto_approve: true },
    );
    expect(await reached(id, 'completed', 'failed')).toMatchObject({
      status: 'completed',
      auto_approve: true,
      tool_calls: [{ status: 'success' }],
    });
  });

  it('is found by a beginning of its id that no other has', async () => {
    const [first, second] = [await start([{ say: 'a' }]), await start([{ say: 'b' }])];
    let shared = 0;
    while (first.id[shared] === second.id[shared]) shared += 1;
    expect((await app.request('GET', `/v1/tasks/${first.id.slice(0, shared)}`)).status).toBe(400);
    for (const path of ['task_%25', 'x%20y', '..%2Ftasks', '%00'])
      expect((await app.request('GET', `/v1/tasks/${path}`)).status).toBe(404);
    expect(await ask('GET', `/${second.id.slice(0, 20)}`)).toMatchObject({ id: second.id });
  });

  it('is refused where it names an agent or a workspace that is not there', async () => {
    const refused = async (body: object) =>
      ((await app.request('POST', '/v1/tasks', { prompt: 'x', ...body })).body as { error: { message: string } }).error
        .message;
    expect(await refused({ agent: 'nobody' })).toMatch(
      /^There is no coding agent 'nobody'; expected one of .*practice.*auto$/,
    );
    expect(await refused({ harness: 'practice', workspace: 'nowhere' })).toMatch(/^There is no workspace 'nowhere'/);
    expect(await refused({ agent: 'practice', prompt: 'x'.repeat(10_001) })).toMatch(/longer than 10000 characters/);
    expect(await refused({ prompt: '\u0000 ' })).toBe('prompt is required');
  });
});

describe('over kills', () => {
  it('one key is one task, also when the API is killed between two requests', async () => {
    const headers = { 'Idempotency-Key': 'task-1' };
    const body = { prompt: script([{ say: 'once' }]) };
    const first = await Promise.all([1, 2, 3].map(() => ask('POST', '', body, headers)));
    app.kill('api');
    await until('the API is back', async () => (await app.request('GET', '/health')).status === 200);
    const again = await ask('POST', '', body, headers);
    expect(new Set([...first, again].map(({ id }) => id)).size).toBe(1);
    expect((await app.request('POST', '/v1/tasks', { prompt: 'other' }, headers)).status).toBe(422);
    await reached(again.id, 'completed');
    const { turns } = (await app.detail(again.thread_id)) as Detail;
    expect(turns).toHaveLength(1);
  });

  it('goes on where it was when worker, gateway and API are killed', async () => {
    const { id } = await start([{ call: [['cron_list', {}]] }, { say: 'slow '.repeat(60), pace: 40 }, { say: 'end' }]);
    await until('it has called', async () => (await ask('GET', `/${id}`)).tool_calls[0]?.status === 'success');
    for (const role of ['worker', 'gateway', 'api'] as const) app.kill(role);
    await until('the API is back', async () => (await app.request('GET', '/health')).status === 200);
    const done = await reached(id, 'completed');
    expect(done.tool_calls).toHaveLength(1);
    expect(kinds(done).filter((kind) => kind === 'finished')).toHaveLength(1);
  });

  it('a cancellation that nobody was told of takes effect', async () => {
    const { id, thread_id } = await start([{ hang: true }]);
    await reached(id, 'running');
    app.kill('worker');
    app.kill('gateway');
    await until('the API answers', async () => (await app.request('GET', '/health')).status === 200);
    await ask('POST', `/${id}/cancel`);
    await reached(id, 'canceled');
    expect((await app.detail(thread_id)).turns[0]).toMatchObject({ status: 'interrupted' });
  });
});
