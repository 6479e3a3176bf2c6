import {
  type Client,
  Connection,
  type ScheduleHandle,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
} from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scheduleId } from '../../../src/contracts/ids.ts';
import { arrivalSignal } from '../../../src/contracts/signals.ts';
import { script, startTestApp, type TestApp } from '../../support/app.ts';
import { clientOf } from '../../support/temporal-client.ts';
import { workflowOfThread } from '../../support/thread.ts';
import { until } from '../../support/until.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
let app: TestApp;
let connection: Connection;
let temporal: Client;
const connect = async () => {
  connection = await Connection.connect({ address: app.temporalAddress });
  temporal = clientOf(app, connection);
};
beforeAll(async () => {
  app = await startTestApp({ FETCH_MAX_HISTORY_EVENTS: '40' });
  await connect();
});
afterAll(async () => {
  await connection?.close();
  await app?.close();
});

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
const results = (thread: string) =>
  app.store.db
    .selectFrom('outbox')
    .selectAll()
    .where('thread_id', '=', thread)
    .where('kind', '=', 'result')
    .where('state', '=', 'sent')
    .execute();
const firstResult = (thread: string, ms?: number) =>
  until('a result was delivered', async () => (await results(thread))[0], ms);
const workflowOf = (thread: string): Promise<string> => workflowOfThread(app.store.db, thread);

