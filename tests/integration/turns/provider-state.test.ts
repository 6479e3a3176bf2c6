import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import type { Payload } from '@temporalio/common';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createPayloadCodec } from '../../../src/adapters/payloads/codec.ts';
import { readPayloadKeys } from '../../../src/cli/instance/home/payload-keys.ts';
import { type Detail, script, startTestApp, type TestApp } from '../../support/app.ts';
import { holding } from '../../support/holding.ts';
import { CANARY } from '../../support/strict-provider.ts';
import { clientOf } from '../../support/temporal-client.ts';
import { until } from '../../support/until.ts';

/** A model that refuses a request which lacks what it gave with an earlier step: thoughts, and signatures of calls. */

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({}, { strict: true });
});
afterAll(() => app?.close());

const report = (message: string) => ['report_progress', { message }];
/**
 * A turn of two steps with calls. In the first one a call without a signature, and one that is refused, stand between
 * others.
 */
const twoSteps = (name: string, middle: object = {}): unknown[] => [
  {
    call: [report(`one ${name}`), report(`two ${name}`), ['report_progress', '{"message": '], report(`three ${name}`)],
  },
  { call: [report(`four ${name}`)], ...middle },
  { say: `done ${name}` },
];
async function begin(thread: string, steps: unknown[], fields: object = {}): Promise<string> {
  const { status, body } = await app.request('POST', `/v1/threads/${thread}/turns`, {
    prompt: script(steps),
    ...fields,
  });
  expect(status).toBe(201);
  return (body as { turn: { id: string } }).turn.id;
}
async function completed(thread: string, turnId: string, answer: string): Promise<void> {
  const { status } = await app.ended(thread, turnId);
  // not even once: what was learned from a refusal would hide it
  const refused = app.model
    .requests()
    .filter(({ requestId, refusal }) => refusal !== undefined && requestId.startsWith(turnId));
  expect([status, refused.map(({ refusal }) => refusal)]).toEqual(['completed', []]);
  expect(textsOf(await app.detail(thread))).toContain(answer);
}
const textsOf = ({ items }: Detail): string[] =>
  items.flatMap(({ kind, detail }) => (kind === 'agent_message' && detail ? [detail] : []));
const talk = async (thread: string, name: string, fields: object = {}): Promise<void> =>
  await completed(thread, await begin(thread, twoSteps(name), fields), `done ${name}`);

it('gets them back in the turn and in later ones, also where a call was refused', async () => {
  const thread = await app.thread();
  await talk(thread, 'first');
  await talk(thread, 'second');
});

it('gets them back after the worker was killed between two steps, and after a restart while a question is open', async () => {
  const thread = await app.thread();
  const killed = await begin(thread, twoSteps('killed', { hang: true, times: 1 }));
  await until('the second step is asked for', () => app.model.asked(killed) === 2);
  app.kill('worker');
  await completed(thread, killed, 'done killed');
  await app.whenReady();

  const asking = await begin(thread, [
    { call: [['ask_user', { question: 'Go on?', options: ['yes', 'no'] }]] },
    { say: 'went on' },
  ]);
  await until('the question is open', async () => (await app.detail(thread)).pending_user_inputs.length === 1);
  await app.stop();
  await app.start();
  await app.say(thread, '1');
  await completed(thread, asking, 'went on');
});

it('gets them back in a copy, after a summary, and beside a model that never sees them', async () => {
  const thread = await app.thread();
  await talk(thread, 'source');
  const copy = ((await app.request('POST', `/v1/threads/${thread}/fork`, {})).body as { id: string }).id;
  await talk(copy, 'copied');
  const { turn } = (await app.request('POST', `/v1/threads/${copy}/compact`, {})).body as { turn: { id: string } };
  expect(await app.ended(copy, turn.id)).toMatchObject({ status: 'completed' });
  await talk(copy, 'after the summary');
  await talk(thread, 'by another', { model: 'another' });
  await talk(thread, 'by the first again');
  await talk(thread, 'by the other again', { model: 'another' });
});

it('refuses a step whose state is lost, so these tests would see it', async () => {
  const thread = await app.thread();
  const turn = await begin(thread, [
    { call: [['ask_user', { question: 'Go on?', options: ['yes', 'no'] }]] },
    { say: 'never' },
  ]);
  await until('the question is open', async () => (await app.detail(thread)).pending_user_inputs.length === 1);
  await app.store.db.updateTable('transcript').set({ step_state: null }).where('turn_id', '=', turn).execute();
  await app.say(thread, '1');
  expect(await app.ended(thread, turn)).toMatchObject({ status: 'failed' });
});

it('is the only one that sees them: no log, answer of the API or payload of Temporal has them', async () => {
  expect(await holding(app.store.db, CANARY)).toEqual(['transcript']);
  const threads = await app.store.db.selectFrom('threads').select('id').execute();
  const paths = [
    '/v1/threads',
    '/v1/sessions',
    '/v1/usage',
    ...threads.flatMap(({ id }) => [`/v1/threads/${id}`, `/v1/sessions/${id}`]),
  ];
  const answers = await Promise.all(paths.map(async (path) => JSON.stringify((await app.request('GET', path)).body)));
  expect(answers.filter((answer) => answer.includes(CANARY))).toEqual([]);
  const logs = filesIn(join(app.home, 'logs'));
  expect(logs.length).toBeGreaterThan(0);
  expect(logs.filter((file) => readFileSync(file, 'utf8').includes(CANARY))).toEqual([]);
  const payloads = await payloadsOfTemporal();
  // they are read with the key: words of the chat are among them
  expect(payloads.some((payload) => payload.includes('turn_'))).toBe(true);
  expect(payloads.filter((payload) => payload.includes(CANARY))).toEqual([]);
});

it('a deleted session has none of them', async () => {
  const thread = await app.thread();
  await talk(thread, 'deleted');
  const left = () =>
    app.store.db
      .selectFrom('transcript')
      .select('step_state')
      .where('thread_id', '=', thread)
      .where('step_state', 'is not', null)
      .execute();
  expect(await left()).not.toEqual([]);
  expect((await app.request('DELETE', `/v1/sessions/${thread}`)).status).toBeLessThan(300);
  expect(await left()).toEqual([]);
});

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((file) => statSync(file).isFile());

/** Every payload in the histories of all workflows, decrypted. */
async function payloadsOfTemporal(): Promise<string[]> {
  const connection = await Connection.connect({ address: app.temporalAddress });
  try {
    const client = clientOf(app, connection);
    const runs = await Array.fromAsync(client.workflow.list());
    const codec = createPayloadCodec(() => readPayloadKeys({ FETCH_HOME: app.home, FETCH_PAYLOAD_KEYS: undefined }));
    const histories = await Promise.all(
      runs.map(({ workflowId, runId }) => client.workflow.getHandle(workflowId, runId).fetchHistory()),
    );
    const found = histories.flatMap((history) => payloadsIn(history));
    return (await codec.decode(found)).map(({ data }) => Buffer.from(data ?? []).toString('utf8'));
  } finally {
    await connection.close();
  }
}

function payloadsIn(value: unknown): Payload[] {
  if (value === null || typeof value !== 'object' || value instanceof Uint8Array) return [];
  const { metadata, data } = value as Payload;
  if (metadata && data instanceof Uint8Array) return [value as Payload];
  return Object.values(value).flatMap(payloadsIn);
}
