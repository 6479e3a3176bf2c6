import { describe, expect, it } from 'vitest';
import { type SharedApp, useSharedApp } from '../../../support/shared-app.ts';
import { until } from '../../../support/until.ts';

let app: SharedApp;
useSharedApp((shared) => {
  app = shared;
});

const names = async (thread: string): Promise<string[]> => (await app.events(thread)).map((event) => event.event);
const answerOf = async (thread: string, turn: string): Promise<string | undefined> =>
  (await app.detail(thread)).items.filter((item) => item.turn_id === turn && item.kind === 'agent_message').at(-1)
    ?.detail;

/** bodies of a turn's messages once all are sent, in the order of their sending */
const sent = async (turn: string): Promise<string[]> => {
  const rows = await until('everything is sent', async () => {
    const found = await app.store.db
      .selectFrom('outbox')
      .select(['body', 'state'])
      .where('turn_id', '=', turn)
      .where('state', '!=', 'dropped')
      .orderBy('sent_at')
      .execute();
    return found.length > 0 && found.every((row) => row.state === 'sent') && found;
  });
  return rows.map((row) => row.body);
};

describe('a conversation', () => {
  it('answers a message and writes its events in the order that clients expect', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [{ say: 'Hello there.' }]);
    expect((await app.ended(thread, turn)).status).toBe('completed');
    expect(await names(thread)).toEqual([
      'thread.started',
      'turn.started',
      'item.started',
      'item.completed',
      'turn.lifecycle',
      'item.started',
      'item.delta',
      'item.completed',
      'turn.completed',
    ]);
    expect(await answerOf(thread, turn)).toBe('Hello there.');
    await until('the reply was sent', async () =>
      (await app.store.db.selectFrom('outbox').selectAll().where('turn_id', '=', turn).execute()).every(
        (row) => row.state === 'sent' && row.attempts === 1,
      ),
    );
  });

  it('defect 49: gives a repeated Idempotency-Key the same turn and answers it once', async () => {
    const thread = await app.thread();
    const first = await app.turn(thread, [{ say: 'once' }], 'key-1');
    await app.ended(thread, first);
    const before = app.model.requests().length;
    expect(await app.turn(thread, [{ say: 'once' }], 'key-1')).toBe(first);
    const second = await app.turn(thread, [{ say: 'twice' }], 'key-2');
    await app.ended(thread, second);
    expect(app.model.requests().length).toBe(before + 1);
  });

  it('lets exactly one of simultaneous starts win', async () => {
    const thread = await app.thread();
    // the turn must outlast the starts: a late one may begin the next turn
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, n) =>
        app.request('POST', `/v1/threads/${thread}/turns`, { prompt: `SCRIPT:[{"say":"${n}","pace":3000}]` }),
      ),
    );
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, 409, 409, 409, 409, 409]);
    const turn = (answers.find((answer) => answer.status === 201)!.body as { turn: { id: string } }).turn.id;
    expect((await app.ended(thread, turn)).status).toBe('completed');
  });

  it('runs tool calls and shows their results to the model', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [
      { call: [['report_progress', { message: 'half way', percent: 50 }]] },
      { say: 'Tool said: $LAST' },
    ]);
    expect((await app.ended(thread, turn)).status).toBe('completed');
    expect(await answerOf(thread, turn)).toMatch(/^Tool said: ./);
  });

  it('defect 48: gives bad arguments and unknown tools back to the model as errors', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [
      {
        call: [
          ['report_progress', { percent: 'many' }],
          ['no_such_tool', {}],
        ],
      },
      { say: 'Understood: $LAST' },
    ]);
    const ended = await app.ended(thread, turn);
    expect(ended.status).toBe('completed');
    const calls = (await app.detail(thread)).items.filter((item) => item.kind === 'tool_call');
    expect(calls.map((call) => call.status)).toEqual(['failed', 'failed']);
    expect(await answerOf(thread, turn)).toMatch(/no_such_tool/);
  });

  it('defect 19: answers also when the task that was wanted could not be made', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [
      { call: [['task_create', { goal: 'tidy up', workspace: 'nowhere' }]] },
      { say: 'It was not begun: $LAST' },
    ]);
    expect((await app.ended(thread, turn)).status).toBe('completed');
    expect(await sent(turn)).toEqual([expect.stringMatching(/^It was not begun: ./)]);
  });

  it('defect 21: tells progress in its own thread, and in no other', async () => {
    const threads = await Promise.all(['one', 'two'].map(() => app.thread()));
    const turns = await Promise.all(
      threads.map((thread, n) =>
        app.turn(thread, [{ call: [['report_progress', { message: `progress of ${n}` }]] }, { say: 'done' }]),
      ),
    );
    await Promise.all(threads.map((thread, n) => app.ended(thread, turns[n]!)));
    for (const [n, thread] of threads.entries()) {
      const told = JSON.stringify((await app.detail(thread)).items);
      expect(told).toContain(`progress of ${n}`);
      expect(told).not.toContain(`progress of ${1 - n}`);
      const call = await app.store.db
        .selectFrom('calls')
        .select('metadata')
        .where('turn_id', '=', turns[n]!)
        .executeTakeFirstOrThrow();
      expect(call.metadata).toEqual({ sent: true });
    }
  });

  it('defect 44: makes more tool calls in one turn than five, and asks nobody to go on', async () => {
    const thread = await app.thread();
    const calls = Array.from({ length: 8 }, (_, n) => ({
      call: [['report_progress', { message: `part ${n}` }]] as [[string, object]],
    }));
    const turn = await app.turn(thread, [...calls, { say: 'All eight are done.' }]);
    expect((await app.ended(thread, turn)).status).toBe('completed');
    expect(
      (await app.detail(thread)).items.filter((item) => item.turn_id === turn && item.kind === 'tool_call'),
    ).toHaveLength(8);
    expect(await answerOf(thread, turn)).toBe('All eight are done.');
  });

  it('defect 28: waits for an answer given by number and goes on with the word', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [
      { call: [['ask_user', { question: 'Which colour?', options: ['red', 'green'] }]] },
      { say: 'You chose $LAST' },
    ]);
    await until('the question is open', async () => (await app.detail(thread)).pending_user_inputs.length === 1);
    expect((await app.say(thread, '7')).kind).toBe('reply');
    expect((await app.detail(thread)).items.at(-1)!.detail).toBe(
      'There is no choice 7. Answer with one of these, or in your own words:\n1. red\n2. green',
    );
    expect((await app.say(thread, '2')).kind).toBe('answer');
    expect((await app.ended(thread, turn)).status).toBe('completed');
    expect(await answerOf(thread, turn)).toBe('You chose green');
  });

  it('says that an answer to a closed question is too late', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [{ call: [['ask_user', { question: 'Sure?' }]] }, { say: 'fine' }]);
    const [input] = await until('the question is open', async () => {
      const pending = (await app.detail(thread)).pending_user_inputs;
      return pending.length > 0 ? pending : null;
    });
    const answer = { answers: [{ id: 'a', label: 'yes', value: 'yes' }] };
    expect((await app.request('POST', `/v1/user-input/${thread}/${input!.id}`, answer)).status).toBe(200);
    await app.ended(thread, turn);
    expect((await app.request('POST', `/v1/user-input/${thread}/${input!.id}`, answer)).status).toBe(404);
  });

  it('defect 43: steers a running turn at its next step instead of being busy', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [{ say: 'first answer, slowly', pace: 120 }]);
    await until('the model is asked', () => app.model.requests().some((entry) => entry.requestId.startsWith(turn)));
    expect((await app.say(thread, 'SCRIPT:[{"say":"steered answer"}]')).kind).toBe('steer');
    const ended = await app.ended(thread, turn);
    expect(ended).toMatchObject({ status: 'completed', steer_count: 1 });
    expect(await answerOf(thread, turn)).toBe('steered answer');
    // a phone shows no stream: both answers are messages
    expect(await sent(turn)).toEqual(['first answer, slowly', 'steered answer']);
  });

  it('sends what is said before a question ahead of the question', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [
      { say: 'There are two ways.', call: [['ask_user', { question: 'Which one?' }]] },
      { say: 'so be it' },
    ]);
    await until('the question is sent', async () => (await sent(turn)).length === 2);
    await app.say(thread, 'the first');
    await app.ended(thread, turn);
    expect(await sent(turn)).toEqual(['There are two ways.', expect.stringMatching(/^Which one\?/), 'so be it']);
  });

  it('stops on the word stop, keeps what was streamed, and can go on afterwards', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [{ say: 'word '.repeat(400), pace: 100 }]);
    await until('text streams', async () => (await names(thread)).includes('item.delta'));
    expect((await app.say(thread, 'Stop!')).kind).toBe('stop');
    expect((await app.ended(thread, turn)).status).toBe('interrupted');
    const item = (await app.detail(thread)).items.find((each) => each.kind === 'agent_message');
    expect(item).toMatchObject({ status: 'interrupted' });
    const next = await app.turn(thread, [{ say: 'back again' }]);
    expect((await app.ended(thread, next)).status).toBe('completed');
  });

  it('answers in a turn of its own what was written after the stop', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [{ say: 'word '.repeat(400), pace: 100 }]);
    await until('text streams', async () => (await names(thread)).includes('item.delta'));
    // both arrive before the turn has ended, or the second one starts a turn by itself: it is answered either way
    await Promise.all([
      app.say(thread, 'stop'),
      until('the stop is in', async () => (await names(thread)).includes('turn.interrupt_requested')).then(() =>
        app.say(thread, 'SCRIPT:[{"say":"answered after the stop"}]'),
      ),
    ]);
    expect((await app.ended(thread, turn)).status).toBe('interrupted');
    const next = await until('the later message has its turn', async () =>
      (await app.detail(thread)).turns.find((each) => each.id !== turn),
    );
    expect((await app.ended(thread, next.id)).status).toBe('completed');
    expect(await answerOf(thread, next.id)).toBe('answered after the stop');
    const ended = (await app.events(thread)).findIndex((event) => event.event === 'item.interrupted');
    expect(
      (await app.events(thread))
        .slice(ended + 1)
        .some((event) => event.event === 'item.delta' && event.turn_id === turn),
    ).toBe(false);
  });

  it('fails a turn at once, and readably, when the key is refused', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [{ fail: 401, times: 99 }]);
    const ended = await app.ended(thread, turn);
    expect(ended.status).toBe('failed');
    // our sentence first, which says what to do; theirs behind it
    expect(ended.error).toMatch(
      /^The key for the model was refused\. Put in another one on my page, under Settings, Model\. \(It said: Authentication failed/,
    );
  });

  it('tries again after a server error and answers once', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, [{ fail: 500, times: 2, say: 'recovered' }]);
    expect((await app.ended(thread, turn)).status).toBe('completed');
  });

  it('answers status and help without the model', async () => {
    const thread = await app.thread();
    const before = app.model.requests().length;
    expect((await app.say(thread, 'status')).kind).toBe('reply');
    expect((await app.say(thread, 'help')).kind).toBe('reply');
    expect((await app.detail(thread)).items.filter((item) => item.kind === 'agent_message')).toHaveLength(2);
    expect(app.model.requests().length).toBe(before);
  });
});