describe('a prompt on a schedule', () => {
  const cronOf = async (thread: string) =>
    await app.store.db
      .selectFrom('crons')
      .innerJoin('threads', 'threads.chat_id', 'crons.chat_id')
      .selectAll('crons')
      .where('threads.id', '=', thread)
      .executeTakeFirst();
  const sent = async (thread: string) =>
    (
      await app.store.db
        .selectFrom('outbox')
        .select(['body', 'kind', 'unasked'])
        .where('thread_id', '=', thread)
        .where('state', '=', 'sent')
        .orderBy('created_at')
        .execute()
    ).filter(({ body }) => body !== 'done');
  const turnsOf = async (thread: string) => (await app.detail(thread)).turns.map(({ status }) => status);

  it('runs as a turn of its chat when the chat is free, over kills, and says its result once', async () => {
    const thread = await app.thread();
    const prompt = script([{ say: 'It rains. <internal>as yesterday</internal>' }]);
    expect(await call(thread, 'cron_create', { prompt, schedule: '0 9 * * *', name: 'Rain' })).toMatchObject({
      ok: true,
      output: expect.stringMatching(/^Scheduled "Rain": every day at 9:00, next /),
    });
    const busy = await app.turn(thread, [{ call: [['ask_user', { question: 'Which one?' }]] }, { say: 'done' }]);
    await until('it is asked', async () => (await app.detail(thread)).pending_user_inputs[0]);
    const cron = (await cronOf(thread))!;
    await temporal.schedule.getHandle(scheduleId(cron.id)).trigger();
    await until('the run waits for the chat', async () =>
      (await app.store.db.selectFrom('routine_runs').select('results').where('cron_id', '=', cron.id).execute()).find(
        ({ results: of }) => of.length === 1,
      ),
    );
    expect(await turnsOf(thread)).toEqual(['completed', 'in_progress']);
    app.kill('worker');
    await app.say(thread, 'The first');
    await app.ended(thread, busy);
    const [result] = await until('its result is told', async () => {
      const told = (await sent(thread)).filter(({ body }) => body.startsWith('It rains'));
      return told.length > 0 ? told : null;
    });
    expect(result).toEqual({ body: 'It rains.', kind: 'answer', unasked: 'routine' });
    const run = await until('the run is over', async () =>
      app.store.db
        .selectFrom('routine_runs')
        .selectAll()
        .where('cron_id', '=', cron.id)
        .where('status', '!=', 'running')
        .executeTakeFirst(),
    );
    expect(run).toMatchObject({ status: 'completed', results: [{ ok: true }] });
    expect(await turnsOf(thread)).toEqual(['completed', 'completed', 'completed']);
    expect((await sent(thread)).filter(({ body }) => /rains/.test(body))).toHaveLength(1);
    const [turn] = await app.store.db.selectFrom('turns').select('id').where('run_id', '=', run.id).execute();
    expect(
      await app.store.db.selectFrom('schedule_spending').select('tokens').where('cron_id', '=', cron.id).execute(),
    ).toHaveLength(1);
    expect(turn).toBeDefined();
  });

  it('runs after another one that is due at the same moment in its chat, and both say their result once', async () => {
    const thread = await app.thread();
    for (const name of ['Rain', 'Wind'])
      await call(thread, 'cron_create', { prompt: script([{ say: `${name} comes.` }]), schedule: '0 9 * * *', name });
    const crons = await app.store.db
      .selectFrom('crons')
      .innerJoin('threads', 'threads.chat_id', 'crons.chat_id')
      .select('crons.id')
      .where('threads.id', '=', thread)
      .execute();
    await Promise.all(crons.map(({ id }) => temporal.schedule.getHandle(scheduleId(id)).trigger()));
    await until('both runs are over', async () => {
      const of = crons.map(({ id }) => id);
      const runs = app.store.db.selectFrom('routine_runs').select('status').where('cron_id', 'in', of);
      return (await runs.execute()).filter(({ status }) => status === 'completed').length === 2;
    });
    const told = await until('both are told', async () => {
      const bodies = (await sent(thread)).map(({ body }) => body).filter((body) => body.endsWith('comes.'));
      return bodies.length >= 2 ? bodies : null;
    });
    expect(told.toSorted()).toEqual(['Rain comes.', 'Wind comes.']);
    expect(await turnsOf(thread)).toEqual(['completed', 'completed', 'completed', 'completed']);
  });

  it('sends nothing when all of its answer is internal, and can be changed and ended', async () => {
    const thread = await app.thread();
    const quiet = script([{ say: '<internal>nothing new</internal>' }]);
    await call(thread, 'cron_create', { prompt: 'later', schedule: 'every 90 minutes', name: 'Watch' });
    expect(await call(thread, 'cron_update', { cron: 'watch', prompt: quiet })).toMatchObject({ ok: true });
    expect(await call(thread, 'cron_update', { cron: 'watch', inputs: { a: 'b' } })).toMatchObject({ ok: false });
    const cron = (await cronOf(thread))!;
    expect(cron.schedule).toMatch(/^@every 5400s\/\d+s$/);
    const handle = temporal.schedule.getHandle(scheduleId(cron.id));
    const { info } = await handle.describe();
    expect(Math.abs(info.nextActionTimes[0]!.getTime() - cron.created_at.getTime() - 90 * MINUTE_MS)).toBeLessThan(
      5_000,
    );
    await handle.trigger();
    await until('the run is over', async () =>
      app.store.db
        .selectFrom('routine_runs')
        .select('id')
        .where('cron_id', '=', cron.id)
        .where('status', '=', 'completed')
        .executeTakeFirst(),
    );
    expect(await sent(thread)).toEqual([]);
    expect(await call(thread, 'cron_delete', { cron: 'watch' })).toMatchObject({ ok: true });
    await expect(handle.describe()).rejects.toThrow(ScheduleNotFoundError);
    expect(await app.store.db.selectFrom('routines').select('id').where('id', '=', cron.routine_id).execute()).toEqual(
      [],
    );
  });

  it.each([
    ['25 6 * * *', 'America/New_York'],
    ['25 6 * * *', 'Pacific/Auckland'],
    ['*/40 5-7 * * MON-FRI', 'Asia/Kolkata'],
    ['every 90 minutes', 'UTC'],
    ['every 24 hours', 'America/New_York'],
    ['2048-11-30T09:00', 'Europe/Berlin'],
  ])(
    '%s in %s keeps its next runs when it is renamed, also where its schedule is said again',
    async (schedule, timezone) => {
      const thread = await app.thread();
      await call(thread, 'cron_create', { prompt: 'look', schedule, timezone, name: 'Before' });
      const { id, created_at } = (await cronOf(thread))!;
      const runs = async () => {
        const { info } = await temporal.schedule.getHandle(scheduleId(id)).describe();
        return info.nextActionTimes.slice(0, 3).map((at) => at.toISOString());
      };
      const before = await runs();
      expect(before.length).toBeGreaterThan(0);
      // an interval that began anew would begin at another second
      await until('a second has passed', () => Date.now() - created_at.getTime() > 1_500);
      for (const change of [{ name: 'After' }, { name: 'Later', schedule, timezone }, { prompt: 'look again' }]) {
        expect(await call(thread, 'cron_update', { cron: id, ...change })).toMatchObject({ ok: true });
        expect(await runs()).toEqual(before);
      }
    },
  );

  it('runs once at a local time, and is gone after that', async () => {
    const thread = await app.thread();
    const at = new Date(Date.now() + 15_000).toISOString().slice(0, 19);
    const prompt = script([{ say: 'It is time.' }]);
    expect(await call(thread, 'cron_create', { prompt, schedule: at, timezone: 'UTC' })).toMatchObject({ ok: true });
    const { id } = (await cronOf(thread))!;
    await until('it is told', async () => (await sent(thread)).find(({ body }) => body === 'It is time.'));
    await until('it is gone', async () => (await cronOf(thread)) === undefined);
    await until('its schedule is gone', () =>
      temporal.schedule
        .getHandle(scheduleId(id))
        .describe()
        .then(
          () => false,
          (error) => error instanceof ScheduleNotFoundError,
        ),
    );
    const over = await call(thread, 'cron_create', { prompt, schedule: '2020-01-01T00:00' });
    expect(over).toMatchObject({ ok: false, output: expect.stringContaining('is over') });
    expect(await call(thread, 'cron_create', { schedule: '0 9 * * *' })).toMatchObject({
      ok: false,
      output: 'Give either a prompt or a workflow.',
    });
  });

  it('that fires once waits while a budget is used up, and then runs', async () => {
    const thread = await app.thread();
    const limit = (tokens: string | null) =>
      app.request('PATCH', '/v1/owner/settings', { settings: { FETCH_MAX_DAY_TOKENS: tokens } });
    const at = new Date(Date.now() + 15_000).toISOString().slice(0, 19);
    const prompt = script([{ say: 'It is time, at last.' }]);
    expect(await call(thread, 'cron_create', { prompt, schedule: at, timezone: 'UTC' })).toMatchObject({ ok: true });
    try {
      await limit('10');
      const question = await until('it is asked', async () =>
        (await sent(thread)).find(({ kind }) => kind === 'question'),
      );
      expect(question.body).toContain('It waits until then; without an answer it runs when the day is over.');
      await limit(null);
      await app.say(thread, 'yes');
      await until('it is told', async () => (await sent(thread)).find(({ body }) => body === 'It is time, at last.'));
      await until('it is gone', async () => (await cronOf(thread)) === undefined);
    } finally {
      await limit(null);
    }
  });
});

