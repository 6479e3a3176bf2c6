import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { accountOf } from '../../../src/adapters/model/endpoint/endpoint.ts';
import { nextFirings } from '../../../src/domain/cron.ts';
import { limitedAt, noteLimit } from '../../../src/store/turns/limits.ts';
import { today } from '../../../src/store/turns/steps/spending.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { until } from '../../support/until.ts';

let app: TestApp;
beforeAll(async () => {
  // what is told after half a minute and given up after ten is told after a second and given up after six; a turn has
  // no more than six seconds of work
  app = await startTestApp({
    FETCH_MODEL_TELL_SECONDS: '1',
    FETCH_MODEL_SILENCE_SECONDS: '6',
    FETCH_MODEL_WAIT_HOURS: '2',
    FETCH_MAX_TURN_MINUTES: String(6 / 60),
    FETCH_TIME_ZONE: 'Europe/Berlin',
  });
});
afterAll(() => app?.close());
// one account: what a test left known of it must not hold up the next
afterEach(() => app.store.db.deleteFrom('model_limits').execute());

const notices = (turn: string) =>
  app.store.db
    .selectFrom('outbox')
    .select(['body', 'state'])
    .where('turn_id', '=', turn)
    .where('kind', '=', 'notice')
    .execute();
const told = (turn: string, what: RegExp) =>
  until('the wait is told in the chat', async () =>
    (await notices(turn)).find(({ body, state }) => what.test(body) && state === 'sent'),
  );
/** The line of `status` that says what the turn waits for. */
const statusLine = async (thread: string): Promise<string | undefined> => {
  const before = (await app.detail(thread)).items.length;
  await app.say(thread, 'status');
  const items = await until('status has answered', async () => {
    const all = (await app.detail(thread)).items;
    return all.length > before && all.slice(before).find((item) => item.kind === 'agent_message');
  });
  return /^Waiting for .*/m.exec(items.detail ?? '')?.[0];
};

describe('a rate limit', () => {
  it('is waited for as long as it says, told once, kept over a killed worker, and is no time of the turn', async () => {
    const thread = await app.thread();
    const limited = { fail: 429, retryAfter: 9, times: 1, call: [['workflow_list', {}]] };
    const turn = await app.turn(thread, [limited, { say: 'at last' }]);
    const { body } = await told(turn, /is at its limit until \d\d:\d\d\. I go on then by myself; `stop` ends it\.$/);
    expect(body).toMatch(/^The model at 127\.0\.0\.1:\d+ is at its limit/);
    expect(await statusLine(thread)).toMatch(/^Waiting for the model's rate limit until \d\d:\d\d$/);
    app.kill('worker');
    expect((await app.ended(thread, turn)).status).toBe('completed');
    expect(app.model.asked(turn)).toBe(3);
    expect(await notices(turn)).toHaveLength(1);
    expect((await app.detail(thread)).items.filter((item) => item.summary === body)).toHaveLength(1);
    expect(await statusLine(thread)).toBeUndefined();
  });

  it('of an hour ends at once on a stop', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [{ fail: 429, retryAfter: 3_600 }]);
    await told(turn, /at its limit until/);
    await app.say(thread, 'stop');
    expect((await app.ended(thread, turn, 10_000)).status).toBe('interrupted');
    expect(app.model.asked(turn)).toBe(1);
  });

  it('that is longer than a turn waits is told at once, with its time', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [{ fail: 429, retryAfter: 3 * 3_600 }]);
    const { status, error } = await app.ended(thread, turn, 10_000);
    expect(status).toBe('failed');
    expect(error).toMatch(
      /^The model is at a limit for longer than I wait\..*\(It said: at its limit until .*\d\d:\d\d\. Rate limit exceeded/,
    );
    expect(app.model.asked(turn)).toBe(1);
  });
});

