import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestApp } from '../../support/app.ts';
import {
  containersOf,
  findTask,
  inState,
  linesOf,
  startTask,
  startTaskApp,
  workspace,
} from '../../support/kennel-app.ts';
import { allowForGood } from '../../support/thread.ts';
import { until } from '../../support/until.ts';

/** Two chats at work at the same moment, and the files of a task as its chat sees them. */

let app: TestApp;
beforeAll(async () => {
  app = await startTaskApp({ FETCH_KENNEL_SLOTS: '4' });
}, 600_000);
afterAll(() => app?.close());

/** What the only call of a turn gave. */
async function call(
  thread: string,
  name: string,
  args: Record<string, unknown>,
): Promise<{ ok: boolean; output: string }> {
  const turn = await app.turn(thread, [{ call: [[name, args]] }, { say: 'done' }]);
  await app.ended(thread, turn);
  const { ok, output } = await app.store.db
    .selectFrom('calls')
    .select(['ok', 'output'])
    .where('turn_id', '=', turn)
    .executeTakeFirstOrThrow();
  return { ok: ok!, output: output! };
}
const answerTo = async (thread: string, text: string): Promise<string> => {
  const before = (await app.detail(thread)).items.length;
  await app.say(thread, text);
  return await until(`an answer to ${text}`, async () => {
    const { items } = await app.detail(thread);
    return items.slice(before).find(({ kind }) => kind === 'agent_message')?.detail;
  });
};
const works = (id: string) =>
  until(`${id} waits in its container`, async () => (await linesOf(app, id)).some((line) => line.type === 'tool'));

describe('two chats with a task each', () => {
  let [ann, bob] = [
    { thread: '', id: '' },
    { thread: '', id: '' },
  ];
  beforeAll(async () => {
    await Promise.all([workspace(app, 'of-ann'), workspace(app, 'of-bob')]);
    const [first, second] = [await app.thread(), await app.thread()];
    await call(first, 'workspace_select', { name: 'of-ann' });
    await call(second, 'workspace_select', { name: 'of-bob' });
    ann = await startTask(app, 'write ann.txt ann; wait 600', { workspace: 'of-ann', thread: first, timeout: 600_000 });
    bob = await startTask(app, 'write bob.txt bob; ask Go on? | yes | no; write end.txt end', {
      workspace: 'of-bob',
      thread: second,
      timeout: 600_000,
    });
    await Promise.all([works(ann.id), inState(app, bob.id, 'waiting')]);
  }, 180_000);

  it('defect 5: each has its own active workspace and its own current task', async () => {
    for (const [chat, name, other] of [
      [ann, 'of-ann', 'of-bob'],
      [bob, 'of-bob', 'of-ann'],
    ] as const) {
      expect((await call(chat.thread, 'workspace_status', {})).output).toMatch(new RegExp(`^${name} `));
      const { output } = await call(chat.thread, 'task_status', {});
      expect(output).toContain(chat.id);
      expect(output).not.toContain(other);
      const status = await answerTo(chat.thread, 'status');
      expect(status).toContain(name);
      expect(status).not.toContain(other);
    }
  });

  it('defect 5: neither looks at, answers or ends the task of the other, also by its id', async () => {
    for (const [name, args] of [
      ['task_status', { taskId: bob.id }],
      ['task_cancel', { taskId: bob.id }],
      ['task_pause', { taskId: bob.id }],
      ['task_respond', { taskId: bob.id, response: 'yes' }],
    ] as const) {
      const { ok, output } = await call(ann.thread, name, args);
      expect([name, ok]).toEqual([name, false]);
      expect(output).not.toContain('of-bob');
    }
    expect((await findTask(app, bob.id)).state).toBe('waiting');
  });

  it('defect 5: "stop" in one chat ends what runs there, and nothing of the other', async () => {
    expect((await app.say(ann.thread, 'stop')).kind).toBe('task');
    await inState(app, ann.id, 'cancelled');
    expect(containersOf(ann.id)).toEqual([]);
    expect((await findTask(app, bob.id)).state).toBe('waiting');
    expect((await app.say(bob.thread, 'yes')).kind).toBe('answer');
    const task = await inState(app, bob.id, 'completed');
    expect(task.result?.changes?.files.map(({ path }) => path)).toEqual(['bob.txt', 'end.txt']);
  });

  it('defect 5: "undo" in one chat takes nothing of the other back, and neither reads what the other was told', async () => {
    await answerTo(ann.thread, 'undo');
    expect(readFileSync(join(app.home, 'workspaces/of-bob/end.txt'), 'utf8')).toBe('end\n');
    const texts = async (thread: string) => JSON.stringify((await app.detail(thread)).items);
    expect(await texts(ann.thread)).not.toMatch(/of-bob|bob\.txt/);
    expect(await texts(bob.thread)).not.toMatch(new RegExp(`${ann.id}|of-ann|ann\\.txt`));
    expect(existsSync(join(app.home, 'workspaces/of-bob/ann.txt'))).toBe(false);
  });
});

