import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  bringUpToDate,
  createSchedule,
  deleteSchedule,
  describeSchedule,
  listScheduled,
  type NewSchedule,
} from '../../../../src/adapters/schedules.ts';
import { startOver } from '../../../../src/cli/roles/deploy.ts';
import { buildWorkflowBundle, entryOf } from '../../../../src/cli/roles/temporal/workflow-bundle.ts';
import { AGENT_QUEUE, BACKGROUND_PRIORITY, BACKGROUND_QUEUE, scheduleId } from '../../../../src/contracts/ids.ts';
import { firings } from '../../../../src/domain/firings.ts';
import { DAY, HOUR, nextClockChange } from '../../../../src/domain/time.ts';
import { endedRuns, startRuns } from '../../../support/background-runs.ts';
import { begin } from '../../../support/deployment-scenes.ts';
import { holds } from '../../../support/property.ts';
import { type Releases, startReleases } from '../../../support/releases.ts';
import { until } from '../../../support/until.ts';

const BOTH = [AGENT_QUEUE, BACKGROUND_QUEUE];
const FEW_SLOTS = { maxConcurrentWorkflowTaskExecutions: 2, maxConcurrentActivityTaskExecutions: 2 };
const RUNS = 80;
const CALLS = 40;

let releases: Releases;
let bundle: { code: string };
beforeAll(async () => {
  [releases, bundle] = await Promise.all([startReleases(), buildWorkflowBundle(entryOf('unversioned'))]);
});
afterEach(() => releases.stopWorkers());
afterAll(() => releases?.close());

const chatOf = async (address: string): Promise<{ threadId: string; chatId: string }> => {
  const { id } = await releases.intake.channelThread('api', address);
  const { chat_id } = await releases.store.db
    .selectFrom('threads')
    .select('chat_id')
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  return { threadId: id, chatId: chat_id };
};
const ended = (turnId: string) =>
  until('the turn has ended', async () => {
    const { status } = await releases.store.db
      .selectFrom('turns')
      .select('status')
      .where('id', '=', turnId)
      .executeTakeFirstOrThrow();
    return status === 'completed';
  });

describe('a worker that comes to a long queue', () => {
  it('answers a person before the routine runs that were queued earlier', async () => {
    const { db } = releases.store;
    const [{ chatId }, person] = [await chatOf('runs'), await chatOf('person')];
    await startRuns({ db, temporal: releases.temporal }, chatId, RUNS);
    const turn = await begin(releases, person.threadId, [{ say: 'here' }]);
    const few = await releases.worker(bundle, undefined, FEW_SLOTS, BOTH);
    await ended(turn);
    expect(await endedRuns(db, chatId)).toBeLessThan(RUNS / 2);
    await few.stop();
    await releases.worker(bundle, undefined, {}, BOTH);
    await until('every run has ended', async () => (await endedRuns(db, chatId)) === RUNS);
  });

  it('answers a chat while another has dozens of calls to make', async () => {
    const { db } = releases.store;
    const [busy, quiet] = [await chatOf('busy'), await chatOf('quiet')];
    const many = await begin(releases, busy.threadId, [
      { call: Array.from({ length: CALLS }, () => ['workflow_list', {}]) },
      { say: 'all done' },
    ]);
    const turn = await begin(releases, quiet.threadId, [{ say: 'here' }]);
    await releases.worker(bundle, undefined, FEW_SLOTS);
    await ended(turn);
    const made = await db
      .selectFrom('calls')
      .select('id')
      .where('turn_id', '=', many)
      .where('ok', 'is not', null)
      .execute();
    expect(made.length).toBeLessThan(CALLS / 2);
    await ended(many);
  });
});

