import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LogEvent, LogLine } from '../../../src/contracts/kennel.ts';
import type { OwnerNow, OwnerQuestion } from '../../../src/contracts/owner.ts';
import type { ThreadRecord, TurnRecord } from '../../../src/contracts/records.ts';
import { onThread } from '../../../src/store/chats/thread-transaction.ts';
import { readEvents } from '../../../src/store/chats/threads/events.ts';
import { noteAsk } from '../../../src/store/kennel/egress-rules.ts';
import { askAboutHosts, dueEgress } from '../../../src/store/kennel/questions/egress-questions.ts';
import { askForPlan } from '../../../src/store/kennel/questions/task-plans.ts';
import { askForTask } from '../../../src/store/kennel/questions/task-questions.ts';
import {
  insertShipment,
  setHead,
  setPull,
  setShipmentState,
  setWaits,
} from '../../../src/store/kennel/shipments/shipments.ts';
import { storeLines } from '../../../src/store/kennel/tasks/task-log.ts';
import { endTask, setTaskLimited, type Task } from '../../../src/store/kennel/tasks/tasks.ts';
import { closeTurn, turnState } from '../../../src/store/turns/turns.ts';
import { type OwnerApi, startOwnerApi } from '../../support/owner-api.ts';
import { until } from '../../support/until.ts';

let owner: OwnerApi;
beforeAll(async () => {
  owner = await startOwnerApi();
}, 120_000);
afterAll(() => owner?.close());

const now = () => owner.get<OwnerNow>('/v1/owner/now');
const waiting = async (taskId: string): Promise<OwnerQuestion> =>
  (await now()).waiting.find(({ task }) => task?.id === taskId)!;
const line = (seq: number, event: LogEvent): LogLine => ({ seq, step: 1, at: new Date().toISOString(), ...event });
const asked = async (task: Task, event: LogEvent & { id: string }) => {
  await storeLines(owner.api.store.db, task, [line(1, event)]);
  await askForTask(owner.api.store.db, task, event.id);
};
const send = ({ method, path }: { method: string; path: string }, body: object) =>
  owner.ask<{ error?: { message: string } }>(method, path, body);
