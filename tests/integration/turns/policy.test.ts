import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { until } from '../../support/until.ts';

/** Long enough to answer an approval on a busy machine, short enough to wait for. */
const REMIND_MS = 2_000;
const EXPIRE_MS = 12_000;
const hours = (ms: number): string => String(ms / 3_600_000);

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({
    FETCH_AUTONOMY: 'supervised',
    FETCH_MAX_STEPS: '2',
    FETCH_QUESTION_REMIND_HOURS: hours(REMIND_MS),
    FETCH_QUESTION_EXPIRE_HOURS: hours(EXPIRE_MS),
  });
});
afterAll(() => app?.close());

const CREATE = [
  { call: [['workflow_create', { name: 'tidy', steps: ['workflow_list'] }]] },
  { say: 'Tool said: $LAST' },
];

const approval = (thread: string) =>
  until('an approval is asked for', async () => (await app.detail(thread)).pending_approvals[0]);
const decide = (id: string, decision: string) => app.request('POST', `/v1/approvals/${id}`, { decision });
const answerOf = async (thread: string, turn: string): Promise<string | undefined> =>
  (await app.detail(thread)).items.filter((item) => item.turn_id === turn && item.kind === 'agent_message').at(-1)
    ?.detail;
const routinesOf = async (thread: string): Promise<number> =>
  (
    await app.store.db
      .selectFrom('routines')
      .innerJoin('threads', 'threads.chat_id', 'routines.chat_id')
      .select('routines.id')
      .where('threads.id', '=', thread)
      .execute()
  ).length;

describe('supervised autonomy', () => {
  it('runs a MODERATE tool only after it was allowed, and takes one decision', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, CREATE);
    const { id } = await approval(thread);
    expect(await routinesOf(thread)).toBe(0);
    expect(await decide(id, 'allow')).toMatchObject({
      status: 200,
      body: { ok: true, approval_id: id, decision: 'allow', delivered: true },
    });
    expect((await decide(id, 'deny')).status).toBe(404);
    expect((await app.ended(thread, turn)).status).toBe('completed');
    expect(await answerOf(thread, turn)).toMatch(/^Tool said: Saved the routine "tidy"/);
    expect(await routinesOf(thread)).toBe(1);
  });

  it('does not run a tool that was denied, and tells the model so', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, CREATE);
    expect((await decide((await approval(thread)).id, 'deny')).status).toBe(200);
    expect((await app.ended(thread, turn)).status).toBe('completed');
    expect(await answerOf(thread, turn)).toMatch(/Nothing was run/);
    expect(await routinesOf(thread)).toBe(0);
  });

  it.each([
    ['yes', 1],
    ['no', 0],
  ])('understands "%s" in words', async (word, created) => {
    const thread = await app.thread();
    const turn = await app.turn(thread, CREATE);
    await approval(thread);
    expect((await app.say(thread, word)).kind).toBe('answer');
    expect((await app.ended(thread, turn)).status).toBe('completed');
    expect(await routinesOf(thread)).toBe(created);
  });

  it('asks nothing for a SAFE tool', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [{ call: [['workflow_list', {}]] }, { say: 'done' }]);
    expect((await app.ended(thread, turn)).status).toBe('completed');
    expect((await app.events(thread)).some((event) => event.event === 'approval.required')).toBe(false);
  });
});