describe('a limit that others have met', () => {
  const met = (name: string, opensInS: number) =>
    noteLimit(app.store.db, limitedAt(accountOf(app.model.baseUrl, 'test-key'), name), {
      kind: 'limit',
      namedMs: opensInS * 1_000,
    });

  it('costs no request while it lasts, and holds for its model alone', async () => {
    await met('scripted', 4);
    const [held, free] = [await app.thread(), await app.thread({ model: 'other' })];
    const turn = await app.turn(held, [{ say: 'later' }]);
    const other = await app.turn(free, [{ say: 'now' }]);
    expect((await app.ended(free, other)).status).toBe('completed');
    expect(app.model.asked(turn)).toBe(0);
    expect((await app.ended(held, turn)).status).toBe('completed');
    expect(app.model.asked(turn)).toBe(1);
    expect(await app.store.db.selectFrom('model_limits').select('model').execute()).toEqual([]);
  });

  it('that lasts longer than a turn waits ends it without a request; of those who write after a quarter of an hour, one asks whether it opened early', async () => {
    await met('scripted', 3 * 3_600);
    const thread = await app.thread();
    const turn = await app.turn(thread, [{ say: 'no' }]);
    expect((await app.ended(thread, turn)).error).toMatch(
      /\(It said: at its limit until .*Another chat or task has met this limit\.\)$/,
    );
    expect(app.model.asked(turn)).toBe(0);
    await app.store.db.updateTable('model_limits').set({ trying_until: sql<Date>`now()` }).execute();
    const again = await app.turn(thread, [{ say: 'it opened early' }]);
    expect((await app.ended(thread, again)).status).toBe('completed');
    expect(await app.store.db.selectFrom('model_limits').select('model').execute()).toEqual([]);
  });
});

describe('a budget that is used up', () => {
  const chatOf = async (thread: string): Promise<string> =>
    (await app.store.db.selectFrom('threads').select('chat_id').where('id', '=', thread).executeTakeFirstOrThrow())
      .chat_id;
  const spend = async (thread: string, usd: number) =>
    await app.store.db
      .insertInto('spending')
      .values({ chat_id: await chatOf(thread), day: today('Europe/Berlin'), tokens: 1, micro_usd: usd * 1_000_000 })
      .onConflict((c) => c.columns(['chat_id', 'day']).doUpdateSet({ micro_usd: usd * 1_000_000 }))
      .execute();
  const questions = (thread: string) =>
    app.store.db.selectFrom('questions').selectAll().where('thread_id', '=', thread).orderBy('asked_at').execute();
  const asked = (thread: string, count: number) =>
    until(`question ${count} is open`, async () => {
      const all = await questions(thread);
      return all.length === count && all.at(-1)!.state === 'open' && all.at(-1)!.delivered_at ? all.at(-1)! : null;
    });
  const read = (thread: string) =>
    app.store.db
      .selectFrom('outbox')
      .select(['kind', 'body'])
      .where('thread_id', '=', thread)
      .orderBy('created_at')
      .execute();

  it('defect 45: is asked about once over kills of the worker and the database, and a yes goes on exactly there for so much more', async () => {
    const thread = await app.thread();
    await spend(thread, 30);
    const turn = await app.turn(thread, [{ call: [['workflow_list', {}]] }, { say: 'all of it' }]);
    const question = await asked(thread, 1);
    expect(question.prompt).toBe('I have spent $30 of $25 today. Continue for $25 more?');
    expect(await statusLine(thread)).toMatch(/^Waiting for your answer: I have spent/);
    app.kill('worker');
    app.kill('postgres');
    await app.whenReady();
    expect(app.model.asked(turn)).toBe(0);
    await app.say(thread, 'yes');
    expect((await app.ended(thread, turn)).status).toBe('completed');
    expect(app.model.asked(turn)).toBe(2);
    expect(await questions(thread)).toHaveLength(1);
    // so much more, and then it asks again
    await spend(thread, 56);
    const next = await app.turn(thread, [{ say: 'no' }]);
    const second = await asked(thread, 2);
    expect(second.prompt).toBe('I have spent $56 of $55 today. Continue for $25 more?');
    await app.say(thread, 'no');
    expect((await app.ended(thread, next)).status).toBe('completed');
    expect(app.model.asked(next)).toBe(0);
    const said = (await read(thread)).map(({ body }) => body).join('\n');
    expect(said).toMatch(/I stopped here, because no more is to be spent\./);
    expect(said).not.toMatch(/FETCH_|microUsd/);
  });

  it('of one answer keeps what was said, also when the answer is no', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [
      { say: 'The first half is done.', call: [['ask_user', { question: 'Which half next?' }]] },
      { say: 'never' },
    ]);
    await asked(thread, 1);
    await app.store.db.updateTable('steps').set({ micro_usd: 5_500_000 }).where('turn_id', '=', turn).execute();
    await app.say(thread, 'the second');
    expect((await asked(thread, 2)).prompt).toBe('I have spent $5.50 of $5 on this answer. Continue for $5 more?');
    await app.say(thread, 'no');
    expect((await app.ended(thread, turn)).status).toBe('completed');
    expect((await read(thread)).at(-1)!.body).toMatch(/So far I had said:\nThe first half is done\.$/);
    expect(app.model.asked(turn)).toBe(1);
  });

  it('is told once at four fifths, for each budget and period', async () => {
    const thread = await app.thread();
    await spend(thread, 21);
    for (const words of ['one', 'two']) await app.ended(thread, await app.turn(thread, [{ say: words }]));
    const told = (await read(thread)).filter(({ kind }) => kind === 'notice');
    expect(told.map(({ body }) => body)).toEqual(['I have spent $21 of $25 today. At $25 I ask before I go on.']);
  });

  it('counts by the day and the month of the owner, with what coding tasks have spent', async () => {
    const thread = await app.thread();
    const yesterday = sql<string>`${today('Europe/Berlin')} - 1`;
    await app.store.db
      .insertInto('spending')
      .values({ chat_id: await chatOf(thread), day: yesterday, tokens: 1, micro_usd: 26_000_000 })
      .execute();
    await app.store.db
      .insertInto('task_spending')
      .values({ chat_id: await chatOf(thread), day: today('Europe/Berlin'), tokens: 1, micro_usd: 240_000_000 })
      .execute();
    const turn = await app.turn(thread, [{ say: 'on' }]);
    const { prompt } = await asked(thread, 1);
    expect(prompt).toMatch(/^I have spent \$2(?:66|40) of \$250 this month\. Continue for \$250 more\?$/);
    await app.say(thread, 'stop');
    expect((await app.ended(thread, turn, 10_000)).status).toBe('interrupted');
    expect((await questions(thread))[0]!.state).toBe('cancelled');
  });
});

