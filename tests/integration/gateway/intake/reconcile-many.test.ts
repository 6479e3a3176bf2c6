import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Config, loadConfig } from '../../../../src/config.ts';
import { createReconcile } from '../../../../src/gateway/intake/reconcile/reconcile.ts';
import { type Resignalling, resignal } from '../../../../src/gateway/intake/reconcile/sweeper.ts';
import { startTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { startTestTemporal, type TestTemporal } from '../../../support/temporal.ts';
import { until } from '../../../support/until.ts';

const QUESTIONS = 5_000;
const TASKS = 1_000;
const CRONS = 250;

let database: TestDatabase;
let temporal: TestTemporal;
let config: Config;
beforeAll(async () => {
  [database, temporal] = await Promise.all([startTestDatabase(10), startTestTemporal()]);
  config = loadConfig({ FETCH_HOME: '/nowhere' }, {});
  await fill();
});
afterAll(async () => {
  await database?.close();
  await temporal?.close();
});

/**
 * What an instance has when its Temporal server is new: open questions, tasks that work, crons; one row of each kind
 * that no server takes.
 */
const fill = () =>
  sql
    .raw(`
    insert into chats (id, channel, address, workflow_id) select 'api/c' || n, 'api', 'c' || n, 'chat/api/c' || n from generate_series(1, ${QUESTIONS}) n;
    insert into threads (id, chat_id, model, workspace, mode) select 'thr_' || n, 'api/c' || n, 'auto', '/', 'agent' from generate_series(1, ${QUESTIONS}) n;
    insert into turns (id, thread_id, status, input_summary, created_at)
      select 'turn_' || n, 'thr_' || n, 'in_progress', 'ask', now() - interval '1 day' from generate_series(1, ${QUESTIONS}) n;
    insert into inbox (id, chat_id, thread_id, turn_id, channel_message_id, arrival, body, received_at, signalled_at)
      select 'inb_' || n, 'api/c' || n, 'thr_' || n, 'turn_' || n, 'm' || n,
        jsonb_build_object('kind', 'turn', 'inboxId', 'inb_' || n, 'turnId', 'turn_' || n, 'threadId', 'thr_' || n), 'ask', now() - interval '1 day', now() - interval '1 day'
      from generate_series(1, ${QUESTIONS}) n;
    insert into questions (id, chat_id, thread_id, turn_id, call_id, kind, prompt, state)
      select 'call_' || n, 'api/c' || n, 'thr_' || n, 'turn_' || n, 'call_' || n, 'question', 'Which?', 'open' from generate_series(1, ${QUESTIONS}) n;
    insert into tasks (id, chat_id, thread_id, turn_id, call_id, workflow_id, goal, agent, harness, host, workspace, worktree, state, timeout_ms, step, created_at)
      select 'tsk_' || n, 'api/c' || n, 'thr_' || n, 'turn_' || n, 'made_' || n, 'task/tsk_' || n, 'work', 'practice', 'practice', 'local', 'w' || n, false, 'running', 60000, 1,
        now() - interval '1 day' from generate_series(1, ${TASKS}) n;
    insert into routines (id, chat_id, name, steps) values ('wf_1', 'api/c1', 'tidy', '[]');
    insert into crons (id, routine_id, chat_id, name, schedule, time_zone, created_at)
      select 'cron_' || n, 'wf_1', 'api/c1', 'n' || n, '0 4 * * *', 'UTC', now() - interval '1 day' from generate_series(1, ${CRONS}) n;
    update chats set workflow_id = repeat('x', 2000) where id = 'api/c10';
    update tasks set workflow_id = repeat('x', 2000) where id = 'tsk_10';
    update crons set schedule = 'never' where id = 'cron_10';
  `)
    .execute(database.store.db);

describe('a Temporal server that has lost everything', () => {
  it('gets back every open question, every task and every schedule, whatever one row of each does', async () => {
    const { db } = database.store;
    const deps = { db, temporal: temporal.client, config };
    const reconcile = createReconcile(deps);
    const round = await reconcile();
    expect({ ...round, turns: await reconcile.asleep() }).toMatchObject({
      turns: { found: QUESTIONS, failed: 0 },
      tasks: { found: TASKS - 1, failed: 1 },
      schedules: { found: CRONS - 1, failed: 1 },
    });

    const at: Resignalling = { after: null };
    await until(
      'all but one are signalled',
      async () => {
        await resignal(deps, at, 0, 500).catch(() => 0);
        return (await db.selectFrom('inbox').select('id').where('signalled_at', 'is', null).execute()).length === 1;
      },
      480_000,
    );
    const running = async (type: string) =>
      (await temporal.client.workflow.count(`WorkflowType = '${type}' AND ExecutionStatus = 'Running'`)).count;
    await until(
      'every conversation and every task runs',
      async () => (await running('conversation')) === QUESTIONS - 1 && (await running('codingTask')) === TASKS - 1,
    );
  }, 600_000);
});
