import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Client, Connection } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Decision } from '../../../src/contracts/decision.ts';
import { AGENT_QUEUE } from '../../../src/contracts/ids.ts';
import { newestAudit, verifyAudit } from '../../../src/store/home/audit-log.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { clientOf } from '../../support/temporal-client.ts';
import { until } from '../../support/until.ts';

let app: TestApp;
let connection: Connection;
let temporal: Client;
beforeAll(async () => {
  app = await startTestApp({ FETCH_AUTONOMY: 'supervised', FETCH_PAYLOAD_KEYS: 'off' });
  connection = await Connection.connect({ address: app.temporalAddress });
  temporal = clientOf(app, connection);
});
afterAll(async () => {
  await connection?.close();
  await app?.close();
});

const CREATE = [{ call: [['workflow_create', { name: 'tidy', steps: ['workflow_list'] }]] }, { say: 'Told: $LAST' }];
const ASK = [{ call: [['ask_user', { question: 'Which colour?' }]] }, { say: 'Told: $LAST' }];

const approval = (thread: string) =>
  until('an approval is asked for', async () => (await app.detail(thread)).pending_approvals[0]);
const answerOf = async (thread: string): Promise<string | undefined> =>
  (await app.detail(thread)).items.findLast((item) => item.kind === 'agent_message')?.detail;
const chatOf = (thread: string) =>
  app.store.db
    .selectFrom('chats')
    .innerJoin('threads', 'threads.chat_id', 'chats.id')
    .select(['chats.id', 'chats.workflow_id'])
    .where('threads.id', '=', thread)
    .executeTakeFirstOrThrow();
const routinesOf = async (thread: string): Promise<number> =>
  (
    await app.store.db
      .selectFrom('routines')
      .select('id')
      .where('chat_id', '=', (await chatOf(thread)).id)
      .execute()
  ).length;
const questionOf = (id: string) =>
  app.store.db.selectFrom('questions').selectAll().where('id', '=', id).executeTakeFirstOrThrow();

/**
 * What somebody may send who reaches the Temporal server and nothing else; returns when the workflow has dealt with it.
 */
async function forge(thread: string, questionId: string, decision: Decision): Promise<void> {
  const { workflow_id } = await chatOf(thread);
  const handle = temporal.workflow.getHandle(workflow_id);
  await handle.signal('arrived', { kind: 'answer', inboxId: `forged_${questionId}_${decision}`, questionId, decision });
  await until('the workflow has taken the signal', async () => {
    const events = (await handle.fetchHistory()).events ?? [];
    const at = events.findLastIndex((event) => event.workflowExecutionSignaledEventAttributes);
    return (
      events.slice(at).some((event) => event.workflowTaskCompletedEventAttributes) &&
      events.slice(at).some((event) => event.timerStartedEventAttributes)
    );
  });
}

describe('an approval', () => {
  it('is not given by a signal that nobody has decided: nothing runs, and the question stays open for its person', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, CREATE);
    const { id } = await approval(thread);
    await forge(thread, id, 'allow');
    await forge(thread, id, 'deny');
    expect(await routinesOf(thread)).toBe(0);
    expect((await app.detail(thread)).pending_approvals).toMatchObject([{ id }]);
    expect((await app.request('POST', `/v1/approvals/${id}`, { decision: 'allow' })).status).toBe(200);
    expect((await app.ended(thread, turn)).status).toBe('completed');
    expect(await routinesOf(thread)).toBe(1);
  });

  it('is refused on record whatever was signalled before and after', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, CREATE);
    const { id } = await approval(thread);
    await forge(thread, id, 'allow');
    await app.request('POST', `/v1/approvals/${id}`, { decision: 'deny' });
    await app.ended(thread, turn);
    expect(await routinesOf(thread)).toBe(0);
  });

  it('is kept with who gave it and when, and with the verdict of policy at that moment', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, CREATE);
    const { id } = await approval(thread);
    const call = await app.store.db.selectFrom('calls').select('policy').where('id', '=', id).executeTakeFirstOrThrow();
    expect(call.policy).toBe('ask');
    await app.say(thread, 'yes');
    await app.ended(thread, turn);
    expect(await questionOf(id)).toMatchObject({
      decision: 'allow',
      decided_by: { role: 'client', channel: 'api' },
      decided_at: expect.any(Date),
    });
  });

  it('of everything names the question that it was given to, for every call that ran by it', async () => {
    const thread = await app.thread();
    const create = (name: string) => ['workflow_create', { name, steps: ['workflow_list'] }];
    const turn = await app.turn(thread, [{ call: [create('a'), create('b')] }, { say: 'done' }]);
    const { id } = await approval(thread);
    await app.say(thread, 'yes all');
    await app.ended(thread, turn);
    const decided = await app.store.db
      .selectFrom('questions')
      .select(['id', 'decided_by'])
      .where('turn_id', '=', turn)
      .execute();
    expect(decided).toHaveLength(2);
    expect(decided.find((each) => each.id === id)?.decided_by).toEqual({ role: 'client', channel: 'api' });
    expect(decided.find((each) => each.id !== id)?.decided_by).toEqual({
      role: 'client',
      channel: 'api',
      standing: id,
    });
    const audited = (await newestAudit(app.store.db, 20))
      .map(({ body }) => JSON.parse(body))
      .filter(({ about }) => about.thread === thread || about.id === thread);
    expect(audited.map(({ what, by, about }) => ({ what, by, tool: about.tool })).reverse()).toEqual(
      expect.arrayContaining([
        { what: 'approval allow', by: { role: 'client', channel: 'api' }, tool: 'workflow_create' },
        { what: 'yes to all changed' },
        { what: 'approval allow', by: { role: 'client', channel: 'api', standing: id }, tool: 'workflow_create' },
      ]),
    );
    expect(audited).toHaveLength(3);
    expect((await verifyAudit(app.store.db, null)).findings).toEqual([]);
    expect(await routinesOf(thread)).toBe(2);
  });
});