describe('a workflow of the person', () => {
  it('runs its steps in order and delivers its result to the chat once', async () => {
    const thread = await app.thread();
    const made = await call(thread, 'workflow_create', {
      name: 'Tidy',
      steps: ['workflow_list|Look', { tool: 'cron_list', name: 'Look again' }],
    });
    expect(made).toMatchObject({ ok: true, output: expect.stringContaining('Saved the routine "Tidy"') });
    expect(await call(thread, 'workflow_run', { workflow: 'tidy' })).toMatchObject({ ok: true });
    const result = await firstResult(thread);
    expect(result).toMatchObject({
      attempts: 1,
      body: expect.stringMatching(/^Tidy:\n/),
    });
    expect(result.body).toBe('Tidy:\n\nThere are no schedules in this chat.');
    const told = (await app.detail(thread)).items.filter(
      (item) => item.kind === 'agent_message' && item.detail === result.body,
    );
    expect(told).toHaveLength(1);
    expect(await results(thread)).toHaveLength(1);
  });

  it('stops at the first step that fails and says which', async () => {
    const thread = await app.thread();
    const steps = ['workflow_list', { tool: 'read_output', name: 'Read', args: { callId: 'none' } }, 'cron_list'];
    await call(thread, 'workflow_create', { name: 'broken', steps });
    await call(thread, 'workflow_run', { workflow: 'broken' });
    const { body } = await firstResult(thread);
    expect(body).toMatch(/^broken did not work: 1 of 3 steps done, step 2 \(Read\) failed/);
    expect(body).toMatch(/There is no tool call none/);
    expect(body).not.toMatch(/cron_list/);
    const { workflow_id } = await app.store.db
      .selectFrom('routine_runs')
      .select('workflow_id')
      .where('routine_name', '=', 'broken')
      .executeTakeFirstOrThrow();
    await expect(temporal.workflow.getHandle(workflow_id).result()).rejects.toMatchObject({
      cause: { type: 'StepFailed', message: 'Step 2 of 3 (read_output) did not succeed.' },
    });
  });

  it('refuses steps that could not run, and says why for each', async () => {
    const thread = await app.thread();
    const steps = ['ask_user', 'workflow_run', 'no_such_tool', { tool: 'read_output', args: {} }];
    const { ok, output } = await call(thread, 'workflow_create', { name: 'bad', steps });
    expect(ok).toBe(false);
    expect(output).toMatch(/Step 1 \(ask_user\): this tool cannot be a step/);
    expect(output).toMatch(/Step 2 \(workflow_run\): this tool cannot be a step/);
    expect(output).toMatch(/Step 3 \(no_such_tool\): there is no such tool/);
    expect(output).toMatch(/Step 4 \(read_output\): the arguments are not right/);
  });

  it('refuses schedules that are wrong, and says what is wrong', async () => {
    const thread = await app.thread();
    await call(thread, 'workflow_create', { name: 'tidy', steps: ['workflow_list'] });
    const refused = async (schedule: string, more = {}) => {
      const { ok, output } = await call(thread, 'cron_create', { workflow: 'tidy', schedule, ...more });
      expect(ok).toBe(false);
      return output;
    };
    expect(await refused('every day')).toMatch(/five fields/);
    expect(await refused('61 * * * *')).toMatch(/The schedule is not right/);
    expect(await refused('0 0 30 2 *')).toMatch(/never fires/);
    expect(await refused('0 9 * * FRY')).toMatch(/"FRY".*is not a month or weekday name/);
    expect(await refused('0 9 * * *', { timezone: 'Mars/Olympus' })).toMatch(/not an IANA time zone/);
    expect(await refused('0 9 * * *', { workflow: 'tiddy' })).toMatch(/There is no routine "tiddy".*tidy/);
  });

  it('defect 13: fires by its cron with no client attached, is listed with its result, and no more fires once it is deleted', async () => {
    const thread = await app.thread();
    await call(thread, 'workflow_create', { name: 'tidy', steps: ['workflow_list'] });
    const turn = await app.turn(thread, [
      { call: [['cron_create', { workflow: 'tidy', schedule: '*/1 * * * *', name: 'often' }]] },
      { say: 'done' },
    ]);
    const approval = await until('so often needs a yes', async () => (await app.detail(thread)).pending_approvals[0]);
    await app.request('POST', `/v1/approvals/${approval.id}`, { decision: 'allow' });
    await app.ended(thread, turn);
    expect((await call(thread, 'cron_list', {})).output).toMatch(/often .*next /);
    const cron = await app.store.db
      .selectFrom('crons')
      .selectAll()
      .where('name', '=', 'often')
      .executeTakeFirstOrThrow();
    expect((await firstResult(thread, 75_000)).body).toMatch(/^tidy:\n/);
    expect((await call(thread, 'cron_list', {})).output).toMatch(
      /often .*next .*; last .*: completed, 1 of 1 steps done/,
    );
    expect(await call(thread, 'cron_delete', { cron: 'often' })).toMatchObject({ ok: true });
    await expect(temporal.schedule.getHandle(scheduleId(cron.id)).describe()).rejects.toBeInstanceOf(
      ScheduleNotFoundError,
    );
    expect((await call(thread, 'cron_list', {})).output).toBe('There are no schedules in this chat.');
    const run = await app.store.db
      .selectFrom('routine_runs')
      .selectAll()
      .where('cron_id', '=', cron.id)
      .executeTakeFirstOrThrow();
    expect(run.scheduled_for?.getUTCSeconds()).toBe(0);
  });
});