describe('a person who takes long', () => {
  it('is waited for, and the model then counts from the time that it is', async () => {
    const bodies: string[] = [];
    app.model.hear((body) => bodies.push(body));
    const thread = await app.thread();
    const turn = await app.turn(thread, [
      { call: [['ask_user', { question: 'Shall it be every hour?' }]] },
      { call: [['cron_create', { prompt: 'look', schedule: 'every 60 minutes', name: 'hourly' }]] },
      { say: 'done' },
    ]);
    await until('it asks', async () =>
      app.store.db.selectFrom('questions').select('id').where('turn_id', '=', turn).executeTakeFirst(),
    );
    await sql`update turns set created_at = created_at - interval '3 hours',
      started_at = started_at - interval '3 hours' where id = ${turn}`.execute(app.store.db);
    await app.say(thread, 'yes');
    await app.ended(thread, turn);
    const berlin = (at: number) => new Date(at).toLocaleTimeString('sv-SE', { timeZone: 'Europe/Berlin' }).slice(0, 5);
    const told = [...bodies.at(-1)!.matchAll(/It is \S+ \S+ (\d\d:\d\d) \(Europe\/Berlin\S*\)( now)?/g)];
    expect(told.map(([, , now]) => now)).toEqual([undefined, ' now']);
    expect([berlin(Date.now()), berlin(Date.now() - 60_000)]).toContain(told[1]![1]);
    expect(told[0]![1]).not.toBe(told[1]![1]);
    const { schedule } = await app.store.db
      .selectFrom('crons')
      .select('schedule')
      .where('name', '=', 'hourly')
      .executeTakeFirstOrThrow();
    const next = nextFirings(schedule, 'UTC', new Date(), 1)[0]!.getTime() - Date.now();
    expect(next).toBeGreaterThan(59 * 60_000);
  });
});

describe('an endpoint that says nothing', () => {
  it('is told, and given up in the end; what was done is kept', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [{ hang: true }]);
    const { body } = await told(turn, /has not answered/);
    expect(body).toMatch(
      /^The model at 127\.0\.0\.1:\d+ has not answered for 1 seconds; still waiting until \d\d:\d\d\. `stop` ends it\.$/,
    );
    expect(await statusLine(thread)).toMatch(/^Waiting for the model at 127\.0\.0\.1:\d+, which says nothing, until/);
    const { status, error } = await app.ended(thread, turn, 30_000);
    expect([status, error]).toEqual(['failed', expect.stringMatching(/^The model gave no answer for too long\./)]);
    expect((await notices(turn)).filter(({ body }) => /has not answered|gives no answer/.test(body))).toHaveLength(1);
    // a lost connection is asked again, once
    expect(app.model.asked(turn)).toBe(2);
  });
});

describe('an endpoint that fails', () => {
  it('is asked again for as long as a silent one', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [{ fail: 503, retryAfter: 1 }]);
    await told(turn, /gives no answer; I try again until \d\d:\d\d\. `stop` ends it\. \(It said: Server error \(503\)/);
    expect((await app.ended(thread, turn, 30_000)).status).toBe('failed');
    expect(app.model.asked(turn)).toBeGreaterThan(3);
  });
});