describe('a routine and its schedule in a supervised chat', () => {
  const make = ['workflow_create', { name: 'tidy', steps: ['workflow_list|look', 'cron_list'] }];
  const both = [make, ['cron_create', { workflow: 'Tidy', schedule: '30 8 * * 1-5', name: 'mornings' }]];
  const together = [
    'workflow_create',
    { name: 'tidy', steps: ['workflow_list|look', 'cron_list'], schedule: '30 8 * * 1-5' },
  ];
  const questions = (turn: string) =>
    app.store.db
      .selectFrom('questions')
      .selectAll()
      .where('turn_id', '=', turn)
      .orderBy('asked_at')
      .orderBy('id')
      .execute();
  const results = async (turn: string) =>
    (await app.store.db.selectFrom('calls').selectAll().where('turn_id', '=', turn).orderBy('position').execute()).map(
      ({ ok, output }) => [ok, output],
    );
  const schedulesOf = async (thread: string) =>
    (
      await app.store.db
        .selectFrom('crons')
        .innerJoin('threads', 'threads.chat_id', 'crons.chat_id')
        .select(['crons.name', 'crons.schedule'])
        .where('threads.id', '=', thread)
        .execute()
    ).map(({ name, schedule }) => `${name}: ${schedule}`);
  const asked = async (thread: string): Promise<number> =>
    (await app.events(thread)).filter((event) => event.event === 'approval.required').length;

  it.each([
    ['one call', [together], ['tidy: 30 8 * * 1-5']],
    ['two calls of one answer', both, ['mornings: 30 8 * * 1-5']],
  ])('are one question, by %s, that shows both', async (_, calls, scheduled) => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [{ call: calls }, { say: 'done' }]);
    const { id } = await approval(thread);
    const [question] = await questions(turn);
    expect(question!.prompt).toBe('Save the routine "tidy", and run it every weekday at 8:30?');
    expect(question!.evidence).toMatch(/^1\. look: List the routines.*\n2\. List the schedules of this chat/);
    expect(await schedulesOf(thread)).toEqual([]);
    await decide(id, 'allow');
    expect((await app.ended(thread, turn)).status).toBe('completed');
    expect([await routinesOf(thread), await schedulesOf(thread), await asked(thread)]).toEqual([1, scheduled, 1]);
    for (const { decision, decided_by } of await questions(turn))
      expect([decision, decided_by]).toMatchObject(['allow', { role: 'client' }]);
    for (const [ok] of await results(turn)) expect(ok).toBe(true);
  });

  it('are neither made after a no', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [{ call: both }, { say: 'done' }]);
    await decide((await approval(thread)).id, 'deny');
    expect((await app.ended(thread, turn)).status).toBe('completed');
    expect([await routinesOf(thread), await schedulesOf(thread), await asked(thread)]).toEqual([0, [], 1]);
    expect(await results(turn)).toEqual([
      [false, expect.stringContaining('Nothing was run')],
      [false, expect.stringContaining('Nothing was run')],
    ]);
  });

  it('are two questions where the routine of that name is another one than was shown', async () => {
    const thread = await app.thread();
    const first = await app.turn(thread, [{ call: [make] }, { say: 'done' }]);
    await decide((await approval(thread)).id, 'allow');
    await app.ended(thread, first);
    const turn = await app.turn(thread, [{ call: both }, { say: 'done' }]);
    const { id } = await approval(thread);
    await decide(id, 'allow');
    await until('the schedule is asked about', async () => (await asked(thread)) === 3);
    expect(await schedulesOf(thread)).toEqual([]);
    expect((await app.say(thread, 'no')).kind).toBe('answer');
    expect((await app.ended(thread, turn)).status).toBe('completed');
    expect(await schedulesOf(thread)).toEqual([]);
  });
});

describe('a question that nobody answers', () => {
  it('reminds once, then expires, and the turn goes on without it', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [
      { call: [['ask_user', { question: 'Which colour?' }]] },
      { say: 'Model was told: $LAST' },
    ]);
    expect((await app.ended(thread, turn)).status).toBe('completed');
    expect(await answerOf(thread, turn)).toMatch(/Nobody answered in time/);
    const sent = await until('everything was sent', async () => {
      const rows = await app.store.db
        .selectFrom('outbox')
        .selectAll()
        .where('turn_id', '=', turn)
        .orderBy('ord')
        .execute();
      return rows.every((row) => row.state === 'sent') ? rows : null;
    });
    expect(sent.map((row) => row.kind)).toEqual(['question', 'notice', 'answer']);
    expect(sent[1]!.body).toMatch(/^I am still waiting for your answer:\nWhich colour\?/);
    expect((await app.detail(thread)).pending_user_inputs).toEqual([]);
    expect((await app.events(thread)).filter((event) => event.event === 'user_input.canceled')).toHaveLength(1);
  });
});

describe('a budget', () => {
  it('ends the turn before the next model step and says what to raise; the chat goes on', async () => {
    const thread = await app.thread();
    const before = app.model.requests().length;
    const list = { call: [['workflow_list', {}]] };
    const turn = await app.turn(thread, [list, list, { say: 'never said' }]);
    const ended = await app.ended(thread, turn);
    expect(ended.status).toBe('failed');
    expect(ended.error).toMatch(
      /The budget for steps in a turn is used up: 2 of 2\. What was done so far is kept\. .*under Settings/,
    );
    expect(app.model.requests().length).toBe(before + 2);
    const [told] = await until('the person is told', async () => {
      const rows = await app.store.db
        .selectFrom('outbox')
        .selectAll()
        .where('turn_id', '=', turn)
        .where('state', '=', 'sent')
        .execute();
      return rows.length > 0 ? rows : null;
    });
    expect(told!.body).toMatch(/^The budget for steps in a turn is used up/);
    const next = await app.turn(thread, [{ say: 'still here' }]);
    expect((await app.ended(thread, next)).status).toBe('completed');
  });
});