describe('a cron', () => {
  /** A cron of every hour that was due twenty minutes ago, and ran four hours before that. */
  async function hourly(name: string): Promise<{ thread: string; cron: string; handle: ScheduleHandle }> {
    const thread = await app.thread();
    const due = new Date(Math.floor(Date.now() / MINUTE_MS - 20) * MINUTE_MS);
    await call(thread, 'workflow_create', { name, steps: ['workflow_list'] });
    expect(
      await call(thread, 'cron_create', { workflow: name, schedule: `${due.getUTCMinutes()} * * * *` }),
    ).toMatchObject({ ok: true });
    const { id } = await app.store.db
      .selectFrom('crons')
      .select('id')
      .where('name', '=', name)
      .executeTakeFirstOrThrow();
    await app.store.db
      .updateTable('crons')
      .set({ enabled_since: new Date(due.getTime() - 24 * HOUR_MS), last_fired: new Date(due.getTime() - 4 * HOUR_MS) })
      .where('id', '=', id)
      .execute();
    return { thread, cron: id, handle: temporal.schedule.getHandle(scheduleId(id)) };
  }
  const catchUp = (handle: ScheduleHandle) =>
    handle.backfill({
      start: new Date(Date.now() - 3 * HOUR_MS),
      end: new Date(),
      overlap: ScheduleOverlapPolicy.ALLOW_ALL,
    });
  const runsOf = (cron: string) => temporal.workflow.list({ query: `WorkflowId STARTS_WITH 'cron/${cron}/run'` });

  it('catches up for a day, in a readable id, and in no buffer that drops firings', async () => {
    const { cron, handle } = await hourly('readable');
    expect(cron).toMatch(/^cron_hourly_[a-z0-9]{10}$/);
    const { policies, memo } = await handle.describe();
    expect(policies).toMatchObject({ catchupWindow: 24 * HOUR_MS, overlap: 'ALLOW_ALL' });
    expect(memo).toMatchObject({ schedule: expect.stringMatching(/^\d+ \* \* \* \*$/), timeZone: 'UTC' });
  });

  it('runs once for all firings that were due meanwhile, and says once which', async () => {
    const { thread, cron, handle } = await hourly('missed');
    await catchUp(handle);
    const { body } = await firstResult(thread);
    expect(body).toMatch(/It was due on .* 3 firings from .* to .* were missed and are done with this one\./);
    const ended = await until('every firing has ended', async () => {
      const runs = await Array.fromAsync(runsOf(cron));
      return runs.length === 3 && runs.every((run) => run.status.name === 'COMPLETED') ? runs : null;
    });
    const results = await Promise.all(ended.map((run) => temporal.workflow.getHandle(run.workflowId).result()));
    expect(results.map((result) => result.status).sort()).toEqual(['coalesced', 'coalesced', 'completed']);
    expect(
      await app.store.db.selectFrom('routine_runs').select('id').where('cron_id', '=', cron).execute(),
    ).toHaveLength(1);
  });

  it('tells a result that comes again in a few words, and not each time', async () => {
    const thread = await app.thread();
    await call(thread, 'workflow_create', { name: 'same', steps: ['workflow_list'] });
    await call(thread, 'cron_create', { workflow: 'same', schedule: '0 9 * * *' });
    const { id, chat_id } = await app.store.db
      .selectFrom('crons')
      .innerJoin('routines', 'routines.id', 'crons.routine_id')
      .select(['crons.id', 'crons.chat_id'])
      .where('routines.name', '=', 'same')
      .executeTakeFirstOrThrow();
    const second = () => Math.floor(Date.now() / 1000);
    for (const times of [1, 2, 3]) {
      const began = second();
      await temporal.schedule.getHandle(scheduleId(id)).trigger();
      await until(`run ${times} is over, and the next one has an id of its own`, async () => {
        const runs = app.store.db.selectFrom('routine_runs').select('id').where('cron_id', '=', id);
        return (await runs.where('status', '!=', 'running').execute()).length === times && second() > began;
      });
    }
    const told = app.store.db.selectFrom('outbox').select(['body', 'state']).where('chat_id', '=', chat_id);
    await expect
      .poll(() => told.where('kind', '=', 'result').orderBy('ord').execute())
      .toEqual([
        { body: 'same:\n\n1 routine:\n- same: 1 step: workflow list', state: 'sent' },
        { body: 'same: unchanged.', state: 'sent' },
        { body: 'same: unchanged, 2 times.', state: 'dropped' },
      ]);
  });

  it('waits for the run before it', async () => {
    const { thread, cron, handle } = await hourly('busy');
    const { id, routine_id, chat_id } = await app.store.db
      .selectFrom('crons')
      .selectAll()
      .where('id', '=', cron)
      .executeTakeFirstOrThrow();
    const before = `wfr_${id}_before`;
    await app.store.db
      .insertInto('routine_runs')
      .values({
        ...{
          id: before,
          routine_id,
          routine_name: 'busy',
          chat_id,
          cron_id: id,
          workflow_id: 'routine/before',
          scheduled_for: null,
        },
        ...{ status: 'running', summary: null, results: '[]', ended_at: null },
      })
      .execute();
    await catchUp(handle);
    const waits = await until('one waits, and the others have left it to that', async () => {
      const all = await Array.fromAsync(runsOf(cron));
      const open = all.filter((run) => run.status.name === 'RUNNING');
      return all.length === 3 && open.length === 1 ? open[0] : null;
    });
    expect(await results(thread)).toEqual([]);
    await app.store.db.updateTable('routine_runs').set({ status: 'completed' }).where('id', '=', before).execute();
    expect((await firstResult(thread)).body).toMatch(/^busy:\n/);
    expect(await temporal.workflow.getHandle(waits.workflowId).result()).toMatchObject({ status: 'completed' });
  });

  it('gives its workflow inputs, which are changed by talking, and are not forgotten with a lost workflow', async () => {
    const thread = await app.thread();
    const steps = [{ tool: 'read_output', args: { callId: '{{input.id}}', limit: '{{input.most=50}}' } }];
    const read = (more: object) => call(thread, 'cron_create', { workflow: 'reads', schedule: '0 4 * * *', ...more });
    await call(thread, 'workflow_create', { name: 'reads', steps });
    expect(await read({})).toEqual({ ok: false, output: 'The routine "reads" needs inputs: id.' });
    expect((await read({ inputs: { id: 'a', ids: 'b' } })).output).toMatch(/has no input "ids"/);
    expect((await read({ inputs: { id: 'a', most: 0 } })).output).toMatch(/the arguments are not right[\s\S]*limit/);
    expect(await read({ inputs: { id: 'call_first' } })).toMatchObject({ ok: true });
    expect((await call(thread, 'cron_list', {})).output).toMatch(/reads: .*gives id;/);
    await app.say(thread, 'schedules');
    expect((await app.detail(thread)).items.at(-1)?.detail).toMatch(/reads with id = call_first: every day at 4:00/);
    expect(await call(thread, 'cron_update', { cron: 'reads', inputs: { most: 70 } })).toMatchObject({ ok: true });
    const { id } = await app.store.db
      .selectFrom('crons')
      .select('id')
      .where('name', '=', 'reads')
      .executeTakeFirstOrThrow();
    const { action } = await temporal.schedule.getHandle(scheduleId(id)).describe();
    expect(action).toMatchObject({ memo: { gives: ['id', 'most'] } });
    await temporal.schedule.getHandle(scheduleId(id)).trigger();
    expect((await firstResult(thread)).body).toMatch(/There is no tool call call_first/);
    const run = await app.store.db
      .selectFrom('routine_runs')
      .selectAll()
      .where('cron_id', '=', id)
      .executeTakeFirstOrThrow();
    expect(run.inputs).toEqual({ id: 'call_first', most: 70 });
  });

  it('whose inputs do not fit its workflow any more runs no step, and says what is wrong', async () => {
    const thread = await app.thread();
    const step = (input: string) => [
      'workflow_list|Look',
      { tool: 'read_output', args: { callId: `{{input.${input}}}` } },
    ];
    await call(thread, 'workflow_create', { name: 'renames', steps: step('old') });
    await call(thread, 'cron_create', { workflow: 'renames', schedule: '0 4 * * *', inputs: { old: 'call_gone' } });
    const changed = await call(thread, 'workflow_update', { workflow: 'renames', steps: step('fresh') });
    expect(changed.output).toMatch(
      /which has 2 steps\. Its cron "renames" cannot run it until cron_update .* needs inputs: fresh\./,
    );
    expect((await call(thread, 'cron_run', { cron: 'renames' })).output).toMatch(
      /needs inputs: fresh\. Change what the cron gives with cron_update/,
    );
    const { id } = await app.store.db
      .selectFrom('crons')
      .select('id')
      .where('name', '=', 'renames')
      .executeTakeFirstOrThrow();
    const handle = temporal.schedule.getHandle(scheduleId(id));
    const triggered = Date.now();
    await handle.trigger();
    const { body } = await firstResult(thread);
    expect(body).toBe(
      'renames did not work: 0 of 2 steps done; The routine "renames" needs inputs: fresh. Tell me what its schedule shall give it.',
    );
    expect(await call(thread, 'cron_update', { cron: 'renames', inputs: { old: 'x' } })).toMatchObject({ ok: false });
    expect(await call(thread, 'cron_update', { cron: 'renames', inputs: { fresh: 'call_known' } })).toMatchObject({
      ok: true,
    });
    // Temporal names a run of a schedule by the second of its trigger, so two within one second are one run
    await until('another second begins', async () => Date.now() >= triggered + 1_000);
    await handle.trigger();
    const again = await until('a second result was delivered', async () =>
      (await results(thread)).find((each) => each.body !== body),
    );
    expect(again.body).toMatch(/1\. Look: done[\s\S]*There is no tool call call_known/);
  });

  it('whose row is gone takes its schedule with it', async () => {
    const { cron, handle } = await hourly('orphan');
    await app.store.db.deleteFrom('crons').where('id', '=', cron).execute();
    await handle.trigger();
    await until('the schedule is gone', () =>
      handle.describe().then(
        () => false,
        (error) => error instanceof ScheduleNotFoundError,
      ),
    );
  });

  it('is one of at most fifty in a chat', async () => {
    const { thread, cron } = await hourly('many');
    const {
      id: _,
      name: _name,
      inputs: _inputs,
      sources: _sources,
      ...row
    } = await app.store.db.selectFrom('crons').selectAll().where('id', '=', cron).executeTakeFirstOrThrow();
    await app.store.db
      .insertInto('crons')
      .values(Array.from({ length: 49 }, (_each, n) => ({ ...row, id: `cron_filler_${n}`, name: `filler ${n}` })))
      .execute();
    expect(
      await call(thread, 'cron_create', { workflow: 'many', schedule: '0 9 * * *', name: 'one more' }),
    ).toMatchObject({
      ok: false,
      output: expect.stringMatching(/no more than 50/),
    });
    await app.store.db.deleteFrom('crons').where('id', 'like', 'cron_filler_%').execute();
  });
});