describe('a schedule', () => {
  const wanted = (cronId: string): NewSchedule => ({
    ...{
      cronId,
      name: 'a schedule',
      schedule: '0 0 1 1 *',
      timeZone: 'UTC',
      enabled: true,
      gives: [],
      catchupMs: 3_600_000,
    },
    input: { routineId: 'wf_none', chatId: 'api/none', cronId },
  });

  it('gives its runs the priority and the queue of the background', async () => {
    const { temporal } = releases;
    await createSchedule(temporal, wanted('cron_new'));
    await temporal.schedule.getHandle(scheduleId('cron_new')).trigger();
    const run = await until(
      'it runs',
      async () =>
        (await Array.fromAsync(temporal.workflow.list({ query: `WorkflowId STARTS_WITH 'cron/cron_new/run'` })))[0],
    );
    expect(await temporal.workflow.getHandle(run.workflowId).describe()).toMatchObject({
      priority: BACKGROUND_PRIORITY,
      taskQueue: BACKGROUND_QUEUE,
    });
  });

  it('of an earlier release is changed once, and keeps the rest', async () => {
    const { temporal } = releases;
    const { action } = await temporal.schedule.getHandle(scheduleId('cron_new')).describe();
    const { priority: _, ...before } = action;
    const spec = { cronExpressions: ['0 0 1 1 *'], timezone: 'UTC' };
    await temporal.schedule.create({
      scheduleId: scheduleId('cron_old'),
      spec,
      action: { ...before, taskQueue: AGENT_QUEUE },
      memo: { catchupMs: 3_600_000 },
    });
    await until('it is listed', async () => (await listScheduled(temporal)).has('cron_old'));
    expect((await listScheduled(temporal)).get('cron_old')).toEqual({ catchupMs: null, paused: false });
    expect(await describeSchedule(temporal, 'cron_old')).toMatchObject({ priority: undefined, taskQueue: AGENT_QUEUE });
    await bringUpToDate(temporal, wanted('cron_old'));
    expect(await describeSchedule(temporal, 'cron_old')).toMatchObject({
      priority: BACKGROUND_PRIORITY.priorityKey,
      taskQueue: BACKGROUND_QUEUE,
    });
    const after = (await temporal.schedule.getHandle(scheduleId('cron_old')).describe()).action;
    expect(after).toMatchObject({ args: action.args, memo: action.memo, staticSummary: action.staticSummary });
  });

  it('of an earlier release gets the clock changes of the next years, and stays paused', async () => {
    const { temporal } = releases;
    const handle = temporal.schedule.getHandle(scheduleId('cron_night'));
    const { action } = await temporal.schedule.getHandle(scheduleId('cron_new')).describe();
    await temporal.schedule.create({
      scheduleId: scheduleId('cron_night'),
      spec: { cronExpressions: ['30 2 * * *'], timezone: 'Europe/Berlin' },
      action,
      state: { paused: true },
    });
    await bringUpToDate(temporal, { ...wanted('cron_night'), schedule: '30 2 * * *', timeZone: 'Europe/Berlin' });
    const { spec, state } = await handle.describe();
    expect(state.paused).toBe(true);
    expect(spec.intervals?.length).toBeGreaterThan(4);
    expect(spec.calendars?.length).toBeGreaterThan(6);
  });

  it('fires around clock changes exactly when its preview says', async () => {
    const { temporal } = releases;
    const zones = fc.constantFrom(
      ...['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Africa/Casablanca', 'America/Havana'],
      ...['Africa/Cairo', 'Pacific/Chatham', 'Asia/Beirut', 'America/Santiago', 'Antarctica/Troll', 'America/Nuuk'],
    );
    const patterns = fc.constantFrom(
      ...['30 2 * * *', '0 0 * * *', '*/30 * * * *', '0 */2 * * *', '15,45 * * * *', '*/10 2 * * *', '0 3 * * SUN'],
      ...['0,30 0-3 * * *', '30 23 * * *', '45 1 25-31 MAR,OCT *', '*/5 0-4 * * *'],
    );
    let made = 0;
    await holds(
      fc.asyncProperty(zones, patterns, async (timeZone, schedule) => {
        made += 1;
        const cronId = `cron_clock_${made}`;
        await createSchedule(temporal, { ...wanted(cronId), schedule, timeZone });
        const end = Date.now() + 2.9 * 365 * DAY;
        let change = nextClockChange(timeZone, Date.now() + 2 * DAY, end);
        for (; change; change = nextClockChange(timeZone, change.at, end)) {
          const [from, to] = [change.at - 36 * HOUR, change.at + 36 * HOUR];
          const { startTime } = await temporal.workflowService.listScheduleMatchingTimes({
            namespace: 'default',
            scheduleId: scheduleId(cronId),
            startTime: { seconds: (from / 1_000) as never },
            endTime: { seconds: (to / 1_000) as never },
          });
          const expected: string[] = [];
          for (const at of firings(schedule, timeZone, new Date(from))) {
            if (at.getTime() > to) break;
            expected.push(at.toISOString());
          }
          const fired = startTime.map(({ seconds }) => new Date(Number(seconds) * 1_000).toISOString());
          expect({ timeZone, schedule, fired }).toEqual({ timeZone, schedule, fired: expected });
        }
        await deleteSchedule(temporal, cronId);
      }),
      {
        runs: 12,
        soak: 1_000,
        // the last three have a Sunday that begins at 1:00
        examples: [
          ['Africa/Cairo', '0 */2 * * *'],
          ['America/Havana', '0 3 * * SUN'],
          ['Asia/Beirut', '15 0,9 * * SAT'],
          ['America/Santiago', '0 0-23/6 * * MON-FRI,SUN'],
        ],
      },
    );
  });

  it('and runs that wait go back to the one queue of an earlier release before that starts', async () => {
    const { temporal, store } = releases;
    await releases.stopWorkers();
    const { chatId } = await chatOf('older');
    await startRuns({ db: store.db, temporal }, chatId, 3);
    await until(
      'they are listed',
      async () =>
        (await temporal.workflow.count(`TaskQueue = '${BACKGROUND_QUEUE}' AND ExecutionStatus = 'Running'`)).count >= 3,
    );
    await startOver({ ...releases.config, TEMPORAL_ADDRESS: releases.temporalAddress }, {});
    expect(await describeSchedule(temporal, 'cron_new')).toMatchObject({
      taskQueue: AGENT_QUEUE,
      priority: BACKGROUND_PRIORITY.priorityKey,
    });
    await temporal.schedule.getHandle(scheduleId('cron_new')).trigger();
    await releases.worker(bundle);
    await until('a firing is taken up by a worker of one queue', async () => {
      const runs = await Array.fromAsync(
        temporal.workflow.list({
          query: `WorkflowId STARTS_WITH 'cron/cron_new/run' AND TaskQueue = '${AGENT_QUEUE}'`,
        }),
      );
      return runs.some(({ status }) => status.name !== 'RUNNING');
    });
    expect(
      (await temporal.workflow.count(`TaskQueue = '${BACKGROUND_QUEUE}' AND ExecutionStatus = 'Running'`)).count,
    ).toBe(0);
  });
});
