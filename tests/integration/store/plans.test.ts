import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config.ts';
import { createReconcile } from '../../../src/gateway/intake/reconcile/reconcile.ts';
import { resignal } from '../../../src/gateway/intake/reconcile/sweeper.ts';
import { openStore } from '../../../src/store/postgres/database.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { fillTables, readsOf, resetReads } from '../../support/many-rows.ts';
import { until } from '../../support/until.ts';

const ROWS = 40_000;

let app: TestApp;
beforeAll(async () => {
  // where a trace goes on is read of these tables, too; nobody answers there
  app = await startTestApp({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' });
  await fillTables(app.store.db, ROWS);
}, 600_000);
afterAll(() => app?.close());

const open = (thread: string) =>
  until(
    'the question is open',
    async () => (await app.detail(thread)).pending_user_inputs[0] ?? (await app.detail(thread)).pending_approvals[0],
  );

describe('statements on tables of many rows', () => {
  it('read what they are about by an index: a turn, an intake, a sweep, a comparison with the Temporal server, a thread', async () => {
    await resetReads(app.store.db);
    // a turn with tools, side by side and with an approval; questions, steering, a stop, words that need no model
    const thread = await app.thread();
    await app.ended(
      thread,
      await app.turn(thread, [
        {
          say: 'calling',
          call: [
            ['cron_list', {}],
            ['workflow_list', { includeRuns: true }],
          ],
        },
        { say: 'done' },
      ]),
    );
    const asking = await app.turn(thread, [
      { call: [['ask_user', { question: 'Which?' }]] },
      { say: 'you said $LAST' },
    ]);
    await open(thread);
    await app.say(thread, 'status');
    await app.say(thread, 'this one');
    await app.ended(thread, asking);
    const stopped = await app.turn(thread, [{ hang: true }]);
    await until('its model is asked', () => app.model.asked(stopped) > 0);
    await app.say(thread, 'by the way');
    await app.say(thread, 'stop');
    await app.ended(thread, stopped);
    // a routine and its run
    const routine = await app.turn(thread, [
      { call: [['workflow_create', { name: 'tidy', steps: ['workflow_list'] }]] },
      { call: [['workflow_run', { workflow: 'tidy' }]] },
      { call: [['task_status', {}]] },
      { say: 'started' },
    ]);
    await app.ended(thread, routine);
    const { chat_id } = await app.store.db
      .selectFrom('threads')
      .select('chat_id')
      .where('id', '=', thread)
      .executeTakeFirstOrThrow();
    await until('everything is sent', () =>
      app.store.db
        .selectFrom('outbox')
        .select('id')
        .where('chat_id', '=', chat_id)
        .where('state', '=', 'queued')
        .execute()
        .then((queued) => queued.length === 0),
    );
    // readers
    await app.detail(thread);
    await app.request('GET', `/v1/threads/${thread}?turns=2`);
    await app.request('GET', '/v1/threads?limit=50');
    await app.request('GET', '/v1/threads/summary?limit=50');
    await app.request('GET', '/v1/sessions?limit=50');
    await app.request('GET', `/v1/sessions/${thread}`);
    const { thread_id } = (await app.request('POST', `/v1/sessions/${thread}/resume-thread`, {})).body as {
      thread_id: string;
    };
    const { turn } = (await app.request('POST', `/v1/threads/${thread_id}/compact`, {})).body as {
      turn: { id: string };
    };
    await app.ended(thread_id, turn.id);
    await app.events(thread);
    // the owner's page
    for (const what of [
      'now',
      'tasks',
      'tasks?state=failed',
      'tasks?state=live',
      'workspaces',
      'schedules',
      'chats',
      'people',
      'settings',
      'whatsapp',
      'agents',
    ])
      expect((await app.request('GET', `/v1/owner/${what}`)).status).toBe(200);
    const { next } = (await app.request('GET', '/v1/owner/tasks?limit=10')).body as { next: string };
    await app.request('GET', `/v1/owner/tasks?limit=10&before=${next}`);
    for (const part of ['', '/log', '/diff'])
      expect((await app.request('GET', `/v1/owner/tasks/tsk_old${ROWS}${part}`)).status).toBe(200);
    expect((await app.request('GET', '/v1/owner/spend?days=30')).status).toBe(200);
    // sweeps
    const connection = await Connection.connect({ address: app.temporalAddress });
    const store = await openStore(app.databaseUrl, { max: 4, migrate: false });
    const deps = {
      db: store.db,
      temporal: new Client({ connection }),
      config: loadConfig({ FETCH_HOME: app.home }, {}),
    };
    const reconcile = createReconcile(deps);
    await reconcile(0);
    await reconcile.asleep();
    await resignal(deps, { after: null }, 0);
    await store.close();
    await connection.close();
    // connections that end hand in what they have read
    await app.stop();
    await app.start();
    const reads = await readsOf(app.store.db);
    expect(reads.filter(({ rows }) => rows > ROWS / 10)).toEqual([]);
  }, 240_000);
});