const decision = async (id: string) =>
  await owner.api.store.db
    .selectFrom('questions')
    .select(['state', 'decision', 'answer', 'decided_by'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow();

const end = (thread: string, turn: string, status: 'failed' | 'completed', why?: string) =>
  onThread(
    owner.api.store.db,
    thread,
    async (tx) => await closeTurn(tx, (await turnState(tx.now, turn))!, status, why),
  );

describe('a pull request that is watched', () => {
  it('is listed with what it waits for, until it is merged', async () => {
    const { db } = owner.api.store;
    const { chat_id } = await owner.task('add a login');
    const shipment = { id: 'ship_listed', call_id: 'call_listed', host: 'h', workspace: 'demo', repository: 'o/demo' };
    const at = { clone_url: 'https://x/o/demo', branch: 'login', base: 'main', commit: 'a'.repeat(40) };
    await insertShipment(db, { chat_id, ...shipment, ...at, title: 'Add a login', body: '', rule: 'ask' });
    const listed = async () => (await now()).watched.find(({ id }) => id === 'ship_listed');
    expect(await listed()).toMatchObject({ title: 'demo', url: null, doing: 'is being made' });
    await setPull(db, 'ship_listed', { number: 12, url: 'https://x/o/demo/pull/12', head: 'a'.repeat(40) });
    await setShipmentState(db, 'ship_listed', { state: 'watching' });
    await setWaits(db, { id: 'ship_listed' }, 'approved');
    expect(await listed()).toMatchObject({
      title: '#12 "Add a login"',
      url: 'https://x/o/demo/pull/12',
      doing: 'is approved, and waits for your word to merge',
      chat: { channel: 'api' },
    });
    await setHead(db, 'ship_listed', 'b'.repeat(40));
    expect(await listed()).toMatchObject({ doing: 'is watched' });
    await setShipmentState(db, 'ship_listed', { state: 'merged', ended: 'merged' });
    expect(await listed()).toBeUndefined();
  });
});

describe('what waits for the owner', () => {
  it('is a question with a button for each choice, and a field for own words', async () => {
    const task = await owner.task('choose a colour');
    await asked(task, { type: 'question', id: 'which', question: 'Which colour?', options: ['red', 'blue'] });
    const question = await waiting(task.id);
    expect(question).toMatchObject({
      kind: 'question',
      prompt: 'Which colour?',
      evidence: null,
      task: { goal: 'choose a colour' },
      chat: { channel: 'api' },
    });
    expect(question.answer.choices.map(({ label }) => label)).toEqual(['red', 'blue']);
    const words = question.answer.words!;
    words.answers[0].value = 'green, please';
    expect((await send(question.answer, words)).status).toBe(200);
    expect(await decision(question.id)).toMatchObject({
      state: 'answered',
      answer: 'green, please',
      decided_by: { role: 'client' },
    });
    expect(await waiting(task.id)).toBeUndefined();
  });

  it('is an approval with the whole command; a yes from a screen that showed less of it is refused', async () => {
    const task = await owner.task('install');
    const command = `echo ${'x'.repeat(30_000)}; rm -rf /`;
    await asked(task, { type: 'permission', id: 'perm', title: 'run a command', kind: 'execute', command });
    const listed = await waiting(task.id);
    expect([listed.kind, listed.evidence_rest > 0, listed.evidence!.includes('rm -rf')]).toEqual([
      'approval',
      true,
      false,
    ]);
    const yes = ({ answer }: OwnerQuestion) => answer.choices.find(({ kind }) => kind === 'yes')!.body;
    const refused = await send(listed.answer, yes(listed));
    expect([refused.status, refused.body.error?.message]).toEqual([
      409,
      expect.stringContaining('show all of it before a yes'),
    ]);
    expect(await decision(listed.id)).toMatchObject({ state: 'open' });
    const whole = await owner.get<OwnerQuestion>(`/v1/owner/questions/${listed.id}`);
    expect([whole.evidence_rest, whole.evidence!.endsWith('rm -rf /')]).toEqual([0, true]);
    expect((await send(whole.answer, yes(whole))).status).toBe(200);
    expect(await decision(listed.id)).toMatchObject({
      state: 'answered',
      decision: 'allow',
      decided_by: { role: 'client', channel: 'api' },
    });
    expect((await owner.ask('GET', `/v1/owner/questions/${listed.id}`)).status).toBe(404);
  });

  it('is told to a client that reads the thread later as its event told it', async () => {
    const task = await owner.task('install');
    await asked(task, {
      type: 'permission',
      id: 'perm',
      title: 'run a command',
      kind: 'execute',
      command: 'npm install',
    });
    const events = await readEvents(owner.api.store.db, task.thread_id, 0, 100);
    const { payload } = events.find(({ event }) => event === 'approval.required')!;
    const detail = await owner.get<{ pending_approvals: object[] }>(`/v1/threads/${task.thread_id}`);
    expect(detail.pending_approvals).toEqual([{ ...payload, turn_id: expect.any(String) }]);
  });

  it('can always be refused, also when only its beginning was shown', async () => {
    const task = await owner.task('delete everything');
    await asked(task, { type: 'permission', id: 'perm', title: 'run', kind: 'execute', command: 'y'.repeat(25_000) });
    const question = await waiting(task.id);
    expect((await send(question.answer, question.answer.choices.find(({ kind }) => kind === 'no')!.body)).status).toBe(
      200,
    );
    expect(await decision(question.id)).toMatchObject({ decision: 'deny' });
  });

  it('is a plan: yes, no, or other words that change it', async () => {
    const task = await owner.task('a login page');
    await owner.api.store.db.updateTable('tasks').set({ planning: true }).where('id', '=', task.id).execute();
    await storeLines(owner.api.store.db, task, [
      line(1, { type: 'proposal', text: '1. Add a page\n\nFiles: login.html' }),
    ]);
    await askForPlan(owner.api.store.db, task, 1);
    const question = await waiting(task.id);
    expect([question.kind, question.evidence, question.answer.choices.map(({ label }) => label)]).toEqual([
      'plan',
      expect.stringContaining('Add a page'),
      ['yes', 'no'],
    ]);
    expect((await send(question.answer, { ...question.answer.choices[0]!.body, seen: 3 })).status).toBe(409);
    expect((await send(question.answer, question.answer.choices[0]!.body)).status).toBe(200);
    expect(await decision(question.id)).toMatchObject({ decision: 'allow' });
  });

  it('is a question about hosts, which a verdict answers and other words do not', async () => {
    const task = await owner.task('fetch packages');
    const { db } = owner.api.store;
    await noteAsk(db, task.id, { host: 'packages.example.com', port: 443 }, 'npm');
    const due = await until('it is time to ask', () => dueEgress(db, task), 30_000);
    await askAboutHosts(db, task, due.questionId);
    const question = await waiting(task.id);
    expect([question.kind, question.prompt]).toEqual([
      'hosts',
      expect.stringMatching(/^npm in \S+ wants packages\.example\.com\.$/),
    ]);
    expect(question.answer.choices.map(({ label, kind }) => `${label}: ${kind}`)).toEqual([
      'once: yes',
      'this task: yes',
      'this project: yes',
      'no: no',
      'never: no',
    ]);
    expect(question.answer.words).toBeNull();
    expect((await send(question.answer, question.answer.choices[1]!.body)).status).toBe(200);
    expect(
      await db
        .selectFrom('egress_rules')
        .select(['host', 'allowed', 'task_id'])
        .where('task_id', '=', task.id)
        .execute(),
    ).toEqual([{ host: 'packages.example.com', allowed: true, task_id: task.id }]);
  });
});

describe('what runs', () => {
  it('is a turn that can be stopped, and a task with its progress', async () => {
    const { body: thread } = await owner.ask<ThreadRecord>('POST', '/v1/threads', {});
    const { body } = await owner.ask<{ turn: TurnRecord }>('POST', `/v1/threads/${thread.id}/turns`, {
      prompt: 'read the log',
    });
    const task = await owner.task('tidy up');
    await storeLines(owner.api.store.db, task, [
      line(1, { type: 'tool', id: 't1', title: 'Edit main.ts', kind: 'edit', status: 'in_progress' }),
    ]);
    const { running } = await now();
    const turn = running.find(({ id }) => id === body.turn.id)!;
    expect(turn).toMatchObject({
      kind: 'turn',
      title: 'read the log',
      state: 'running',
      chat: { thread_id: thread.id, name: 'read the log' },
    });
    expect(running.find(({ id }) => id === task.id)).toMatchObject({
      kind: 'task',
      state: 'running',
      doing: 'Edit main.ts',
    });
    const [stop] = turn.actions;
    expect((await owner.ask(stop!.method, stop!.path)).status).toBe(200);
  });

  it('says until when a task waits for a limit of its model, and offers to go on at once', async () => {
    const task = await owner.task('limited');
    const opens = new Date(Date.now() + 3_600_000);
    await setTaskLimited(owner.api.store.db, task.id, opens, 'waits for its model');
    const seen = (await now()).running.find(({ id }) => id === task.id)!;
    expect([seen.state, seen.until, seen.actions.map(({ name }) => name)]).toEqual([
      'limited',
      opens.toISOString(),
      ['stop', 'resume', 'pause'],
    ]);
  });
});

describe('what failed', () => {
  it('comes with its reason and with the words that try it again, until its person writes again', async () => {
    const { body: thread } = await owner.ask<ThreadRecord>('POST', '/v1/threads', {});
    const { body } = await owner.ask<{ turn: TurnRecord }>('POST', `/v1/threads/${thread.id}/turns`, {
      prompt: 'will not work',
    });
    const { turn } = body;
    await end(thread.id, turn.id, 'failed', 'the model refused the key');
    const failure = (await now()).failed.find(({ id }) => id === turn.id)!;
    expect(failure).toMatchObject({ kind: 'turn', title: 'will not work', why: 'the model refused the key' });
    const [again] = failure.actions;
    expect(again).toEqual({
      name: 'again',
      method: 'POST',
      path: `/v1/threads/${thread.id}/messages`,
      body: { text: 'will not work' },
    });
    const { body: said } = await owner.ask<{ turn_id: string }>(again!.method, again!.path, again!.body!);
    await end(thread.id, said.turn_id, 'completed');
    expect((await now()).failed.find(({ id }) => id === turn.id)).toBeUndefined();
  });

  it('is a task with the sentence of its end, until the owner has seen it', async () => {
    const task = await owner.task('impossible');
    const result = { summary: 'no', changes: null, tests: null, said: '' };
    await endTask(owner.api.store.db, task.id, {
      state: 'failed',
      reason: 'There is no such file.',
      result,
      outboxId: 'out_x',
    });
    const failure = (await now()).failed.find(({ id }) => id === task.id)!;
    expect(failure).toMatchObject({ kind: 'task', title: 'impossible', why: 'There is no such file.' });
    const seen = failure.actions.find(({ name }) => name === 'seen')!;
    expect((await owner.ask(seen.method, seen.path)).status).toBe(200);
    expect((await now()).failed.find(({ id }) => id === task.id)).toBeUndefined();
  });
});
