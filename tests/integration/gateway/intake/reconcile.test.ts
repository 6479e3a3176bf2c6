import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Client, Connection } from '@temporalio/client';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clusterFolder, databaseUrl } from '../../../../src/cli/instance/servers/postgres.ts';
import { loadConfig } from '../../../../src/config.ts';
import type { ConversationView } from '../../../../src/contracts/conversation.ts';
import { taskWorkflowId } from '../../../../src/contracts/ids.ts';
import { viewQuery } from '../../../../src/contracts/signals.ts';
import { createIntake } from '../../../../src/gateway/intake/intake.ts';
import { createReconcile } from '../../../../src/gateway/intake/reconcile/reconcile.ts';
import { claimWorkspace, insertTask, markOrdered } from '../../../../src/store/kennel/tasks/tasks.ts';
import { openStore } from '../../../../src/store/postgres/database.ts';
import { insertRoutine } from '../../../../src/store/routines/routines.ts';
import { startTestApp, type TestApp } from '../../../support/app.ts';
import { inState } from '../../../support/kennel-app.ts';
import { clientOf } from '../../../support/temporal-client.ts';
import { workflowOfThread } from '../../../support/thread.ts';
import { until } from '../../../support/until.ts';

let app: TestApp;
let connection: Connection;
let temporal: Client;
beforeAll(async () => {
  app = await startTestApp({
    FETCH_PAYLOAD_KEYS: 'off',
    NODE_OPTIONS: `--import=${new URL('../../../support/once-tool.ts', import.meta.url).href}`,
  });
  connection = await Connection.connect({ address: app.temporalAddress });
  temporal = clientOf(app, connection);
});
afterAll(async () => {
  await connection?.close();
  await app?.close();
});

const ask = (question: string) => ({ call: [['ask_user', { question }]] });
const workflowOf = (thread: string): Promise<string> => workflowOfThread(app.store.db, thread);
const asked = (turn: string) =>
  until('the question is open', () =>
    app.store.db
      .selectFrom('questions')
      .select('id')
      .where('turn_id', '=', turn)
      .where('state', '=', 'open')
      .executeTakeFirst(),
  );
const answerOf = async (turn: string): Promise<string | undefined> =>
  (
    await app.store.db
      .selectFrom('outbox')
      .select('body')
      .where('turn_id', '=', turn)
      .where('kind', '=', 'answer')
      .orderBy('ord', 'desc')
      .executeTakeFirst()
  )?.body;
/** A finished turn, in a chat whose conversation keeps running. */
async function talkedBefore(): Promise<string> {
  const thread = await app.thread();
  await app.ended(thread, await app.turn(thread, [{ say: 'hello' }]));
  return thread;
}
/**
 * What is in a folder now, of names that begin so, while nothing writes it; gives how to put it back. `cp -a`: the
 * database belongs to another user.
 */
function copyOf(folder: string, prefix = ''): () => void {
  const copy = mkdtempSync(join(tmpdir(), 'fetch-copy-'));
  const names = () => readdirSync(folder).filter((name) => name.startsWith(prefix));
  const kept = names();
  expect(kept).not.toEqual([]);
  for (const name of kept) execFileSync('cp', ['-a', join(folder, name), copy]);
  return () => {
    for (const name of names()) rmSync(join(folder, name), { recursive: true });
    for (const name of kept) execFileSync('cp', ['-a', join(copy, name), folder]);
    rmSync(copy, { recursive: true });
  };
}

/** This process beside the gateway, as another one would be. */
async function besides(): Promise<{
  store: Awaited<ReturnType<typeof openStore>>;
  config: ReturnType<typeof loadConfig>;
}> {
  const postgres = app.state().roles.find((role) => role.name === 'postgres')!.address!;
  const store = await openStore(databaseUrl(app.home, Number(postgres.split(':')[1])), { max: 4, migrate: false });
  return { store, config: loadConfig({ FETCH_HOME: app.home }, {}) };
}

