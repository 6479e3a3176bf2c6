import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { roleLog, startTestApp, type TestApp } from '../../support/app.ts';
import { workflowOfThread } from '../../support/thread.ts';
import { until } from '../../support/until.ts';

let app: TestApp;
let connection: Connection;
let temporal: Client;
beforeAll(async () => {
  // what somebody reads who has the key
  app = await startTestApp({ FETCH_PAYLOAD_KEYS: 'off' });
  connection = await Connection.connect({ address: app.temporalAddress });
  temporal = new Client({ connection });
});
afterAll(async () => {
  await connection?.close();
  await app?.close();
});

const workflowOf = (thread: string): Promise<string> => workflowOfThread(app.store.db, thread);

/** Workflow ids that a query of the Web UI lists; the index is late by some moments. */
const listed = (query: string, workflowId: string) =>
  until(
    `${query} lists it`,
    async () =>
      (await Array.fromAsync(temporal.workflow.list({ query }))).some((each) => each.workflowId === workflowId),
    20_000,
  );

/** What a command prints for this instance. */
async function command(...args: string[]): Promise<string> {
  const entry = fileURLToPath(new URL('../../../bin/fetch.js', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [entry, ...args, '--home', app.home], {
    env: { ...process.env, FETCH_POSTGRES_PORT: new URL(app.databaseUrl).port },
  });
  return stdout;
}

const STATES: unknown[] = ['waiting', 'failed', 'working', 'idle'];

const ASK = [
  { call: [['ask_user', { question: 'Call +49 170 1234567 now?', options: ['yes', 'no'] }]] },
  { say: 'ok' },
];

describe('an operator', () => {
  it('lists a chat whose last turn failed, and no longer once a turn ends well', async () => {
    const thread = await app.thread();
    await app.ended(thread, await app.turn(thread, [{ fail: 401 }]));
    const id = await workflowOf(thread);
    await listed(`ExecutionStatus = "Running" AND AgentPhase = "failed"`, id);
    await app.ended(thread, await app.turn(thread, [{ say: 'well' }]));
    await listed(`ExecutionStatus = "Running" AND AgentPhase = "idle"`, id);
  });

  it('reads one line of the log for each turn that ended, with figures and no word of it, and none of the SDK', async () => {
    const thread = await app.thread();
    const ended = async (turn: string) => {
      await app.ended(thread, turn);
      return await until('the turn is in the log', () => logged().find((line) => line.turn === turn));
    };
    const logged = () =>
      roleLog(app, 'worker')
        .split('\n')
        .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Record<string, unknown>] : []));
    const well = await app.turn(thread, [{ say: 'secret', call: [['workflow_list', {}]] }, { say: 'more secrets' }]);
    const line = await ended(well);
    expect(line).toMatchObject({
      level: 30,
      msg: 'turn completed',
      channel: 'api',
      thread,
      turn: well,
      steps: 2,
      calls: 1,
      usd: 0,
    });
    expect(Object.keys(line).sort()).toEqual([
      'calls',
      'channel',
      'level',
      'msg',
      'part',
      'seconds',
      'steps',
      'thread',
      'time',
      'tokens',
      'turn',
      'usd',
    ]);
    expect(await ended(await app.turn(thread, [{ fail: 401 }]))).toMatchObject({
      msg: 'turn failed',
      steps: 0,
      why: 'ModelUnauthorized',
    });
    expect(logged().filter((each) => each.turn === well)).toHaveLength(1);
    expect(logged().filter((each) => each.level === 30 && each.sdkComponent !== undefined)).toEqual([]);
    expect(roleLog(app, 'worker')).not.toContain('secret');
  });

  it('lists chats by channel, thread, money and what they wait for, and reads no word of the question', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, ASK);
    const id = await workflowOf(thread);
    await listed(`ExecutionStatus = "Running" AND AgentWaitsFor = "question"`, id);
    await listed(`AgentSince > "2020-01-01T00:00:00Z" AND AgentWaitsFor = "question"`, id);
    await listed(`ChatChannel = "api" AND AgentThread = "${thread}" AND SpendMicroUsd >= 0`, id);
    const { raw, staticDetails } = await temporal.workflow
      .getHandle(id)
      .describe()
      .then(async (d) => ({ raw: d.raw, staticDetails: await d.staticDetails() }));
    const history = historyToJSON(await temporal.workflow.getHandle(id).fetchHistory());
    const payloads = [...history.matchAll(/"data":\s*"([^"]+)"/g)].map((match) =>
      Buffer.from(match[1]!, 'base64').toString(),
    );
    expect([...payloads, JSON.stringify(raw), staticDetails ?? ''].filter((text) => text.includes('1234567'))).toEqual(
      [],
    );
    await app.say(thread, '1');
    await app.ended(thread, turn);
  });

  it('lists what waits, failed and sleeps by name, without a number of a phone; a failure until it is seen', async () => {
    const asks = await app.thread();
    const turn = await app.turn(asks, ASK);
    await listed(`ExecutionStatus = "Running" AND AgentWaitsFor = "question"`, await workflowOf(asks));
    const fails = await app.thread();
    const failed = await app.turn(fails, [{ fail: 401 }]);
    await app.ended(fails, failed);
    const { db } = app.store;
    const { chat_id } = await db
      .selectFrom('threads')
      .select('chat_id')
      .where('id', '=', fails)
      .executeTakeFirstOrThrow();
    await db.updateTable('spending').set({ micro_usd: 70_000 }).where('chat_id', '=', chat_id).execute();
    // somebody of whom nothing but the number is known
    const stranger = {
      id: 'whatsapp/stranger',
      address: '4917012345678@s.whatsapp.net',
      workflow_id: 'chat/whatsapp/x',
    };
    await db
      .insertInto('chats')
      .values({ ...stranger, channel: 'whatsapp', autonomy: 'cautious', workspace: null, workspace_host: null })
      .execute();
    const runs = async (...more: string[]) =>
      JSON.parse(await command('ps', '--json', ...more)) as Array<Record<string, unknown>>;
    const of = async (id: string) => {
      const workflow = await workflowOf(id);
      return (await runs()).find((run) => run.workflow === workflow);
    };
    const facts = {
      kind: 'chat',
      channel: 'api',
      spentUsd: expect.any(Number),
      since: expect.stringMatching(/^20.*Z$/),
    };
    expect(await of(asks)).toMatchObject({ ...facts, state: 'waiting', waitingFor: 'question' });
    expect(await of(fails)).toMatchObject({ ...facts, state: 'failed', waitingFor: null, why: expect.any(String) });
    expect((await runs()).map(({ state }) => state)).toEqual(
      (await runs()).map(({ state }) => state).toSorted((a, b) => STATES.indexOf(a) - STATES.indexOf(b)),
    );
    const text = await command('ps');
    expect(text).toMatch(/^NAME +CHANNEL +STATE +WAITING FOR +SPENT +SINCE\n/);
    expect(text).not.toContain('4917012345678');
    expect((await runs('--seen')).some(({ state }) => state === 'failed')).toBe(true);
    expect((await runs()).some(({ state }) => state === 'failed')).toBe(false);
    await app.say(asks, '1');
    await app.ended(asks, turn);
    expect(await of(asks)).toMatchObject({ ...facts, state: 'idle', waitingFor: null });
    await db.deleteFrom('chats').where('id', '=', stranger.id).execute();
  });

  it('finds ready links in the status', async () => {
    const thread = await app.thread();
    await app.ended(thread, await app.turn(thread, [{ say: 'one' }]));
    await app.store.db.updateTable('spending').set({ micro_usd: 5_000 }).execute();
    const stdout = await command('status');
    expect(stdout).toMatch(/waiting http:\/\/127\.0\.0\.1:\d+\/namespaces\/default\/workflows\?query=ExecutionStatus/);
    expect(stdout).toMatch(/failed http:\/\/127/);
    expect(stdout).toMatch(/dearest today \$0\.0050 http:\S+workflows\/chat%2Fapi%2F/);
  });
});

