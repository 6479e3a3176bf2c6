import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LogEvent, LogLine } from '../../../src/contracts/kennel.ts';
import type {
  OwnerSchedules,
  OwnerSpend,
  OwnerTasks,
  SchedulePreview,
  TaskDetail,
  TaskDiff,
  TaskLog,
  TaskOrdered,
} from '../../../src/contracts/owner.ts';
import type { ConcludedChanges } from '../../../src/contracts/workspace-ops.ts';
import { onThread } from '../../../src/store/chats/thread-transaction.ts';
import { storeLines } from '../../../src/store/kennel/tasks/task-log.ts';
import { endTask, findTask, type Task } from '../../../src/store/kennel/tasks/tasks.ts';
import { addTaskUsage } from '../../../src/store/kennel/tasks/usage.ts';
import { insertCron } from '../../../src/store/routines/crons.ts';
import { insertReminder } from '../../../src/store/routines/reminders.ts';
import { insertRoutine } from '../../../src/store/routines/routines.ts';
import { closeRun, openRun } from '../../../src/store/routines/runs.ts';
import { addSpending } from '../../../src/store/turns/steps/spending.ts';
import { type OwnerApi, startOwnerApi } from '../../support/owner-api.ts';
import { newThread } from '../../support/thread.ts';

let owner: OwnerApi;
beforeAll(async () => {
  owner = await startOwnerApi();
}, 120_000);
afterAll(() => owner?.close());

const line = (seq: number, event: LogEvent): LogLine => ({ seq, step: 1, at: new Date().toISOString(), ...event });
const edit = (seq: number, detail: string): LogLine =>
  line(seq, { type: 'tool', id: `t${seq}`, title: 'edit', kind: 'edit', status: 'completed', detail });
const CHANGES: ConcludedChanges = {
  commit: 'abc1234',
  branch: 'main',
  files: [
    { path: 'src/a.ts', status: 'modified', added: 1, removed: 1 },
    { path: 'logo.png', status: 'added', added: 0, removed: 0 },
  ],
  added: 1,
  removed: 1,
  test: null,
};
const HUNK = '--- src/a.ts\n+++ src/a.ts\n@@ -1,2 +1,2 @@\n one\n-two\n+three';
async function finish(task: Task): Promise<void> {
  const result = {
    summary: 'done',
    changes: CHANGES,
    tests: { command: 'npm test', ok: true, output: '1 passed' },
    said: 'I changed it.',
  };
  await endTask(owner.api.store.db, task.id, {
    state: 'completed',
    reason: 'done',
    result,
    outboxId: `out_${task.id}`,
  });
}