describe('a Temporal server whose file is older than the database', () => {
  it('goes on with every turn, heeds stop and answers, and does not ask or pay twice', async () => {
    const [answered, steered, stopped, decided] = [
      await talkedBefore(),
      await talkedBefore(),
      await talkedBefore(),
      await talkedBefore(),
    ];
    await app.stop();
    const putBack = copyOf(app.home, 'temporal-');
    await app.start();
    // all of this is acknowledged, and the server will know nothing of it
    const turns = {
      answered: await app.turn(answered, [ask('Which colour?'), { say: 'you said $LAST' }]),
      steered: await app.turn(steered, [ask('Which size?'), { say: 'you said $LAST' }]),
      stopped: await app.turn(stopped, [ask('Go on?'), { say: 'never' }]),
      decided: await app.turn(decided, [ask('Which name?'), ask('Really?'), { say: 'you said $LAST' }]),
    };
    for (const turn of Object.values(turns)) await asked(turn);
    await app.say(decided, 'Ada');
    await until('the second question is open', () =>
      app.store.db.selectFrom('questions').select('id').where('prompt', '=', 'Really?').executeTakeFirst(),
    );
    const paid = app.model.requests().length;
    await app.stop();
    putBack();
    await app.start();

    // the turn is still there for the person: the words are its answer, its end, or the next thing that is answered
    expect(await app.say(answered, 'red')).toMatchObject({ kind: 'answer' });
    expect(await app.say(stopped, 'stop')).toMatchObject({ kind: 'stop' });
    expect(await app.say(steered, 'large')).toMatchObject({ kind: 'answer' });
    expect(await app.say(decided, 'yes, really')).toMatchObject({ kind: 'answer' });
    expect(await app.ended(answered, turns.answered)).toMatchObject({ status: 'completed' });
    expect(await app.ended(stopped, turns.stopped)).toMatchObject({ status: 'interrupted' });
    expect(await app.ended(steered, turns.steered)).toMatchObject({ status: 'completed' });
    expect(await app.ended(decided, turns.decided)).toMatchObject({ status: 'completed' });
    expect([await answerOf(turns.answered), await answerOf(turns.steered), await answerOf(turns.decided)]).toEqual([
      'you said red',
      'you said large',
      'you said yes, really',
    ]);
    // one request more for each that was answered: stored steps were not asked for again
    expect(app.model.requests().length).toBe(paid + 3);
    const next = await app.say(stopped, 'SCRIPT:[{"say":"here again"}]');
    await app.ended(stopped, next.turn_id!);
    expect(await answerOf(next.turn_id!)).toBe('here again');
  }, 240_000);
});

describe('a database that is older than the Temporal server', () => {
  it('ends what it does not know the end of and says so; a conversation whose rows are gone comes to rest', async () => {
    const known = await talkedBefore();
    const open = await app.turn(known, [ask('Which way?'), { say: 'you said $LAST' }]);
    await asked(open);
    await app.stop();
    const putBack = copyOf(clusterFolder(app.home)!);
    await app.start();
    await app.say(known, 'left');
    await app.ended(known, open);
    const gone = await app.thread();
    const lost = await app.turn(gone, [{ hang: true, times: 1 }, { say: 'nobody hears this' }]);
    await until('its model is asked', () => app.model.asked(lost) > 0);
    const workflowId = await workflowOf(gone);
    await app.stop();
    putBack();
    await app.start();

    expect(await app.ended(known, open)).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/restored to an earlier time/),
    });
    await until('the person was told, once', async () => {
      const told = await app.store.db
        .selectFrom('outbox')
        .select('state')
        .where('turn_id', '=', open)
        .where('kind', '=', 'notice')
        .execute();
      return told.length === 1 && told[0]!.state === 'sent';
    });
    const next = await app.say(known, 'SCRIPT:[{"say":"still here"}]');
    await app.ended(known, next.turn_id!);
    expect(await answerOf(next.turn_id!)).toBe('still here');
    const view = () => temporal.workflow.getHandle(workflowId).query<ConversationView>(viewQuery);
    // its turn failed, and nothing is left to be tried
    await until('the conversation without rows is at rest', async () => {
      const { phase, turnId, turnsDone } = await view();
      return phase === 'failed' && turnId === null && turnsDone === 1;
    });
  }, 240_000);
});

describe('a turn that has slept for hours', () => {
  it('is left to a comparison of its own, which brings it back when its workflow was ended', async () => {
    const { store, config } = await besides();
    const thread = await app.thread();
    const turn = await app.turn(thread, [ask('Which day?'), { say: 'you said $LAST' }]);
    await asked(turn);
    await sql`update turns set created_at = created_at - interval '3 hours' where id = ${turn}`.execute(store.db);
    await sql`update inbox set signalled_at = signalled_at - interval '3 hours' where turn_id = ${turn}`.execute(
      store.db,
    );
    const reconcile = createReconcile({ db: store.db, temporal, config });
    expect(await reconcile.asleep()).toMatchObject({ found: 0, failed: 0 });

    await temporal.workflow.getHandle(await workflowOf(thread)).terminate();
    expect((await reconcile(0)).turns).toMatchObject({ found: 0, failed: 0 });
    // the gateway may have found it first
    expect(await reconcile.asleep()).toMatchObject({ failed: 0 });
    await app.say(thread, 'Friday');
    await app.ended(thread, turn);
    expect(await answerOf(turn)).toBe('you said Friday');
    await store.close();
  });
});