const everythingSent = (thread: string) =>
  until('everything was sent', async () => {
    const rows = await app.store.db
      .selectFrom('outbox')
      .select(['attempts', 'state'])
      .where('thread_id', '=', thread)
      .execute();
    return rows.every((row) => row.state === 'sent') ? rows : null;
  });

describe('a conversation that grows', () => {
  it('continues as new while messages arrive, and repeats of old messages stay without effect', async () => {
    const thread = await app.thread();
    const handle = temporal.workflow.getHandle(await workflowOf(thread));
    const runs = new Set<string>();
    const turns: string[] = [];
    for (let n = 0; n < 10; n++) {
      const turn = await app.turn(thread, [{ say: `answer ${n}` }], `turn-${n}`);
      await app.say(thread, 'status', `status-${n}`);
      expect((await app.ended(thread, turn)).status).toBe('completed');
      turns.push(turn);
      // nothing is renewed while a reply is on its way
      await everythingSent(thread);
      runs.add((await handle.describe()).runId);
    }
    expect(runs.size).toBeGreaterThan(1);
    const asked = app.model.requests().length;
    for (let n = 0; n < 10; n++) expect(await app.turn(thread, [{ say: `answer ${n}` }], `turn-${n}`)).toBe(turns[n]);
    // the signals themselves once more, as a sweeper might send them
    const inbox = await app.store.db
      .selectFrom('inbox')
      .select('arrival')
      .where('thread_id', '=', thread)
      .orderBy('received_at')
      .execute();
    for (const { arrival } of inbox) await handle.signal(arrivalSignal, arrival);
    const last = await app.turn(thread, [{ say: 'last' }]);
    await app.ended(thread, last);
    expect(app.model.requests().length).toBe(asked + 1);
    const { items } = await app.detail(thread);
    for (const [n, turn] of turns.entries()) {
      expect(
        items.filter((item) => item.turn_id === turn && item.kind === 'agent_message').map((item) => item.detail),
      ).toEqual([`answer ${n}`]);
    }
    const sent = await everythingSent(thread);
    expect(sent).toHaveLength(21);
    expect(sent.every((row) => row.attempts === 1)).toBe(true);
  });

  it('continues as new also when it only ever answers without the model', async () => {
    const thread = await app.thread();
    const handle = temporal.workflow.getHandle(await workflowOf(thread));
    await app.say(thread, 'status');
    const first = (await handle.describe()).runId;
    await until('it continued as new', async () => {
      await app.say(thread, 'status');
      return (await handle.describe()).runId !== first;
    });
  });

  it('defect 28: keeps an open question over a restart of the whole instance, and goes on with its answer', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [
      { call: [['ask_user', { question: 'Which colour?', options: ['red', 'green'] }]] },
      { say: 'You chose $LAST' },
    ]);
    const [asked] = await until('the question is open', async () => {
      const pending = (await app.detail(thread)).pending_user_inputs;
      return pending.length > 0 ? pending : null;
    });
    await connection.close();
    await app.stop();
    await app.start();
    await connect();
    expect((await app.detail(thread)).pending_user_inputs.map((each) => each.id)).toEqual([asked!.id]);
    expect((await app.say(thread, 'green')).kind).toBe('answer');
    expect((await app.ended(thread, turn)).status).toBe('completed');
    const answers = (await app.detail(thread)).items.filter(
      (item) => item.turn_id === turn && item.kind === 'agent_message',
    );
    expect(answers.map((item) => item.detail)).toEqual(['You chose green']);
  });
});
