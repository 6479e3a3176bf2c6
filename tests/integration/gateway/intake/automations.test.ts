import { randomUUID } from 'node:crypto';
import { type Client, Connection, type ScheduleHandle, ScheduleOverlapPolicy } from '@temporalio/client';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { specOf } from '../../../../src/adapters/schedule-spec.ts';
import { scheduleId } from '../../../../src/contracts/ids.ts';
import { nextFirings } from '../../../../src/domain/cron.ts';
import { chatOfThread } from '../../../../src/store/chats/threads/threads.ts';
import { insertAutomation } from '../../../../src/store/routines/automations.ts';
import { script, startTestApp, type TestApp } from '../../../support/app.ts';
import { clientOf } from '../../../support/temporal-client.ts';
import { until } from '../../../support/until.ts';

interface Automation {
  id: string;
  status: 'active' | 'paused';
  rrule: string;
  next_run_at?: string;
  updated_at: string;
  thread_id: string;
  timezone: string;
}
interface Run {
  id: string;
  status: string;
  task_id?: string;
  thread_id?: string;
  turn_id?: string;
  error?: string;
}

let app: TestApp;
let connection: Connection;
let temporal: Client;
beforeAll(async () => {
  app = await startTestApp({ FETCH_TIME_ZONE: 'Europe/Berlin' });
  connection = await Connection.connect({ address: app.temporalAddress });
  temporal = clientOf(app, connection);
});
afterAll(async () => {
  await connection?.close();
  await app?.close();
});