describe('a message that waits to be sent', () => {
  const signals = async (workflowId: string): Promise<number> => {
    const { events } = await temporal.workflow.getHandle(workflowId).fetchHistory();
    return events?.filter((event) => event.workflowExecutionSignaledEventAttributes).length ?? 0;
  };

  it('is left to the conversation that holds it, and given to its next run when that was terminated', async () => {
    const { store, config } = await besides();
    const intake = createIntake({ db: store.db, temporal, config, secret: 'secret' });
    // no phone is linked, so messages of this channel wait in its queue
    const thread = await intake.channelThread('whatsapp', '15550001111@s.whatsapp.net');
    await intake.say({ threadId: thread.id, text: 'status', channelMessageId: 'one' });
    const workflowId = await workflowOf(thread.id);
    const { id } = await store.db
      .selectFrom('outbox')
      .select('id')
      .where('thread_id', '=', thread.id)
      .executeTakeFirstOrThrow();
    const reconcile = createReconcile({ db: store.db, temporal, config });
    expect((await reconcile(0)).sends).toMatchObject({ found: 0, failed: 0 });
    expect(await signals(workflowId)).toBe(1);

    await temporal.workflow.getHandle(workflowId).terminate();
    expect((await reconcile(0)).sends).toMatchObject({ found: 1, failed: 0 });
    // the next look finds it where it is now
    expect((await reconcile(0)).sends).toMatchObject({ found: 0, failed: 0 });
    const { events } = await temporal.workflow.getHandle(workflowId).fetchHistory();
    const sends =
      events?.filter((event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'deliver') ?? [];
    expect(sends.map((event) => String(event.activityTaskScheduledEventAttributes!.input!.payloads![0]!.data))).toEqual(
      [JSON.stringify({ outboxId: id })],
    );
    await temporal.workflow.getHandle(workflowId).terminate();
    await store.db.deleteFrom('outbox').where('id', '=', id).execute();
    await store.close();
  });

  it('of a task or a routine that has ended is found and sent once', async () => {
    const thread = await talkedBefore();
    const { db } = app.store;
    const { chat_id } = await db
      .selectFrom('threads')
      .select('chat_id')
      .where('id', '=', thread)
      .executeTakeFirstOrThrow();
    const { config, store } = await besides();
    for (const id of ['out_tsk_abc_result', 'out_wfr_abc_20261122T070000Z_result', 'out_abc_answer'])
      await db
        .insertInto('outbox')
        .values({ id, chat_id, thread_id: thread, turn_id: null, kind: 'result', body: 'a message' })
        .execute();
    const found = (await createReconcile({ db: store.db, temporal, config })(0)).sends.found;
    expect(found).toBeGreaterThanOrEqual(1);
    await until(
      'all are sent',
      async () =>
        (
          await db
            .selectFrom('outbox')
            .select('id')
            .where('chat_id', '=', chat_id)
            .where('state', '=', 'queued')
            .execute()
        ).length === 0,
    );
    const { events } = await temporal.workflow.getHandle(await workflowOf(thread)).fetchHistory();
    const delivered =
      events?.filter((event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'deliver') ?? [];
    // the answer of the turn before, and these
    expect(delivered).toHaveLength(4);
    await store.close();
  });
});

describe('an order that comes before the workflow of its task', () => {
  async function unbegun(id: string): Promise<string> {
    const thread = await talkedBefore();
    const { db } = app.store;
    const { chat_id } = await db
      .selectFrom('threads')
      .select('chat_id')
      .where('id', '=', thread)
      .executeTakeFirstOrThrow();
    const about = {
      goal: 'work',
      agent: 'practice',
      harness: 'practice',
      host: 'local',
      workspace: id,
      worktree: false,
      timeout_ms: 60_000,
    } as const;
    await insertTask(db, { id, chat_id, call_id: `call_${id}`, workflow_id: taskWorkflowId(id), ...about });
    return thread;
  }
  const begin = async (id: string): Promise<void> => {
    const { store, config } = await besides();
    await store.db
      .updateTable('tasks')
      .set({ created_at: new Date(Date.now() - 3_600_000) })
      .where('id', '=', id)
      .execute();
    await createReconcile({ db: store.db, temporal, config })(0);
    await store.close();
  };

  it('stops the task when it begins, and the person is told', async () => {
    const thread = await unbegun('tsk_stopped');
    expect(await app.say(thread, 'stop tsk_stopped')).toMatchObject({ kind: 'task' });
    await begin('tsk_stopped');
    await inState(app, 'tsk_stopped', 'cancelled');
    await until('the report is sent', () =>
      app.store.db
        .selectFrom('outbox')
        .select('id')
        .where('id', '=', 'out_tsk_stopped_result')
        .where('state', '=', 'sent')
        .executeTakeFirst(),
    );
  });

  it('holds the task when it begins, until it is told to go on or to stop', async () => {
    const thread = await unbegun('tsk_held');
    expect(await app.say(thread, 'pause tsk_held')).toMatchObject({ kind: 'task' });
    await begin('tsk_held');
    await inState(app, 'tsk_held', 'paused');
    await app.say(thread, 'stop tsk_held');
    await inState(app, 'tsk_held', 'cancelled');
  });

  it('is taken back by another one: only what was said last counts', async () => {
    await unbegun('tsk_both');
    const { db } = app.store;
    await markOrdered(db, 'tsk_both', 'pause');
    expect(await claimWorkspace(db, 'tsk_both')).toBe('pause');
    await markOrdered(db, 'tsk_both', 'resume');
    expect(await claimWorkspace(db, 'tsk_both')).toBe(true);
    await markOrdered(db, 'tsk_both', 'cancel');
    await markOrdered(db, 'tsk_both', 'resume');
    expect(await claimWorkspace(db, 'tsk_both')).toBe('cancel');
    // a workflow that was reset to before the end of its task has nothing to wait for
    await db
      .updateTable('tasks')
      .set({ state: 'completed', ended_at: new Date() })
      .where('id', '=', 'tsk_both')
      .execute();
    expect(await claimWorkspace(db, 'tsk_both')).toBe('cancel');
    expect(await claimWorkspace(db, 'tsk_none')).toBe('cancel');
  });
});

describe('a run of a routine that lost its workflow', () => {
  const ARGS: Record<string, Record<string, unknown>> = {
    strike: { ledger: '/nowhere/at/all' },
    read_output: { callId: '{{input.id}}' },
  };
  async function lostRun(
    id: string,
    tools: string[],
    change: { once_begun?: number; results?: string; inputs?: string } = {},
  ): Promise<{ thread: string; workflowId: string }> {
    const thread = await talkedBefore();
    const { db } = app.store;
    const { chat_id } = await db
      .selectFrom('threads')
      .select('chat_id')
      .where('id', '=', thread)
      .executeTakeFirstOrThrow();
    const steps = tools.map((tool) => ({ name: tool, tool, args: ARGS[tool] ?? {} }));
    await insertRoutine(db, { id: `wf_${id}`, chatId: chat_id, name: id, description: '', workspace: null, steps });
    const workflowId = `routine/wfr_${id}`;
    const run = {
      id: `wfr_${id}`,
      routine_id: `wf_${id}`,
      routine_name: id,
      chat_id,
      workflow_id: workflowId,
      status: 'running' as const,
      ended_at: null,
    };
    await db
      .insertInto('routine_runs')
      .values({
        ...run,
        cron_id: null,
        scheduled_for: null,
        summary: null,
        results: '[]',
        started_at: new Date(Date.now() - 3_600_000),
        ...change,
      })
      .execute();
    const { store, config } = await besides();
    await createReconcile({ db: store.db, temporal, config })(0);
    await store.close();
    return { thread, workflowId };
  }
  const told = (id: string) =>
    until('its result was sent', () =>
      app.store.db
        .selectFrom('outbox')
        .select('body')
        .where('id', '=', `out_wfr_${id}_result`)
        .where('state', '=', 'sent')
        .executeTakeFirst(),
    );

  it('goes on behind its stored steps and tells its result', async () => {
    const done = [{ name: 'workflow_list', tool: 'workflow_list', ok: true, output: 'what it said then' }];
    await lostRun('goeson', ['workflow_list', 'cron_list'], { results: JSON.stringify(done) });
    expect((await told('goeson')).body).toMatch(/^\w+:\n/);
    const run = await app.store.db
      .selectFrom('routine_runs')
      .select('results')
      .where('id', '=', 'wfr_goeson')
      .executeTakeFirstOrThrow();
    expect(run.results[0]!.output).toBe('what it said then');
  });

  it('goes on with the inputs that it was given', async () => {
    await lostRun('given', ['read_output'], { inputs: JSON.stringify({ id: 'call_given' }) });
    expect((await told('given')).body).toMatch(/There is no tool call call_given/);
  });

  it('does not run again what must not run twice: the outcome is told as unknown', async () => {
    await lostRun('unsure', ['strike'], { once_begun: 1 });
    expect((await told('unsure')).body).toMatch(
      /did not work: 0 of 1 steps done[\s\S]*outcome of this step is unknown/,
    );
  });
});
