import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TestApp } from '../../support/app.ts';
import {
  containersOf,
  findTask,
  inState,
  linesOf,
  report,
  startTask,
  startTaskApp,
  workspace,
} from '../../support/kennel-app.ts';
import { reconcileNow } from '../../support/reconcile.ts';
import { clientOf } from '../../support/temporal-client.ts';
import { until } from '../../support/until.ts';

let app: TestApp;

beforeAll(async () => {
  app = await startTaskApp({ FETCH_PLAN_ABOVE_CHARS: '400' });
}, 600_000);
afterAll(() => app?.close());

const plansOf = (id: string) =>
  app.store.db
    .selectFrom('questions')
    .selectAll()
    .where('task_id', '=', id)
    .where('kind', '=', 'plan')
    .orderBy('asked_at')
    .execute();
/** The open plan of a task, once it is the given one in number, and no container is left. */
const planned = (id: string, count: number) =>
  until(
    `plan ${count} of task ${id} waits`,
    async () => {
      const plans = await plansOf(id);
      const task = await findTask(app, id);
      if (task.ended_at) throw new Error(`it is ${task.state}: ${task.reason}`);
      return plans.length === count &&
        plans.at(-1)!.state === 'open' &&
        task.state === 'waiting' &&
        containersOf(id).length === 0
        ? plans.at(-1)!
        : null;
    },
    90_000,
  );
const messageOf = async (turnId: string) =>
  (
    await app.store.db
      .selectFrom('outbox')
      .select('body')
      .where('turn_id', '=', turnId)
      .where('kind', '=', 'question')
      .execute()
  ).map(({ body }) => body);
const undo = async (thread: string) => {
  const turn = await app.turn(thread, [{ call: [['undo', { what: 'one' }]] }, { say: '$LAST' }]);
  await app.ended(thread, turn);
};

