import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Context } from '@temporalio/activity';
import { Client, Connection, type WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { dataConverter } from '../../../src/adapters/payloads/codec.ts';
import { readPayloadKeys } from '../../../src/cli/instance/home/payload-keys.ts';
import { buildWorkflowBundle } from '../../../src/cli/roles/temporal/workflow-bundle.ts';
import type { TestApp } from '../../support/app.ts';
import { echoQuery, echoUpdate, wordSignal } from '../../support/canary-workflow.ts';
import { inState, startTask, startTaskApp, workspace } from '../../support/kennel-app.ts';
import { clientOf } from '../../support/temporal-client.ts';
import { workflowOfThread } from '../../support/thread.ts';
import { until } from '../../support/until.ts';

/**
 * No words that a person or a model wrote can be read in what Temporal stores. FETCH_UI_TEXT=on lets the product give
 * it some.
 */

let app: TestApp;
let connection: Connection;
/** has the keys */
let temporal: Client;
/** has none, as somebody who only reaches the server */
let stranger: Client;
beforeAll(async () => {
  app = await startTaskApp({ FETCH_UI_TEXT: 'on' });
  connection = await Connection.connect({ address: app.temporalAddress });
  temporal = clientOf(app, connection);
  stranger = new Client({ connection });
}, 180_000);
afterAll(async () => {
  await connection?.close();
  await app?.close();
});

let made = 0;
/** Each is one of a kind, and begins like all others. */
function canary(): string {
  made += 1;
  return `Kanarie${String(made).padStart(4, '0')}`;
}
const FORMS = ['Kanarie', 'KANARIE', Buffer.from('Kanarie').toString('hex')];
/** base64 of a word depends on where in a group of three bytes it begins */
for (const before of ['', 'x', 'xx'])
  FORMS.push(
    Buffer.from(`${before}Kanarie`)
      .toString('base64')
      .slice(before.length + 1, 9),
  );

const sightings = (text: string): string[] => FORMS.filter((form) => text.includes(form));
/** The database of the server, as it lies on the disk. */
const stored = (): string =>
  readdirSync(app.home)
    .filter((name) => /^temporal-.*\.sqlite/.test(name))
    .map((name) => readFileSync(join(app.home, name), 'latin1'))
    .join('\n');

const allRuns = () => Array.fromAsync(temporal.workflow.list());
/** What the server gives of a run to anybody who asks: history, memo, summary and details. */
async function readAsStranger(workflowId: string, runId?: string): Promise<string> {
  const { workflowService } = connection;
  const of = { namespace: 'default', execution: { workflowId, runId } };
  const answers = JSON.stringify([
    await workflowService.describeWorkflowExecution(of),
    await workflowService.getWorkflowExecutionHistory(of),
  ]);
  const plain = [...answers.matchAll(/"data":\s*"([^"]+)"/g)].map(([, data]) =>
    Buffer.from(data!, 'base64').toString('latin1'),
  );
  return [answers, ...plain].join('\n');
}

const anyThread = async (): Promise<string> =>
  (await app.store.db.selectFrom('turns').select('thread_id').executeTakeFirstOrThrow()).thread_id;
const ENTRY = fileURLToPath(new URL('../../../bin/fetch.js', import.meta.url));
async function fetchCommand(...args: string[]): Promise<string> {
  const env = { ...process.env, FETCH_HOME: app.home, FETCH_POSTGRES_PORT: new URL(app.databaseUrl).port };
  return (await promisify(execFile)(process.execPath, [ENTRY, ...args], { env })).stdout;
}

it('the Web UI encrypts and decrypts for those whom it lets in', async () => {
  const token = readFileSync(join(app.home, 'ui-token'), 'utf8').trim();
  const entered = await fetch(`${app.temporalUi}/?token=${token}`, { redirect: 'manual' });
  const headers = { cookie: entered.headers.get('set-cookie')!.split(';')[0]!, 'content-type': 'application/json' };
  const ask = async (action: 'encode' | 'decode', payloads: unknown): Promise<unknown> => {
    const body = JSON.stringify(payloads);
    return (await fetch(`${app.temporalUi}/codec/${action}`, { method: 'POST', headers, body })).json();
  };
  const plain = { payloads: [{ metadata: { encoding: btoa('json/plain') }, data: btoa('"hello"') }] };
  const sealed = await ask('encode', plain);
  expect(JSON.stringify(sealed)).toContain(btoa('binary/encrypted'));
  expect(await ask('decode', sealed)).toEqual(plain);
});