describe('a call that waits for its approval', () => {
  it('is refused by the activity itself when a foreign workflow schedules it', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, CREATE);
    const { id } = await approval(thread);
    const native = await NativeConnection.connect({ address: app.temporalAddress });
    const worker = await Worker.create({
      connection: native,
      taskQueue: 'foreign',
      workflowsPath: fileURLToPath(new URL('../../support/foreign-workflow.ts', import.meta.url)),
    });
    const input = { callId: id, turnId: turn, threadId: thread };
    const acted = await worker.runUntil(
      temporal.workflow.execute('foreign', {
        taskQueue: 'foreign',
        workflowId: `foreign-${id}`,
        args: ['act', AGENT_QUEUE, input],
      }),
    );
    await native.close();
    expect(acted).toMatchObject({ ok: false });
    expect(await routinesOf(thread)).toBe(0);
    const call = await app.store.db.selectFrom('calls').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
    expect(call.output).toBe('workflow_create was not run: it needs an approval, and no approval of it is on record.');
    // the person's own yes comes too late for it, and does no harm
    await app.say(thread, 'yes');
    await app.ended(thread, turn);
    expect(await routinesOf(thread)).toBe(0);
  });
});

describe('the Web UI of the embedded server', () => {
  const path = '/api/v1/namespaces';

  it('lets nobody in without its token', async () => {
    expect((await fetch(app.temporalUi + path)).status).toBe(401);
    const token = readFileSync(join(app.home, 'ui-token'), 'utf8').trim();
    const entered = await fetch(`${app.temporalUi}/?token=${token}`, { redirect: 'manual' });
    const cookie = entered.headers.get('set-cookie')!.split(';')[0]!;
    const shown = await fetch(app.temporalUi + path, { headers: { cookie } });
    expect([shown.status, JSON.stringify(await shown.json())]).toEqual([200, expect.stringContaining('default')]);
    expect((await fetch(app.temporalUi + path, { headers: { cookie, origin: 'http://evil.example' } })).status).toBe(
      403,
    );
  });

  it.runIf(process.platform === 'linux')('has an HTTP API that answers to no host', async () => {
    const { pid } = app.state().roles.find(({ name }) => name === 'temporal')!;
    const answers: string[] = [];
    for (const port of listeningPorts(pid!)) {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(2_000) }).then(
        (each) => each.text(),
        () => '',
      );
      answers.push(answer);
    }
    expect(answers.some((answer) => answer.includes('Host not allowed'))).toBe(true);
    expect(answers.filter((answer) => answer.includes('namespaceInfo'))).toEqual([]);
  });
});

/** Ports that a process listens on at 127.0.0.1. */
function listeningPorts(pid: number): number[] {
  const sockets = new Set(
    readdirSync(`/proc/${pid}/fd`).map((fd) => /^socket:\[(\d+)\]$/.exec(readlink(`/proc/${pid}/fd/${fd}`))?.[1]),
  );
  return readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[3] === '0A' && fields[1]?.startsWith('0100007F:') && sockets.has(fields[9]))
    .map((fields) => Number.parseInt(fields[1]!.slice(9), 16));
}
const readlink = (path: string): string => {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
};

describe('a question', () => {
  it('is not answered by a signal that nobody has written', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, ASK);
    const { id } = await until('it is asked', async () => (await app.detail(thread)).pending_user_inputs[0]);
    await forge(thread, id, 'answered');
    expect((await app.detail(thread)).pending_user_inputs).toMatchObject([{ id }]);
    await app.say(thread, 'green');
    await app.ended(thread, turn);
    expect(await answerOf(thread)).toBe('Told: green');
  });
});