describe('coding tasks', () => {
  it('are listed page by page, the latest first, and by state', async () => {
    const made = [await owner.task('first'), await owner.task('second'), await owner.task('third')];
    await finish(made[1]!);
    const ids = made.map(({ id }) => id).reverse();
    const first = await owner.get<OwnerTasks>('/v1/owner/tasks?limit=2');
    const second = await owner.get<OwnerTasks>(`/v1/owner/tasks?limit=2&before=${first.next}`);
    expect([...first.tasks, ...second.tasks].map(({ id }) => id)).toEqual(ids);
    expect(second.next).toBeNull();
    const live = await owner.get<OwnerTasks>('/v1/owner/tasks?state=live');
    expect(live.tasks.map(({ id }) => id)).toEqual([made[2]!.id, made[0]!.id]);
    const over = await owner.get<OwnerTasks>('/v1/owner/tasks?state=completed');
    expect(over.tasks).toMatchObject([
      { id: made[1]!.id, files_changed: 2, tests_ok: true, actions: [{ name: 'undo' }, { name: 'redo' }] },
    ]);
    expect((await owner.ask('GET', '/v1/owner/tasks?state=lost')).status).toBe(400);
    for (const task of made) await owner.api.store.db.deleteFrom('tasks').where('id', '=', task.id).execute();
  });

  it('are shown with their result, usage and log, which is read on from any line', async () => {
    const { db } = owner.api.store;
    const task = await owner.task('change a file');
    await storeLines(
      db,
      task,
      [...Array(5).keys()].map((index) => line(index + 1, { type: 'text', messageId: 'm', text: `part ${index}` })),
    );
    await addTaskUsage(
      db,
      task.id,
      [{ model: 'big', calls: 2, inputTokens: 100, outputTokens: 20, microUsd: 5_000 }],
      'UTC',
    );
    await finish(task);
    const detail = await owner.get<TaskDetail>(`/v1/owner/tasks/${task.id}`);
    expect(detail).toMatchObject({
      goal: 'change a file',
      state: 'completed',
      summary: 'done',
      said: 'I changed it.',
      tokens: 120,
      cost_usd: 0.005,
      log_lines: 5,
    });
    expect(detail).toMatchObject({
      changes: { commit: 'abc1234', files_changed: 2 },
      tests: { ok: true },
      usage: [{ model: 'big', calls: 2 }],
    });
    const page = await owner.get<TaskLog>(`/v1/owner/tasks/${task.id}/log?limit=3`);
    expect([page.lines.map(({ seq }) => seq), page.next, page.more, page.total]).toEqual([[1, 2, 3], 3, true, 5]);
    const rest = await owner.get<TaskLog>(`/v1/owner/tasks/${task.id}/log?after=3`);
    expect([rest.lines.map(({ seq }) => seq), rest.next, rest.more]).toEqual([[4, 5], 5, false]);
    const beyond = await owner.get<TaskLog>(`/v1/owner/tasks/${task.id}/log?after=99999999999999`);
    expect([beyond.lines, beyond.next]).toEqual([[], 5]);
    expect((await owner.ask('GET', '/v1/owner/tasks/tsk_none')).status).toBe(404);
  });

  it('show what the agent reported of each file, and say that it is not from git', async () => {
    const task = await owner.task('edit');
    await storeLines(owner.api.store.db, task, [edit(1, `$ edit\n${HUNK}`), edit(2, 'no difference here')]);
    const early = await owner.get<TaskDiff>(`/v1/owner/tasks/${task.id}/diff`);
    expect(early).toMatchObject({
      source: 'log',
      files: [{ path: 'src/a.ts', added: 1, removed: 1, diff: HUNK }],
      note: expect.stringContaining('has not ended'),
    });
    await finish(task);
    const diff = await owner.get<TaskDiff>(`/v1/owner/tasks/${task.id}/diff`);
    expect(diff.files).toMatchObject([
      { path: 'src/a.ts', diff: HUNK },
      { path: 'logo.png', status: 'added', diff: null },
    ]);
    expect([diff.source, diff.note]).toEqual(['log', expect.stringContaining('The agent reported')]);
  });

  it('are paused, resumed and stopped by the words of their chat, and taken back when they are over', async () => {
    const task = await owner.task('long work');
    const order = async (name: string) =>
      await owner.ask<TaskOrdered & { error?: { message: string } }>('POST', `/v1/owner/tasks/${task.id}/${name}`);
    const ordered = async () => (await findTask(owner.api.store.db, task.id))?.ordered;
    expect((await order('undo')).status).toBe(409);
    expect(await order('pause')).toMatchObject({ status: 202, body: { kind: 'task', reply: null } });
    expect(await ordered()).toBe('pause');
    await order('resume');
    expect(await ordered()).toBeNull();
    const told = await owner.ask<TaskOrdered>('POST', `/v1/owner/tasks/${task.id}/tell`, { text: 'use npm' });
    expect(told).toMatchObject({ status: 202, body: { kind: 'reply', reply: expect.stringContaining('hears that') } });
    await order('stop');
    expect(await ordered()).toBe('cancel');
    await finish(task);
    expect((await order('stop')).body.error?.message).toContain('is over');
    const undo = await order('undo');
    expect(undo).toMatchObject({ status: 202, body: { kind: 'turn' } });
    const turn = await owner.api.store.db
      .selectFrom('turns')
      .select('input_summary')
      .where('id', '=', undo.body.turn_id!)
      .executeTakeFirstOrThrow();
    expect(turn.input_summary).toBe(`/undo ${task.id}`);
    // a turn runs, so the words get a reply
    expect((await order('redo')).body.reply).toContain('I am still at work');
  });
});

describe('what is spent', () => {
  it('is added up by day, model, chat and task, and compared with each budget', async () => {
    const { db } = owner.api.store;
    const { threadId, chatId } = await newThread(db);
    await db.updateTable('threads').set({ title: 'Dear chat' }).where('id', '=', threadId).execute();
    await onThread(db, threadId, (tx) =>
      addSpending(tx, { chatId, zone: 'UTC' }, { tokens: 900_000, microUsd: 4_500_000, unpriced: 500_000 }),
    );
    const task = await owner.task('dear task', { threadId });
    const dear = { model: 'dear', calls: 1, inputTokens: 1_000, outputTokens: 1_000, microUsd: 2_000_000, unpriced: 0 };
    await addTaskUsage(db, task.id, [dear], 'UTC');
    const spend = await owner.get<OwnerSpend>('/v1/owner/spend?days=7');
    expect(spend.days).toHaveLength(7);
    expect(spend.days.at(-1)).toMatchObject({ day: spend.today, chats_usd: 4.5, cost_usd: spend.total_today.cost_usd });
    expect(spend.chats[0]).toMatchObject({
      chat: { thread_id: threadId, name: 'Dear chat' },
      cost_usd: 6.5,
      unpriced_usd: 0.5,
    });
    expect(spend.tasks[0]).toMatchObject({ id: task.id, cost_usd: 2 });
    expect(spend.models[0]).toMatchObject({ model: 'dear', cost_usd: 2 });
    const chat = spend.budgets.find(
      ({ scope, unit, chat }) => scope === 'chat' && unit === 'usd' && chat.thread_id === threadId,
    )!;
    expect(chat).toMatchObject({ used: 4.5, limit: owner.api.config.FETCH_MAX_DAY_USD, setting: 'FETCH_MAX_DAY_USD' });
    // two dollars within its first minute: at that pace its budget does not last long
    const ofTask = spend.budgets.find(({ task_id, unit }) => task_id === task.id && unit === 'usd')!;
    expect(Date.parse(ofTask.reached_at!)).toBeGreaterThan(Date.now() - 60_000);
    const fullness = spend.budgets.map(({ used, limit }) => used / limit);
    expect(fullness).toEqual([...fullness].sort((a, b) => b - a));
  });
});