async function ask<T>(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<T> {
  const answer = await app.request(method, `/v1/automations${path}`, body, headers);
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer.body as T;
}
const HOURLY = { name: 'Hourly', prompt: script([{ say: 'an hour has passed' }]), rrule: 'FREQ=HOURLY' };
const create = (fields: Record<string, unknown> = {}) => ask<Automation>('POST', '', { ...HOURLY, ...fields });
const scheduleOf = (id: string): ScheduleHandle => temporal.schedule.getHandle(scheduleId(id));
/** The server shows a change a moment later. */
const isPaused = (id: string, paused: boolean) =>
  until(`paused is ${paused}`, async () => (await scheduleOf(id).describe()).state.paused === paused);
const ended = (id: string) =>
  until('a run has ended', async () =>
    (await ask<Run[]>('GET', `/${id}/runs`)).find(({ status }) => !['queued', 'running'].includes(status)),
  );

describe('an automation', () => {
  it('is a schedule of Temporal in its time zone, with the policies of every cron', async () => {
    const { id, next_run_at, timezone } = await create({ rrule: 'FREQ=WEEKLY;BYDAY=MO,WE;BYHOUR=9;BYMINUTE=30' });
    const { spec, policies, info, state } = await scheduleOf(id).describe();
    expect(timezone).toBe('Europe/Berlin');
    expect([spec.timezone, state.paused, policies.overlap]).toEqual([
      'Europe/Berlin',
      false,
      ScheduleOverlapPolicy.ALLOW_ALL,
    ]);
    expect(policies.catchupWindow).toBeGreaterThan(0);
    expect(info.nextActionTimes.map((at) => at.toISOString()).slice(0, 4)).toEqual(
      nextFirings('30 9 * * MON,WED', 'Europe/Berlin', new Date(), 4).map((at) => at.toISOString()),
    );
    expect(next_run_at).toBe(info.nextActionTimes[0]!.toISOString());
  });

  it('fires every so many hours on the days that it names, as we say that it does', async () => {
    const { id } = await create({ rrule: 'FREQ=HOURLY;INTERVAL=5;BYDAY=SA,SU', timezone: 'America/New_York' });
    const { schedule } = await app.store.db
      .selectFrom('crons')
      .select('schedule')
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    const { info } = await scheduleOf(id).describe();
    const expected = nextFirings(schedule, 'America/New_York', new Date(), info.nextActionTimes.length);
    expect(info.nextActionTimes.length).toBeGreaterThan(4);
    expect(info.nextActionTimes.map((at) => at.toISOString())).toEqual(expected.map((at) => at.toISOString()));
  });

  it.each([
    ['0 9 L * *', 'UTC'],
    ['30 2 L * *', 'Europe/Berlin'],
    ['0 9 * * MON#2,5L', 'America/New_York'],
    ['15 1 L,29 2 *', 'UTC'],
    ['0 0 1-15 * SUN#L,WED#3', 'Africa/Cairo'],
    ['0 12 L * FRI', 'UTC'],
    ['0 6 * 2 SAT#5', 'UTC'],
  ])('%s in %s fires in Temporal when we say that it does', async (schedule, zone) => {
    const id = `placed-${randomUUID()}`;
    const handle = await temporal.schedule.create({
      scheduleId: id,
      spec: specOf(schedule, zone, new Date()),
      action: { type: 'startWorkflow', workflowType: 'none', taskQueue: 'none' },
      state: { paused: true },
    });
    const { info } = await handle.describe();
    await handle.delete();
    const expected = nextFirings(schedule, zone, new Date(), info.nextActionTimes.length);
    expect(info.nextActionTimes.length).toBeGreaterThan(1);
    expect(info.nextActionTimes.map((at) => at.toISOString())).toEqual(expected.map((at) => at.toISOString()));
  });

  it('shows a pause of the Web UI at once, and keeps it', async () => {
    const { id } = await create();
    // a change of ours counts for two seconds, because its schedule may show it late
    await app.store.db
      .updateTable('crons')
      .set({ updated_at: new Date(0) })
      .where('id', '=', id)
      .execute();
    await scheduleOf(id).pause('by hand');
    const shows = (status: string) =>
      until(
        `it is ${status}`,
        async () => (await ask<Automation[]>('GET', '')).find((each) => each.id === id && each.status === status),
        5_000,
      );
    expect(await shows('paused')).not.toHaveProperty('next_run_at');
    expect(await app.store.db.selectFrom('crons').select('enabled').where('id', '=', id).executeTakeFirst()).toEqual({
      enabled: false,
    });
    await scheduleOf(id).unpause();
    expect(await shows('active')).toHaveProperty('next_run_at');
  });

  it('pauses and resumes its schedule', async () => {
    const { id } = await create();
    expect(await ask('POST', `/${id}/pause`)).toMatchObject({ status: 'paused' });
    await isPaused(id, true);
    expect(await ask('PATCH', `/${id}`, { status: 'active' })).toMatchObject({ status: 'active' });
    await isPaused(id, false);
  });

  it('runs while it is paused, and its result goes to its thread', async () => {
    const thread = await app.thread();
    const { id, thread_id } = await create({ status: 'paused', thread_id: thread });
    expect(thread_id).toBe(thread);
    const run = await ask<Run>('POST', `/${id}/run`);
    const done = await ended(id);
    expect(done).toMatchObject({ id: run.id, status: 'completed', task_id: expect.stringMatching(/^task_/) });
    expect((await app.request('GET', `/v1/tasks/${done.task_id}`)).body).toMatchObject({
      status: 'completed',
      result_summary: 'an hour has passed',
      thread_id: done.thread_id,
    });
    const told = await until('the result is told', async () =>
      (await app.detail(thread)).items.find(
        ({ kind, detail }) => kind === 'agent_message' && detail?.startsWith('Hourly:'),
      ),
    );
    expect(told.detail).toContain('an hour has passed');
    expect(await ask('GET', `/${id}`)).toMatchObject({ status: 'paused', last_run_at: expect.any(String) });
  });

  it('runs when its schedule fires, and a run that failed says why', async () => {
    const { id } = await create({ prompt: script([{ fail: 401 }]) });
    await scheduleOf(id).trigger();
    expect(await ended(id)).toMatchObject({ status: 'failed', error: expect.stringMatching(/./) });
  });

  it('takes braces in its prompt as words', async () => {
    const { id } = await create({ prompt: `${HOURLY.prompt.replace('passed', 'passed {{input.x}} {{x}}')}` });
    await ask('POST', `/${id}/run`);
    expect(await ended(id)).toMatchObject({ status: 'completed' });
  });

  it('is in the list of schedules of its chat, which can end it', async () => {
    const thread = await app.thread();
    const { id } = await create({ name: 'Tea time', rrule: 'FREQ=HOURLY;INTERVAL=2', thread_id: thread });
    await app.say(thread, 'schedules');
    const listed = () =>
      app.detail(thread).then(({ items }) => items.findLast(({ kind }) => kind === 'agent_message')?.detail ?? '');
    expect(
      await until('the list is shown', async () => ((await listed()).includes('Tea time') ? listed() : null)),
    ).toMatch(/^1\. Tea time: every 2 hours, next /);
    const { turn_id } = await app.say(thread, 'schedules remove tea time');
    await app.ended(thread, turn_id!);
    expect((await app.request('GET', `/v1/automations/${id}`)).status).toBe(404);
    await expect(scheduleOf(id).describe()).rejects.toThrow(/not found/i);
    expect(await app.store.db.selectFrom('routines').select('id').where('id', '=', `wf_${id}`).execute()).toEqual([]);
  });

  it('is made once for one key, and refused for another body', async () => {
    const headers = { 'Idempotency-Key': 'automation-1' };
    const [first, second] = [
      await ask<Automation>('POST', '', HOURLY, headers),
      await ask<Automation>('POST', '', HOURLY, headers),
    ];
    expect(second.id).toBe(first.id);
    expect((await app.request('POST', '/v1/automations', { ...HOURLY, name: 'Other' }, headers)).status).toBe(422);
    const runs = await Promise.all(
      [1, 2, 3].map(() => ask<Run>('POST', `/${first.id}/run`, undefined, { 'Idempotency-Key': 'run-1' })),
    );
    expect(new Set(runs.map(({ id }) => id)).size).toBe(1);
    await ended(first.id);
    expect(await ask('GET', `/${first.id}/runs`)).toHaveLength(1);
  });
});

describe('over kills', () => {
  it('a run goes on after every role was killed, and one that was only asked for begins', async () => {
    const { id } = await create({ prompt: script([{ say: 'slow '.repeat(40), pace: 50 }]) });
    const run = await ask<Run>('POST', `/${id}/run`);
    await until('its task runs', async () =>
      (await ask<Run[]>('GET', `/${id}/runs`)).find(({ status }) => status === 'running'),
    );
    app.kill('worker');
    app.kill('gateway');
    app.kill('api');
    await app.whenReady();
    await until('the API answers', async () => (await app.request('GET', '/health')).status === 200);
    expect(await ended(id)).toMatchObject({ id: run.id, status: 'completed' });
    expect(await ask('GET', `/${id}/runs`)).toHaveLength(1);
  });

  it('what the server did not take is sent later, and a pause in the Web UI that nobody has looked at is kept', async () => {
    const [changed, paused, asked] = await Promise.all([create(), create(), create()]);
    // as a kill between the row and the schedule leaves them
    const lost = { id: randomUUID() };
    const thread = await app.thread();
    const args = { prompt: HOURLY.prompt, cwds: [], allow_shell: false, auto_approve: false };
    await insertAutomation(app.store.db, {
      ...{ ...lost, name: 'Lost', rrule: 'FREQ=HOURLY', schedule: '1 * * * *', timeZone: 'UTC', enabled: false, args },
      ...{
        chatId: await chatOfThread(app.store.db, thread),
        threadId: thread,
        key: { id: lost.id, fingerprint: null },
      },
    });
    await app.store.db
      .updateTable('crons')
      .set({ unsent: true, enabled: false })
      .where('id', '=', changed!.id)
      .execute();
    await scheduleOf(paused!.id).pause('by hand');
    await sql`update crons set created_at = now() - interval '1 hour', updated_at = now() - interval '1 hour' where rrule is not null`.execute(
      app.store.db,
    );
    // a run whose workflow was never started
    const run = await app.store.db
      .selectFrom('crons')
      .selectAll()
      .where('id', '=', asked!.id)
      .executeTakeFirstOrThrow();
    const row = {
      id: 'run-unsent',
      routine_id: run.routine_id,
      routine_name: 'Hourly',
      chat_id: run.chat_id,
      cron_id: run.id,
      workflow_id: 'routine/run-unsent',
    };
    await app.store.db
      .insertInto('routine_runs')
      .values({
        ...row,
        scheduled_for: null,
        status: 'running',
        summary: null,
        results: '[]',
        inputs: '{}',
        ended_at: null,
        started_at: new Date(Date.now() - 60_000),
      })
      .execute();
    app.kill('gateway');
    for (const { id } of [lost, changed!]) await isPaused(id, true);
    await until('the row is as its schedule says', async () => {
      const { enabled } = await app.store.db
        .selectFrom('crons')
        .select('enabled')
        .where('id', '=', paused!.id)
        .executeTakeFirstOrThrow();
      return !enabled;
    });
    expect(await ended(asked!.id)).toMatchObject({ id: 'run-unsent', status: 'completed' });
  });
});

describe('the budget of a schedule', () => {
  it('counts its runs together, stops them with one question, and lets them go on after a yes', async () => {
    const { db } = app.store;
    const thread = await app.thread();
    const { id } = await create({ name: 'Dear', thread_id: thread });
    const spend = (usd: number) =>
      db
        .updateTable('schedule_spending')
        .set({ micro_usd: usd * 1_000_000 })
        .where('cron_id', '=', id)
        .execute();
    const asked = (count: number) =>
      until(`${count} questions are open or answered`, async () => {
        const all = await db
          .selectFrom('questions')
          .select(['prompt', 'state', 'delivered_at'])
          .where('thread_id', '=', thread)
          .orderBy('asked_at')
          .execute();
        return all.length === count && all.at(-1)!.delivered_at ? all : null;
      });
    const completed = (count: number) =>
      until(`${count} runs have completed`, async () => {
        const runs = await ask<Run[]>('GET', `/${id}/runs`);
        return runs.length === count && runs.every(({ status }) => status === 'completed');
      });
    const fired = async (times: number) => {
      await scheduleOf(id).trigger();
      await until(`it has fired ${times} times`, async () => {
        const { recentActions } = (await scheduleOf(id).describe()).info;
        if (recentActions.length < times) return false;
        const { workflow } = recentActions.at(-1)!.action;
        return (await temporal.workflow.getHandle(workflow.workflowId).describe()).status.name !== 'RUNNING';
      });
    };
    await ask('POST', `/${id}/run`);
    await completed(1);
    expect(
      await db.selectFrom('schedule_spending').select(['account', 'kind']).where('cron_id', '=', id).execute(),
    ).toEqual([{ account: await chatOfThread(db, thread), kind: 'turns' }]);

    await spend(6);
    for (const times of [1, 2]) await fired(times);
    expect((await asked(1)).map(({ prompt }) => prompt)).toEqual([
      'The schedule “Dear” has spent $6 of $5 today. Continue for $5 more?',
    ]);
    await completed(1);
    expect(await app.say(thread, 'yes')).toMatchObject({ kind: 'reply' });
    const { items } = await app.detail(thread);
    expect(items.at(-1)?.detail).toBe('It may spend more. It runs again at its next time.');
    await until('it is allowed', async () => (await asked(1))[0]!.state === 'answered');
    await fired(3);
    await completed(2);

    // in the middle of a run, too, in the chat that gets its results
    await spend(12);
    await ask('POST', `/${id}/run`);
    expect((await asked(2)).at(-1)!.prompt).toBe(
      'The schedule “Dear” has spent $12 of $11 today. Continue for $5 more?',
    );
    await app.say(thread, 'yes');
    await completed(3);
    expect(await ask('GET', `/${id}`)).toMatchObject({ estimate: expect.stringMatching(/^It will (cost|use) about /) });

    // a question of a run that is stopped is asked no more
    await spend(18);
    await ask('POST', `/${id}/run`);
    await asked(3);
    const [run] = await ask<Run[]>('GET', `/${id}/runs`);
    await app.request('POST', `/v1/threads/${run!.thread_id}/turns/${run!.turn_id}/interrupt`, {});
    await until('it is withdrawn', async () => (await asked(3)).at(-1)!.state === 'cancelled');

    // what it asked on a day that is over is closed when it is to run again
    const past = { id: `${id}_budget1_past`, state: 'open', decision: null, answer: null, decided_at: null };
    await sql`
      insert into questions
      select (jsonb_populate_record(q, ${JSON.stringify(past)}::jsonb
        || jsonb_build_object('budget', q.budget || '{"period": "2026-01-01"}'))).*
      from questions q where thread_id = ${thread} and state = 'cancelled'`.execute(db);
    await fired(4);
    const { state } = await db
      .selectFrom('questions')
      .select('state')
      .where('id', '=', past.id)
      .executeTakeFirstOrThrow();
    expect(state).toBe('expired');
  });
});