/**
 * What the row of the table in docs/running.md says of a waiting turn; `reset` and `delete` as the Web UI does them.
 */
describe('a conversation that an operator ends in the Web UI', () => {
  const ends: Record<string, (id: string, runId: string) => Promise<unknown>> = {
    terminates: (id) => temporal.workflow.getHandle(id).terminate('by an operator'),
    cancels: (id) => temporal.workflow.getHandle(id).cancel(),
    deletes: (id) =>
      temporal.workflowService.deleteWorkflowExecution({ namespace: 'default', workflowExecution: { workflowId: id } }),
    resets: async (id, runId) => {
      const { events } = await temporal.workflow.getHandle(id).fetchHistory();
      const first = events!.find((event) => event.workflowTaskCompletedEventAttributes)!;
      await temporal.workflowService.resetWorkflowExecution({
        namespace: 'default',
        workflowExecution: { workflowId: id, runId },
        workflowTaskFinishEventId: first.eventId,
        requestId: `reset-${runId}`,
        reason: 'by an operator',
      });
    },
  };

  it('has spent what it had spent, after it was terminated as well', async () => {
    const thread = await app.thread();
    await app.ended(thread, await app.turn(thread, [{ say: 'one' }]));
    const id = await workflowOf(thread);
    const { chat_id } = await app.store.db
      .selectFrom('threads')
      .select('chat_id')
      .where('id', '=', thread)
      .executeTakeFirstOrThrow();
    await app.store.db
      .insertInto('spending')
      .values({ chat_id, day: '2026-01-01', tokens: 9, micro_usd: 7_000_000, unpriced: 0 })
      .execute();
    await temporal.workflow.getHandle(id).terminate('by an operator');
    await app.ended(thread, await app.turn(thread, [{ say: 'two' }]));
    await listed(`ExecutionStatus = "Running" AND SpendMicroUsd >= 7000000`, id);
  });

  // side by side: a workflow that is gone is noticed by the next comparison of the store with the server
  it.concurrent.each(Object.keys(ends))(
    '%s it while a question is open: the answer still ends the turn, and each step was paid once',
    async (how) => {
      const thread = await app.thread();
      const turn = await app.turn(thread, [
        { call: [['ask_user', { question: 'Which?', options: ['red', 'green'] }]] },
        { say: 'You chose $LAST' },
      ]);
      await until('the question is open', async () => (await app.detail(thread)).pending_user_inputs.length === 1);
      const id = await workflowOf(thread);
      const { runId } = await temporal.workflow.getHandle(id).describe();
      await ends[how]!(id, runId);
      if (how === 'cancels') {
        // a cancellation ends the turn that runs, and the chat says so
        expect(['interrupted', 'failed', 'completed']).toContain((await app.ended(thread, turn, 110_000)).status);
      } else {
        // younger rows may simply be on their way: aged in place of a wait
        await app.store.db
          .updateTable('inbox')
          .set({ signalled_at: new Date(Date.now() - 3_600_000) })
          .where('turn_id', '=', turn)
          .execute();
        expect((await app.say(thread, '2')).kind).toBe('answer');
        expect((await app.ended(thread, turn, 110_000)).status).toBe('completed');
        expect(app.model.asked(turn)).toBe(2);
      }
      const next = await app.turn(thread, [{ say: 'still here' }]);
      expect((await app.ended(thread, next)).status).toBe('completed');
    },
  );
});