describe('what fires by itself', () => {
  it('is listed with its next firings and its results, the soonest first', async () => {
    const { db } = owner.api.store;
    const { chatId } = await newThread(db);
    const routine = (await insertRoutine(db, {
      id: 'wf_a',
      chatId,
      name: 'tidy',
      description: '',
      workspace: null,
      steps: [],
    }))!;
    await insertCron(db, {
      id: 'cron_a',
      routineId: 'wf_a',
      chatId,
      name: 'nightly',
      schedule: '0 3 * * *',
      timeZone: 'Europe/Berlin',
      enabled: true,
    });
    await insertCron(db, {
      id: 'cron_b',
      routineId: 'wf_a',
      chatId,
      name: 'off',
      schedule: '0 3 * * *',
      timeZone: 'UTC',
      enabled: false,
    });
    const run = {
      id: 'wfr_a',
      routine,
      cronId: 'cron_a',
      workflowId: 'w',
      scheduledFor: new Date(),
      note: null,
      given: { inputs: {}, sources: [] },
    };
    await openRun(db, run);
    await closeRun(db, 'wfr_a', 'completed', 'All is tidy.');
    const due = new Date(Date.now() + 60_000);
    await db.transaction().execute((tx) => insertReminder(tx, { chatId, what: 'call Ann', dueAt: due, sources: [] }));
    const { schedules } = await owner.get<OwnerSchedules>('/v1/owner/schedules');
    expect(schedules.map(({ kind, name, next }) => [kind, name, next.length])).toEqual([
      ['reminder', 'call Ann', 1],
      ['cron', 'nightly', 5],
      ['cron', 'off', 0],
    ]);
    expect(schedules[1]).toMatchObject({
      what: 'tidy',
      expression: '0 3 * * *',
      runs: [{ status: 'completed', summary: 'All is tidy.' }],
    });
    expect(schedules[2]!.actions.map(({ name }) => name)).toEqual(['run', 'resume', 'remove']);
    expect((await owner.ask('DELETE', schedules[0]!.actions[0]!.path)).status).toBe(200);
    expect((await owner.get<OwnerSchedules>('/v1/owner/schedules')).schedules).toHaveLength(2);
    expect((await owner.ask('POST', '/v1/owner/schedules/cron_none/run')).status).toBe(404);
  });

  const preview = (text: string, time_zone = 'Europe/Berlin') =>
    owner.ask<SchedulePreview & { error?: { message: string } }>('POST', '/v1/owner/schedules/preview', {
      text,
      time_zone,
    });

  it('is shown before it is made: fields, words that say how often, and words that say when', async () => {
    const fields = await preview('30 8 * * MON-FRI');
    expect(fields.body).toMatchObject({ kind: 'cron', expression: '30 8 * * MON-FRI', what: '' });
    expect(fields.body.firings).toHaveLength(5);
    const words = await preview('every weekday at 8:30, tell me which day it is');
    expect(words.body).toMatchObject({ kind: 'cron', what: 'tell me which day it is', firings: fields.body.firings });
    expect(words.body.described[0]).toMatch(/ 08:30 \(Europe\/Berlin\)$/);
    expect((await preview('remind me to stretch in 20 minutes')).body).toMatchObject({ kind: 'once', what: 'stretch' });
  });

  it('is refused with what is wrong and an example', async () => {
    expect((await preview('61 * * * *')).body.error?.message).toMatch(
      /^The schedule is not right: .+Write for example/,
    );
    expect((await preview('whenever you like')).body.error?.message).toMatch(/^There is no time in that/);
    expect((await preview('every day at 8', 'Mars/Base')).body.error?.message).toContain('is not an IANA time zone');
  });

  it('is asked for in words, in the chat that is named or at the terminal', async () => {
    const { status, body } = await owner.ask<{ kind: string; thread_id: string }>('POST', '/v1/owner/schedules', {
      text: 'remind me to stretch in 20 minutes',
    });
    expect([status, body.kind]).toEqual([202, 'reply']);
    const { schedules } = await owner.get<OwnerSchedules>('/v1/owner/schedules');
    expect(schedules.find(({ name }) => name === 'stretch')).toMatchObject({
      kind: 'reminder',
      chat: { thread_id: body.thread_id, channel: 'console' },
    });
  });
});