describe('a task that begins with a plan', () => {
  it('is planned, changed twice and agreed to over kills of everything, and changes no file before; an undo keeps what the person wrote meanwhile', async () => {
    const { path, git } = await workspace(app, 'planned');
    const goal = 'look echo early > early.txt; look rm README.md; write a.txt a; append docs/b.md b';
    const { thread, id } = await startTask(app, goal, { workspace: 'planned', plan: true });
    const first = await planned(id, 1);
    const [message, ...others] = await messageOf(first.turn_id);
    expect(others).toEqual([]);
    expect(message).toMatch(/has a plan\. Nothing is changed before your yes\./);
    expect(message).toContain('> 3. write a.txt a');
    expect(message).toContain('It would touch:\n- `a.txt`\n- `docs/b.md`\n\n');
    // it tried to write, and could not
    const tried = (await linesOf(app, id)).flatMap((line) =>
      line.type === 'tool' && line.status === 'failed' ? [line.title] : [],
    );
    expect(tried).toEqual(['echo early > early.txt', 'rm README.md']);
    expect(git('status', '--porcelain')).toBe('');
    expect((await app.detail(thread)).pending_user_inputs.map(({ request }) => request.questions[0]!.question)).toEqual(
      [expect.stringMatching(/^May practice carry out its plan for "look echo[\s\S]*> 3\. write a\.txt a/)],
    );

    await app.stop();
    await app.start();
    expect((await app.say(thread, 'without 2')).kind).toBe('answer');
    const second = await planned(id, 2);
    expect((await messageOf(second.turn_id))[0]).not.toMatch(/^> .*rm README/m);
    writeFileSync(join(path, 'mine.txt'), 'mine\n');
    expect((await app.say(thread, 'write c.txt c')).kind).toBe('answer');
    // in the middle of the run that plans again
    await until('it plans again', async () => containersOf(id).length > 0 || (await plansOf(id)).length === 3, 60_000);
    app.kill('kennel');
    app.kill('worker');
    await app.whenReady();
    const third = await planned(id, 3);
    expect((await messageOf(third.turn_id))[0]).toContain('- `c.txt`');
    expect((await messageOf(third.turn_id))[0]!.match(/write c\.txt/g)).toHaveLength(1);
    writeFileSync(join(path, 'README.md'), 'edited while the plan waited\n');
    expect(existsSync(join(path, 'a.txt'))).toBe(false);
    expect(git('status', '--porcelain').split('\n').sort()).toEqual(['?? mine.txt', 'M README.md']);

    expect((await app.say(thread, 'yes')).kind).toBe('answer');
    const task = await inState(app, id, 'completed', 90_000);
    expect(task.result?.changes?.files.map((file) => file.path).sort()).toEqual([
      'a.txt',
      'c.txt',
      'docs/b.md',
      'early.txt',
    ]);
    expect(await report(app, id)).toContain('It followed the plan that you agreed to.');
    await undo(thread);
    expect(existsSync(join(path, 'a.txt'))).toBe(false);
    expect(readFileSync(join(path, 'mine.txt'), 'utf8')).toBe('mine\n');
    expect(readFileSync(join(path, 'README.md'), 'utf8')).toBe('edited while the plan waited\n');
  }, 400_000);

  it('ends without a change on a no, also when its workflow was lost while the plan waited', async () => {
    const { git } = await workspace(app, 'declined');
    const { thread, id } = await startTask(app, 'write a.txt a', { workspace: 'declined', plan: true });
    await planned(id, 1);
    const connection = await Connection.connect({ address: app.temporalAddress });
    await clientOf(app, connection).workflow.getHandle(`task/${id}`).terminate();
    await connection.close();
    expect((await app.say(thread, 'no')).kind).toBe('answer');
    await reconcileNow(app);
    const task = await inState(app, id, 'cancelled');
    expect(await plansOf(id)).toHaveLength(1);
    expect(task.step).toBe(1);
    expect(task.reason).toBe('You said no to its plan, so nothing was changed.');
    expect(await report(app, id)).not.toContain('that you agreed to');
    expect(git('status', '--porcelain')).toBe('');
  }, 300_000);

  it('waits on in a worktree after its workflow was lost, and does there what was agreed to', async () => {
    const { path, git } = await workspace(app, 'beside');
    const { thread, id } = await startTask(app, 'look touch early.txt; write a.txt a', {
      workspace: 'beside',
      plan: true,
      worktree: true,
    });
    await planned(id, 1);
    const connection = await Connection.connect({ address: app.temporalAddress });
    const { workflow } = clientOf(app, connection);
    const gone = (await workflow.getHandle(`task/${id}`).describe()).runId;
    await workflow.getHandle(`task/${id}`).terminate();
    await reconcileNow(app);
    await until(
      'it has a workflow again',
      async () => (await workflow.getHandle(`task/${id}`).describe()).runId !== gone,
    );
    await connection.close();
    expect((await app.say(thread, 'ok')).kind).toBe('answer');
    const task = await inState(app, id, 'completed', 90_000);
    expect(existsSync(join(path, 'a.txt'))).toBe(false);
    expect(git('show', '--stat', '--format=', task.result!.changes!.branch!)).toMatch(/a\.txt/);
  }, 300_000);
});

describe('whether a task begins with a plan', () => {
  const created = async (thread: string, name: string, call: object) => {
    const turn = await app.turn(thread, [
      { call: [['task_create', { goal: 'say hello', agent: 'practice', workspace: name, ...call }]] },
      { say: '$LAST' },
    ]);
    await app.ended(thread, turn);
    const { planning, id } = await app.store.db
      .selectFrom('tasks')
      .selectAll()
      .where('workspace', '=', name)
      .orderBy('created_at', 'desc')
      .executeTakeFirstOrThrow();
    // the plan may be there already, as a message of its own
    const said =
      (await app.detail(thread)).items.findLast(({ kind, turn_id }) => kind === 'agent_message' && turn_id === turn)
        ?.detail ?? '';
    return { planning, id, said };
  };
  const end = async (thread: string, id: string) => {
    await app.say(thread, `stop ${id}`);
    await until('it is over', async () => (await findTask(app, id)).ended_at, 60_000);
  };

  it('is said by the chat, else by the model, else by the size of the goal', async () => {
    await workspace(app, 'wishes');
    const thread = await app.thread();
    const long = `say ${'word '.repeat(100)}`;
    const wished = async (call: object) => {
      const { id, planning, said } = await created(thread, 'wishes', call);
      if (planning) expect(said).toContain('It begins with a plan');
      await end(thread, id);
      return planning;
    };
    expect(await wished({})).toBe(false);
    expect(await wished({ plan: true })).toBe(true);
    expect(await wished({ goal: long })).toBe(true);
    expect(await wished({ goal: long, plan: false })).toBe(false);
    await app.say(thread, 'plan on');
    expect(await wished({ plan: false })).toBe(true);
    await app.say(thread, 'plan off');
    expect(await wished({ goal: long, plan: true })).toBe(false);
  }, 200_000);

  it('is said by the first word of a message, which needs no model, and whatever the chat prefers', async () => {
    await workspace(app, 'worded');
    const thread = await app.thread();
    await app.say(thread, 'plan off');
    // a message while its turn runs would steer that
    await app.ended(thread, (await app.say(thread, 'select workspace worded')).turn_id!);
    // as a client says it that knows turns alone
    await app.turn(thread, 'plan: write a.txt a');
    const { id } = await until('there is a task', () =>
      app.store.db
        .selectFrom('tasks')
        .select('id')
        .where('goal', '=', 'write a.txt a')
        .where('workspace', '=', 'worded')
        .executeTakeFirst(),
    );
    await planned(id, 1);
    // asking for something else changes no plan
    expect((await app.say(thread, 'status')).kind).toBe('reply');
    await app.say(thread, 'no');
    await inState(app, id, 'cancelled');
  }, 120_000);
});