it('defect 16: a file that is made, changed or deleted reaches the chat as such, from a tool and from an agent, and stands in the result', async () => {
  const { path, git } = await workspace(app, 'files');
  const thread = await app.thread({ allow_shell: true });
  await allowForGood(app.store.db, thread, 'delete');
  const turn = await app.turn(thread, [
    { call: [['file_write', { path: 'made.txt', content: 'a\n', workspace: 'files' }]] },
    { call: [['file_edit', { path: 'made.txt', find: 'a', replace: 'b', workspace: 'files' }]] },
    { call: [['file_delete', { path: 'README.md', workspace: 'files' }]] },
    { say: 'done' },
  ]);
  await app.ended(thread, turn);
  const changes = async (of: string) =>
    (await app.detail(thread)).items
      .filter(({ kind, turn_id }) => kind === 'file_change' && turn_id === of)
      .map(({ status, summary }) => ({ status, summary }));
  const direct = await changes(turn);
  expect(direct.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed']);
  expect(direct.map(({ summary }) => summary).join('\n')).toMatch(/file_write[\s\S]*file_edit[\s\S]*file_delete/);
  // a client that follows the events sees them as they happen
  const seen = (await app.events(thread)).filter(
    ({ event, turn_id }) => event === 'item.completed' && turn_id === turn,
  );
  expect(
    seen.filter(({ payload }) => (payload as { item: { kind: string } }).item.kind === 'file_change'),
  ).toHaveLength(3);
  const calls = await app.store.db
    .selectFrom('calls')
    .select(['ok', 'output'])
    .where('turn_id', '=', turn)
    .orderBy('step')
    .execute();
  expect(calls.map(({ ok, output }) => [ok, output!.split('\n')[0]])).toEqual([
    [true, expect.stringContaining('made.txt')],
    [true, expect.stringContaining('made.txt')],
    [true, expect.stringContaining('README.md')],
  ]);
  expect(git('status', '--porcelain').split('\n').toSorted()).toEqual(['?? made.txt', 'D README.md']);
  git('add', '-A');
  git('commit', '-qm', 'by hand');

  const { id } = await startTask(
    app,
    'write new.txt new; append made.txt c; run mv new.txt moved.txt; run rm made.txt',
    { workspace: 'files', thread },
  );
  const task = await inState(app, id, 'completed');
  const items = (await app.detail(thread)).items.filter(({ turn_id }) => turn_id === task.turn_id);
  const paths = items
    .filter(({ kind }) => kind === 'file_change')
    .flatMap(({ metadata }) => (metadata as { paths?: string[] } | null)?.paths ?? []);
  expect(paths.map((each) => each.replace('/workspace/', ''))).toEqual(['new.txt', 'made.txt']);
  expect(items.filter(({ kind }) => kind === 'command_execution')).toHaveLength(2);
  // the result is what git says, whatever the agent called it
  expect(task.result?.changes?.files.map((file) => file.path).toSorted()).toEqual(['made.txt', 'moved.txt']);
  expect(existsSync(join(path, 'made.txt'))).toBe(false);
});
