import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TaskRecord } from '../../../src/api/runtime/tasks/schemas.ts';
import type { TestApp } from '../../support/app.ts';
import { startTask, startTaskApp, workspace } from '../../support/kennel-app.ts';
import { until } from '../../support/until.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTaskApp({ FETCH_KENNEL_AGENTS: 'practice' });
});
afterAll(() => app?.close());

async function ask<T = TaskRecord>(method: string, path: string, body?: unknown): Promise<T> {
  const answer = await app.request(method, `/v1/${path}`, body);
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer.body as T;
}
const reached = (id: string, done: (task: TaskRecord) => boolean) =>
  until(
    `task ${id} is as expected`,
    async () => {
      const task = await ask('GET', `tasks/${id}`);
      return done(task) ? task : null;
    },
    120_000,
  );

describe('a coding task over HTTP', () => {
  it('begins without a model, is one of the list, and tells what it changed', async () => {
    const { path } = await workspace(app, 'coded');
    const asked = app.model.requests().length;
    const accepted = await ask('POST', 'tasks', { prompt: 'write a.txt hello', agent: 'practice', workspace: 'coded' });
    expect(accepted).toMatchObject({ prompt: 'write a.txt hello', status: 'queued' });
    // the coding task ends first, and its report ends the turn
    const done = await reached(accepted.id, ({ timeline }) => timeline.at(-1)?.kind === 'finished');
    expect(done).toMatchObject({
      status: 'completed',
      prompt: 'write a.txt hello',
      workspace: 'coded',
      coding_task: { agent: 'practice', state: 'completed', files_changed: [{ path: 'a.txt', status: 'added' }] },
      tool_calls: [{ name: 'task_create', status: 'success' }],
    });
    expect(existsSync(join(path, 'a.txt'))).toBe(true);
    expect(app.model.requests()).toHaveLength(asked);
    expect(await ask('GET', `tasks/${done.coding_task!.id}`)).toEqual(done);
    const { tasks } = await ask<{ tasks: Array<{ id: string }> }>('GET', 'tasks');
    expect(tasks.filter(({ id }) => id === done.id || id === done.coding_task!.id)).toHaveLength(1);
  });

  it('is cancelled while it works, over a kill of the worker of its host', async () => {
    await workspace(app, 'stopped');
    const { id } = await ask('POST', 'tasks', { prompt: 'wait 300', workspace: 'stopped' });
    await reached(id, ({ coding_task }) => coding_task?.state === 'running');
    app.kill('kennel');
    // roles may share a process
    await until('the API answers', async () => (await app.request('GET', '/health')).status === 200);
    expect(await ask('POST', `tasks/${id}/cancel`)).toMatchObject({
      status: expect.stringMatching(/^(running|canceled)$/),
    });
    expect(await reached(id, ({ status }) => status === 'canceled')).toMatchObject({
      coding_task: { state: 'cancelled' },
    });
  });

  it('of a chat is in the list, too, and can be cancelled there', async () => {
    await workspace(app, 'chatted');
    const { id } = await startTask(app, 'wait 300', { workspace: 'chatted' });
    expect(await reached(id, ({ coding_task }) => coding_task?.state === 'running')).toMatchObject({
      id,
      prompt: 'wait 300',
      model: 'practice',
    });
    await ask('POST', `tasks/${id.slice(0, 10)}/cancel`);
    await reached(id, ({ status }) => status === 'canceled');
  });

  it('is failed with the reason when its workspace takes none', async () => {
    await workspace(app, 'refusing');
    const { id } = await ask('POST', 'tasks', { prompt: 'fail as asked', workspace: 'refusing' });
    expect(await reached(id, ({ status }) => status === 'failed')).toMatchObject({ error: expect.stringMatching(/./) });
  });
});

describe('snapshots', () => {
  interface Snapshot {
    id: string;
    label: string;
    timestamp: number;
    workspace: string;
  }
  const restore = async (id: string): Promise<string> => {
    const { thread_id, turn_id } = await ask<{ thread_id: string; turn_id: string }>('POST', `snapshots/${id}/restore`);
    expect((await app.ended(thread_id, turn_id)).status).toBe('completed');
    return thread_id;
  };

  it('are the states before tasks and edits; one that is restored can be brought back', async () => {
    const { path } = await workspace(app, 'snapped');
    const { id } = await startTask(app, 'write a.txt from-task', { workspace: 'snapped' });
    await reached(id, ({ status }) => status === 'completed');
    const thread = await app.thread({ allow_shell: true });
    const turn = await app.turn(thread, [
      { call: [['file_write', { path: 'b.txt', content: 'edited\n', workspace: 'snapped' }]] },
      { say: '$LAST' },
    ]);
    await app.ended(thread, turn);
    const listed = (await ask<Snapshot[]>('GET', 'snapshots?limit=100')).filter(
      (snapshot) => snapshot.workspace === 'snapped',
    );
    expect(listed.map(({ label }) => label)).toEqual(['pre-edit: b.txt', 'pre-task: write a.txt from-task']);
    expect(listed.every(({ timestamp }) => Math.abs(Date.now() / 1000 - timestamp) < 600)).toBe(true);
    // the older one: what was done after it is kept
    expect(listed[1]!.id).toBe(id);
    const chat = await restore(id);
    expect([existsSync(join(path, 'a.txt')), readFileSync(join(path, 'b.txt'), 'utf8')]).toEqual([false, 'edited\n']);
    await restore(listed[0]!.id);
    expect(existsSync(join(path, 'b.txt'))).toBe(false);
    const redo = await app.turn(chat, [{ call: [['undo', { what: 'redo', workspace: 'snapped' }]] }, { say: '$LAST' }]);
    await app.ended(chat, redo);
    expect(existsSync(join(path, 'b.txt'))).toBe(true);
    expect((await app.request('POST', '/v1/snapshots/tsk_nothere/restore')).status).toBe(404);
  });

  it('are restored with the consent that undo needs', async () => {
    const { path } = await workspace(app, 'asked');
    const { id, thread } = await startTask(app, 'write a.txt kept', { workspace: 'asked' });
    await reached(id, ({ status }) => status === 'completed');
    await app.store.db
      .updateTable('chats')
      .set({ autonomy: 'supervised' })
      .where('id', '=', (e) => e.selectFrom('threads').select('chat_id').where('id', '=', thread))
      .execute();
    const { turn_id } = await ask<{ turn_id: string }>('POST', `snapshots/${id}/restore`);
    const approval = await until('it asks', async () => (await app.detail(thread)).pending_approvals[0]);
    expect((await app.request('POST', `/v1/snapshots/${id}/restore`)).status).toBe(409);
    await app.request('POST', `/v1/approvals/${approval.id}`, { decision: 'deny' });
    await app.ended(thread, turn_id);
    expect(existsSync(join(path, 'a.txt'))).toBe(true);
  });
});