describe('a thousand canaries', () => {
  it('are in chats, questions, failures, schedules and tasks of the product, and none in its Temporal server', async () => {
    const chats = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const thread = await app.thread();
        const question = { question: `${canary()} or not?`, options: [canary(), canary()] };
        const asked = await app.turn(thread, [{ call: [['ask_user', question]] }, { say: `${canary()} $LAST` }]);
        await until('the question is open', async () => (await app.detail(thread)).pending_user_inputs.length === 1);
        const details = await temporal.workflow
          .getHandle(await workflowOfThread(app.store.db, thread))
          .query<{ currentDetails?: string }>('__temporal_workflow_metadata')
          .then((metadata) => JSON.stringify(metadata));
        await app.say(thread, '1');
        await app.ended(thread, asked);
        await app.ended(thread, await app.turn(thread, [{ say: canary() }, { fail: 401 }]));
        return details;
      }),
    );
    // the words do go to Temporal, and are read there with the key
    expect(chats.join('\n')).toMatch(/Kanarie/);
    const thread = await app.thread();
    const routine = { name: 'sings', steps: [{ tool: 'read_output', args: { callId: '{{input.id}}' } }] };
    const cron = { workflow: 'sings', schedule: '0 4 * * *', inputs: { id: canary() } };
    await app.ended(
      thread,
      await app.turn(thread, [
        { call: [['workflow_create', routine]] },
        { call: [['cron_create', cron]] },
        { say: '$LAST' },
      ]),
    );
    expect(await app.store.db.selectFrom('crons').select('id').execute()).toHaveLength(1);
    await workspace(app, 'aviary');
    const task = await startTask(app, `ask ${canary()}? | ${canary()} | no; write ${canary()}.txt ${canary()}`, {
      workspace: 'aviary',
    });
    await until('the task asks', () =>
      app.store.db.selectFrom('questions').select('id').where('state', '=', 'open').executeTakeFirst(),
    );
    await app.say(task.thread, '1');
    await inState(app, task.id, 'completed');
  });

  it('are given to each place of Temporal that takes text, and cannot be read in its file or by a client without the key', async () => {
    Runtime.install({
      logger: new DefaultLogger('ERROR', () => {}),
      telemetryOptions: { logging: { forward: {}, filter: { core: 'ERROR', other: 'ERROR' } } },
    });
    const native = await NativeConnection.connect({ address: app.temporalAddress });
    const keys = () => readPayloadKeys({ FETCH_HOME: app.home, FETCH_PAYLOAD_KEYS: undefined });
    const worker = await Worker.create({
      connection: native,
      taskQueue: 'canaries',
      dataConverter: dataConverter(keys),
      workflowBundle: await buildWorkflowBundle(
        fileURLToPath(new URL('../../support/canary-workflow.ts', import.meta.url)),
      ),
      activities: {
        async beat(heartbeat: string, failure: string) {
          const { info, heartbeat: tell } = Context.current();
          if (info.attempt > 1)
            throw ApplicationFailure.nonRetryable(`${failure} ${info.heartbeatDetails}`, 'Beaten', { failure });
          tell(heartbeat);
          throw new Error(failure);
        },
      },
    });
    const RUNS = 80;
    const failures = await worker.runUntil(
      Promise.all(
        Array.from({ length: RUNS }, async (_, at) => {
          const words = {
            memo: canary(),
            details: canary(),
            heartbeat: canary(),
            summary: canary(),
            failure: canary(),
            timer: canary(),
            end: canary(),
          };
          const handle = await temporal.workflow.start('canary', {
            taskQueue: 'canaries',
            workflowId: `canary-${at}`,
            args: [words],
            memo: { given: canary() },
            staticSummary: canary(),
            staticDetails: canary(),
          });
          const word = canary();
          expect(await handle.executeUpdate(echoUpdate, { args: [word] })).toBe(word);
          expect(await handle.query(echoQuery, word)).toContain(word);
          await handle.signal(wordSignal, canary());
          const failed = await handle.result().catch((error: WorkflowFailedError) => error);
          return { words, message: (failed as WorkflowFailedError).cause?.message };
        }),
      ),
    );
    // a chat of the product, from its encrypted history
    const chat = temporal.workflow.getHandle(await workflowOfThread(app.store.db, await anyThread()));
    await Worker.runReplayHistory(
      { workflowBundle: await buildWorkflowBundle(), dataConverter: dataConverter(keys) },
      await chat.fetchHistory(),
      chat.workflowId,
    );
    await native.close();
    // the failure went through two converters and the heartbeat through a retry, and both came back whole
    expect(failures.map(({ message }) => message)).toEqual(
      failures.map(({ words }) => `${words.end} after ${words.failure} ${words.heartbeat}`),
    );
    await temporal.schedule.create({
      scheduleId: 'canary',
      spec: { intervals: [{ every: 3_600_000 }] },
      action: {
        type: 'startWorkflow',
        workflowType: 'canary',
        workflowId: 'canary-of-schedule',
        taskQueue: 'canaries',
        args: [canary()],
        staticSummary: canary(),
      },
      memo: { word: canary() },
    });
    expect(made).toBeGreaterThanOrEqual(1000);

    const runs = await allRuns();
    expect(runs.length).toBeGreaterThan(RUNS + 9);
    const read = await Promise.all(
      runs.map(
        async ({ workflowId, runId }) => [workflowId, sightings(await readAsStranger(workflowId, runId))] as const,
      ),
    );
    expect(read.filter(([, found]) => found.length > 0)).toEqual([]);
    expect(sightings(stored())).toEqual([]);
    // a plain one would have been seen
    await stranger.workflow.start('canary', { taskQueue: 'nobody', workflowId: 'plain', args: ['Kanarie0000'] });
    expect(sightings(stored())).toContain('Kanarie');
    expect(sightings(await readAsStranger('plain'))).toContain('Kanarie');
    await stranger.workflow.getHandle('plain').terminate();
  });

  it('are read on after the key was rotated, and a role without the keys does not begin', async () => {
    const thread = await app.thread();
    const asked = await app.turn(thread, [
      { call: [['ask_user', { question: 'Before the rotation?' }]] },
      { say: 'You said $LAST' },
    ]);
    await until('the question is open', async () => (await app.detail(thread)).pending_user_inputs.length === 1);
    expect(await fetchCommand('payload-keys', 'list')).toMatch(/^[0-9a-f]{12} {2}encrypts {2}since/);
    await app.stop();
    const made = /The new key (\w+)/.exec(await fetchCommand('payload-keys', 'rotate'))?.[1];
    await app.start();
    await app.say(thread, 'yes');
    await app.ended(thread, asked);
    expect((await app.detail(thread)).items.at(-1)?.detail).toBe('You said yes');
    expect(await fetchCommand('payload-keys', 'list')).toMatch(
      new RegExp(`^${made} {2}encrypts .*\\n[0-9a-f]{12} {2}decrypts `),
    );
    const elsewhere = join(app.home, 'elsewhere');
    const worker = fetchCommand(
      'worker',
      '--home',
      elsewhere,
      '--temporal-address',
      app.temporalAddress,
      '--database-url',
      app.databaseUrl,
    );
    await expect(worker).rejects.toThrow(`encrypted with the key ${made}, which this home does not have`);

    // without the key and the file that it opens, a new one of each is made
    await app.stop();
    for (const name of readdirSync(app.home))
      if (/^(temporal-.*\.sqlite|payload-keys)/.test(name)) rmSync(join(app.home, name));
    await app.start();
    expect(await fetchCommand('payload-keys', 'list')).toMatch(/^[0-9a-f]{12} {2}encrypts .*\n$/);
  });
});
