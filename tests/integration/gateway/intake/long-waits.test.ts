import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { taskWorkflowId } from '../../../../src/contracts/ids.ts';
import { workspaceFreeSignal } from '../../../../src/contracts/signals.ts';
import { startTestApp, type TestApp } from '../../../support/app.ts';
import { requireDocker } from '../../../support/docker.ts';
import { findTask, inState, kennelReady, linesOf, startTask, workspace } from '../../../support/kennel-app.ts';
import { clientOf } from '../../../support/temporal-client.ts';
import { until } from '../../../support/until.ts';

let app: TestApp;
let connection: Connection;
let temporal: Client;
beforeAll(async () => {
  await requireDocker();
  app = await startTestApp({
    FETCH_PAYLOAD_KEYS: 'off',
    FETCH_MAX_HISTORY_EVENTS: '30',
    FETCH_QUESTION_REMIND_HOURS: String(6 / 3600),
  });
  connection = await Connection.connect({ address: app.temporalAddress });
  temporal = clientOf(app, connection);
  await kennelReady(app);
}, 180_000);
afterAll(async () => {
  await connection?.close();
  await app?.close();
});

const events = async (handle: WorkflowHandle) => (await handle.fetchHistory()).events ?? [];
/** Summaries are payloads of JSON. */
const timers = async (handle: WorkflowHandle) =>
  (await events(handle)).flatMap((event) =>
    event.timerStartedEventAttributes
      ? [
          {
            at: Number(event.eventId),
            seconds: Number(event.timerStartedEventAttributes.startToFireTimeout?.seconds),
            summary: JSON.parse(
              Buffer.from(event.userMetadata?.summary?.data ?? Buffer.from('""')).toString(),
            ) as string,
          },
        ]
      : [],
  );
const runOf = async (id: string) => (await temporal.workflow.getHandle(taskWorkflowId(id)).describe()).runId;

/**
 * Every process of the database, as a machine does whose disk hangs: those that have a connection would go on
 * otherwise.
 */
function postgres(signal: 'SIGSTOP' | 'SIGCONT'): void {
  const { pid } = app.state().roles.find((role) => role.name === 'postgres')!;
  const children = execFileSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' })
    .split('\n')
    .map(Number)
    .filter(Boolean);
  for (const each of [pid!, ...children]) process.kill(each, signal);
}

describe('a task that takes weeks', () => {
  it('continues as new as often as its history is full, and keeps its container, its questions and its answers', async () => {
    const { path } = await workspace(app, 'weeks');
    const { id, thread } = await startTask(
      app,
      'ask First? | one | two; write a.txt {answer}; ask Second? | red | green; write b.txt {answer}; wait 2',
      {
        workspace: 'weeks',
      },
    );
    const runs = new Set<string>();
    for (const question of ['First?', 'Second?']) {
      await until(`${question} is open`, () =>
        app.store.db
          .selectFrom('questions')
          .select('id')
          .where('thread_id', '=', thread)
          .where('state', '=', 'open')
          .where('prompt', 'like', `%${question}%`)
          .executeTakeFirst(),
      );
      runs.add(await runOf(id));
      await app.say(thread, '2');
    }
    await inState(app, id, 'completed');
    runs.add(await runOf(id));
    expect(runs.size).toBeGreaterThan(1);
    expect([
      readFileSync(join(path, 'a.txt'), 'utf8').trim(),
      readFileSync(join(path, 'b.txt'), 'utf8').trim(),
    ]).toEqual(['two', 'green']);
    const lines = await linesOf(app, id);
    expect(lines.filter((line) => line.type === 'ended')).toHaveLength(1);
    expect((await findTask(app, id)).step).toBe(1);
  });

  it('waits for its workspace on a look an hour and on the word of the task before it, also when it has continued as new', async () => {
    const { path } = await workspace(app, 'queue');
    const first = await startTask(app, 'wait 600', { workspace: 'queue' });
    await inState(app, first.id, 'running');
    const second = await startTask(app, 'write done.txt x', { workspace: 'queue' });
    const handle = temporal.workflow.getHandle(taskWorkflowId(second.id));
    const waiting = await until('it waits', async () =>
      (await timers(handle)).find((timer) => timer.summary === 'waiting for the workspace'),
    );
    expect(waiting.seconds).toBe(3600);
    const run = await runOf(second.id);
    await until('it continued as new', async () => {
      await handle.signal(workspaceFreeSignal);
      return (await runOf(second.id)) !== run;
    });
    expect((await findTask(app, second.id)).state).toBe('queued');
    await app.say(first.thread, 'stop');
    await inState(app, second.id, 'completed');
    expect(existsSync(join(path, 'done.txt'))).toBe(true);
  });
});

describe('a database that does not answer', () => {
  it('is waited for on timers after a minute, and the chat goes on when it is back', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [
      { call: [['ask_user', { question: 'Which?', options: ['red', 'green'] }]] },
      { say: 'You chose $LAST' },
    ]);
    const { workflow_id } = await app.store.db
      .selectFrom('threads')
      .innerJoin('chats', 'chats.id', 'threads.chat_id')
      .select('chats.workflow_id')
      .where('threads.id', '=', thread)
      .executeTakeFirstOrThrow();
    const handle = temporal.workflow.getHandle(workflow_id);
    await until('the question is open', async () => (await app.detail(thread)).pending_user_inputs.length === 1);
    const looks = async () => (await timers(handle)).filter((timer) => timer.summary.includes('is tried again'));
    let frozen: Awaited<ReturnType<typeof looks>>;
    let before: number;
    postgres('SIGSTOP');
    try {
      before = (await events(handle)).length;
      frozen = await until(
        'it waits for the second time',
        async () => ((await looks()).length > 1 ? await looks() : null),
        150_000,
      );
      console.info(`events of a frozen minute: ${frozen[0]!.at - before}, of a look: ${frozen[1]!.at - frozen[0]!.at}`);
    } finally {
      postgres('SIGCONT');
    }
    // one minute of heartbeats of the workflow task, then six events for each look
    expect(frozen[0]!.at - before).toBeLessThan(70);
    expect(frozen.map((timer) => timer.seconds)).toEqual([15, 30]);
    expect(frozen[1]!.at - frozen[0]!.at).toBeLessThan(8);
    await until(
      'the person is reminded',
      async () =>
        (
          await app.store.db
            .selectFrom('outbox')
            .selectAll()
            .where('turn_id', '=', turn)
            .where('id', 'like', '%remind%')
            .execute()
        ).length > 0,
      120_000,
    );
    await app.say(thread, '2');
    expect((await app.ended(thread, turn)).status).toBe('completed');
  }, 300_000);
});
