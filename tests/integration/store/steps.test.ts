import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StepState } from '../../../src/contracts/model.ts';
import { compactionPoint, dialogueText, toModelMessages } from '../../../src/domain/chat/context/context.ts';
import { freshId, steerItemId } from '../../../src/store/chats/ids.ts';
import { receive } from '../../../src/store/chats/messages/inbox.ts';
import { onThread } from '../../../src/store/chats/thread-transaction.ts';
import { readEvents } from '../../../src/store/chats/threads/events.ts';
import { openStore } from '../../../src/store/postgres/database.ts';
import { finishTurn } from '../../../src/store/turns/finish.ts';
import type { Answer } from '../../../src/store/turns/steps/answer-writes.ts';
import { beginCall, settle, settleBegun } from '../../../src/store/turns/steps/calls.ts';
import { callIdOf } from '../../../src/store/turns/steps/new-calls.ts';
import { loadSubject } from '../../../src/store/turns/steps/step-subject.ts';
import { keepLost, storeAnswer } from '../../../src/store/turns/steps/steps.ts';
import { addSummary, loadHistory, remember } from '../../../src/store/turns/steps/transcript.ts';
import { addUserItem, openTurn } from '../../../src/store/turns/turns.ts';
import { startTestDatabase, type TestDatabase } from '../../support/database.ts';
import { newThread } from '../../support/thread.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await startTestDatabase();
}, 60_000);
afterAll(() => database?.close());

const freshThread = async (): Promise<string> => (await newThread(database.store.db)).threadId;
const begin = (threadId: string, text: string): Promise<string> =>
  onThread(database.store.db, threadId, (tx) => openTurn(tx, { text }).id);
const steer = (threadId: string, turnId: string, text: string): Promise<void> =>
  onThread(database.store.db, threadId, (tx) =>
    addUserItem(tx, { id: freshId('item_'), turnId, text, announceStart: false }),
  );
const read = async (threadId: string): Promise<number> =>
  (await loadHistory(database.store.db, threadId)).messages.at(-1)!.ord;

const CALL: Answer['calls'][number] = {
  providerId: 'p',
  args: { message: 'm' },
  verdict: {
    name: 'report_progress',
    danger: 'SAFE',
    effect: 'idempotent',
    summary: 'report_progress',
    timeoutMs: 1000,
  },
};
const MODEL = { account: 'http://model', name: 'm' };
const answer = (text: string, readUpto: number, calls = 0): Answer => ({
  text,
  calls: Array.from({ length: calls }, () => CALL),
  model: 'm',
  usage: { inputTokens: 3, outputTokens: 2, microUsd: 1 },
  readUpto,
  item: { id: freshId('item_'), begun: false, rest: text },
});
const think = async (
  threadId: string,
  turnId: string,
  step: number,
  text: string,
  options: { calls?: number; readUpto?: number; state?: StepState; refused?: number } = {},
) => {
  const { db } = database.store;
  const input = { threadId, turnId, step };
  const subject = (await loadSubject(db, input, MODEL, 'UTC'))!;
  const given = { ...answer(text, options.readUpto ?? (await read(threadId)), options.calls), state: options.state };
  if (options.refused !== undefined)
    given.calls[options.refused] = {
      ...CALL,
      args: {},
      refusal: 'not JSON',
      verdict: { ...CALL.verdict, refused: true },
    };
  return await storeAnswer(db, input, subject, given);
};
const act = async (callId: string, output: string): Promise<void> => {
  const { call } = (await beginCall(database.store.db, callId, ['report_progress']))!;
  await settleBegun(database.store.db, call, { ok: true, output });
};
const named = async (threadId: string) =>
  (await readEvents(database.store.db, threadId, 0, 200)).map((event) => event.event);

describe('a dialogue that is kept in memory', () => {
  const shown = async (db: TestDatabase['store']['db'], threadId: string) => {
    const { summary, messages, calls, files } = await loadHistory(db, threadId);
    return {
      upto: messages.map((message) => message.ord),
      messages: toModelMessages('s', summary, messages, calls, files),
    };
  };
  /** What a process that has read this thread before sees, and what one sees that has never. */
  const asOthers = async (threadId: string): Promise<void> => {
    const other = await openStore(database.url, { max: 2, migrate: false });
    try {
      expect(await shown(database.store.db, threadId)).toEqual(await shown(other.db, threadId));
    } finally {
      await other.close();
    }
  };

  it('is what the database holds after whatever happens in the thread', async () => {
    const thread = await freshThread();
    for (let round = 0; round < 3; round++) {
      const turn = await begin(thread, `question ${round}`);
      await asOthers(thread);
      const first = await think(thread, turn, 1, '', { calls: 2 });
      expect(first.next).toBe('tools');
      await asOthers(thread);
      await act(callIdOf(turn, 1, 0), 'one');
      await asOthers(thread);
      await steer(thread, turn, 'and this');
      await act(callIdOf(turn, 1, 1), 'two '.repeat(5_000));
      await asOthers(thread);
      // read before the steering message came, so that message moves behind the answer
      await steer(thread, turn, 'late');
      const moved = await think(thread, turn, 2, 'so far', { readUpto: (await read(thread)) - 1 });
      expect(moved.next).toBe('continue');
      await asOthers(thread);
      expect((await think(thread, turn, 3, `done ${round}`)).next).toBe('closed');
      await asOthers(thread);
    }
    const stopped = await begin(thread, 'stop me');
    await think(thread, stopped, 1, '', { calls: 1 });
    await finishTurn(database.store.db, { turnId: stopped, threadId: thread, status: 'interrupted' });
    await asOthers(thread);
    // a word about an old turn, from somebody else
    const other = await openStore(database.url, { max: 2, migrate: false });
    await onThread(other.db, thread, (tx) =>
      remember(tx, { id: freshId('item_'), turnId: stopped, role: 'user', content: 'a note' }),
    );
    await other.close();
    await asOthers(thread);
    const { messages } = await loadHistory(database.store.db, thread);
    await addSummary(database.store.db, thread, messages[6]!.ord, 'what was before', []);
    await asOthers(thread);
    await begin(thread, 'after the summary');
    await asOthers(thread);
    expect((await loadHistory(database.store.db, thread)).messages.at(-1)?.content).toBe('after the summary');
  });

  it('is the same objects again where a turn is over, and read again where one runs', async () => {
    const thread = await freshThread();
    await think(thread, await begin(thread, 'one'), 1, 'first');
    await begin(thread, 'two');
    const [before, after] = [
      await loadHistory(database.store.db, thread),
      await loadHistory(database.store.db, thread),
    ];
    expect(after.messages.map((message, at) => message === before.messages[at])).toEqual([true, true, false]);
  });
});

describe('what a provider wants back with a step', () => {
  const stateOf = (data: unknown): StepState => ({ wire: 'chat', endpoint: 'http://model/v1', model: 'm', data });
  /** What a process that has never read this thread would send as the assistant's. */
  const given = async (threadId: string) => {
    const other = await openStore(database.url, { max: 2, migrate: false });
    try {
      const { summary, messages, calls } = await loadHistory(other.db, threadId);
      return toModelMessages('s', summary, messages, calls).filter((message) => message.role === 'assistant');
    } finally {
      await other.close();
    }
  };

  it('comes back as it came, with the steps of calls, of texts and of the end', async () => {
    const thread = await freshThread();
    const turn = await begin(thread, 'go');
    // an order of keys that jsonb changes, and texts that PostgreSQL refuses in jsonb
    const odd = stateOf({
      zeta: 1,
      a: { reasoning: 'NUL \0, half \ud83d of a pair, "quoted"', n: 1.5 },
      list: [null, { z: 'c2lnMQ==', b: '' }],
    });
    await think(thread, turn, 1, '', { calls: 1, state: odd });
    await act(callIdOf(turn, 1, 0), 'one');
    const readUpto = await read(thread);
    await steer(thread, turn, 'and this');
    await think(thread, turn, 2, 'so far', { readUpto, state: stateOf({ message: { reasoning_content: 'two' } }) });
    await think(thread, turn, 3, 'done', { state: stateOf({ message: { reasoning_content: 'three' } }) });
    await think(thread, await begin(thread, 'again'), 1, 'nothing to keep');
    const states = (await given(thread)).map(({ state }) => state);
    expect(JSON.stringify(states[0])).toBe(JSON.stringify(odd));
    expect(states.map((state) => (state?.data as { message?: object } | undefined)?.message)).toEqual([
      undefined,
      { reasoning_content: 'two' },
      { reasoning_content: 'three' },
      undefined,
    ]);
  });

  it('stands at the positions of its calls, also when one of them was refused or never ended', async () => {
    const thread = await freshThread();
    const turn = await begin(thread, 'go');
    const state = stateOf({ calls: [{ extra_content: 'first' }, null, { extra_content: 'third' }] });
    await think(thread, turn, 1, '', { calls: 3, refused: 1, state });
    await act(callIdOf(turn, 1, 0), 'one');
    const [message] = await given(thread);
    expect(message?.calls?.map(({ id }) => id)).toEqual([0, 1, 2].map((position) => callIdOf(turn, 1, position)));
    expect(message?.state).toEqual(state);
  });

  it('is left out where it is too large, and the step stays', async () => {
    const thread = await freshThread();
    const turn = await begin(thread, 'go');
    await think(thread, turn, 1, 'small enough', { state: stateOf('€'.repeat(80_000)) });
    await think(thread, await begin(thread, 'more'), 1, 'too large', { state: stateOf('€'.repeat(100_000)) });
    expect((await given(thread)).map(({ content, state }) => [content, state !== undefined])).toEqual([
      ['small enough', true],
      ['too large', false],
    ]);
  });

  it('counts as a part of the dialogue, is never summed up, and goes with what was', async () => {
    const { db } = database.store;
    const thread = await freshThread();
    await think(thread, await begin(thread, 'one'), 1, 'first', { state: stateOf('CANARY'.repeat(2_000)) });
    await think(thread, await begin(thread, 'two'), 1, 'second', { state: stateOf('small') });
    const { messages, calls, files } = await loadHistory(db, thread);
    const upto = compactionPoint(messages, calls, 1_000);
    expect(upto).toBe(messages[1]!.ord);
    expect(dialogueText(messages, calls, files)).not.toContain('CANARY');
    await addSummary(db, thread, upto!, 'what was before', []);
    expect((await given(thread)).map(({ state }) => state?.data)).toEqual(['small']);
    expect((await loadHistory(db, thread)).messages.map(({ state }) => state?.data)).toEqual([undefined, 'small']);
  });
});

describe('an answer of tool calls', () => {
  it('is stored once, also when two attempts have one', async () => {
    const thread = await freshThread();
    const turn = await begin(thread, 'go');
    const stored = await Promise.all([
      think(thread, turn, 1, '', { calls: 1 }),
      think(thread, turn, 1, '', { calls: 2 }),
    ]);
    expect(stored[0]).toEqual(stored[1]);
    const calls = await database.store.db.selectFrom('calls').select('id').where('turn_id', '=', turn).execute();
    expect(calls).toHaveLength(stored[0].calls.length);
    expect(
      await database.store.db.selectFrom('steps').select('key').where('turn_id', '=', turn).execute(),
    ).toHaveLength(1);
  });

  it('starts nothing once the turn was stopped, and is kept as paid', async () => {
    const { db } = database.store;
    const thread = await freshThread();
    const turn = await begin(thread, 'go');
    const input = { threadId: thread, turnId: turn, step: 1 };
    const subject = (await loadSubject(db, input, MODEL, 'UTC'))!;
    const readUpto = await read(thread);
    await finishTurn(db, { turnId: turn, threadId: thread, status: 'interrupted' });
    const result = await storeAnswer(db, input, subject, answer('', readUpto, 1));
    expect(result).toMatchObject({ next: 'closed', calls: [] });
    expect(await db.selectFrom('steps').select('input_tokens').where('turn_id', '=', turn).execute()).toEqual([
      { input_tokens: 3 },
    ]);
    expect(await db.selectFrom('calls').select('id').where('turn_id', '=', turn).execute()).toEqual([]);
    // an answer that broke off is counted later still
    const usage = { inputTokens: 4, outputTokens: 1, microUsd: 2 };
    await keepLost(db, input, subject, { key: `${turn} lost`, model: 'm', usage, estimated: true });
    expect(
      await db.selectFrom('turns').select(['usage', 'micro_usd']).where('id', '=', turn).executeTakeFirst(),
    ).toMatchObject({ usage: { input_tokens: 7, output_tokens: 3 }, micro_usd: 3 });
  });

  it('goes before what was written while the model thought', async () => {
    const thread = await freshThread();
    const turn = await begin(thread, 'go');
    const readUpto = await read(thread);
    await steer(thread, turn, 'no, wait');
    expect((await think(thread, turn, 1, '', { calls: 1, readUpto })).next).toBe('tools');
    const { messages } = await loadHistory(database.store.db, thread);
    expect(messages.map((message) => message.content || message.call_ids.length)).toEqual(['go', 1, 'no, wait']);
  });
});

describe('what came while the model was answering', () => {
  /** A message as it comes from a person: its row, and its text in the transcript. */
  const write = async (thread: string, turn: string, text: string): Promise<string> => {
    const id = freshId('inb_');
    await onThread(database.store.db, thread, (tx) => {
      addUserItem(tx, { id: steerItemId(id), turnId: turn, text, announceStart: false });
      const arrival = { kind: 'steer' as const, inboxId: id, turnId: turn };
      receive(tx, { id, turnId: turn, key: { id, fingerprint: null }, arrival, body: text, writtenBy: [] });
    });
    return id;
  };
  const consumed = async (id: string): Promise<boolean> =>
    (await database.store.db.selectFrom('inbox').select('consumed_at').where('id', '=', id).executeTakeFirstOrThrow())
      .consumed_at !== null;
  const turnsOf = (thread: string) =>
    database.store.db
      .selectFrom('turns')
      .select(['id', 'status', 'input_summary'])
      .where('thread_id', '=', thread)
      .orderBy('created_at')
      .execute();

  for (const calls of [0, 1])
    it(`is answered in a turn of its own when this one fails after a step with ${calls === 0 ? 'no' : 'a'} call`, async () => {
      const { db } = database.store;
      const thread = await freshThread();
      const turn = await begin(thread, 'go');
      const early = await write(thread, turn, 'and quickly');
      const readUpto = await read(thread);
      const late = await write(thread, turn, 'what is it about?');
      expect((await think(thread, turn, 1, calls === 0 ? 'so far' : '', { calls, readUpto })).next).toBe(
        calls === 0 ? 'continue' : 'tools',
      );
      expect([await consumed(early), await consumed(late)]).toEqual([true, false]);
      await finishTurn(db, {
        turnId: turn,
        threadId: thread,
        status: 'failed',
        failure: { type: 'Internal', message: 'It failed.' },
      });
      const turns = await turnsOf(thread);
      expect(turns).toMatchObject([
        { id: turn, status: 'failed' },
        { status: 'in_progress', input_summary: 'what is it about?' },
      ]);
      expect((await loadHistory(db, thread)).messages.at(-1)).toMatchObject({
        role: 'user',
        content: 'what is it about?',
      });
      // and it begins: its row waits for the signal
      const waiting = await db
        .selectFrom('inbox')
        .select(['signalled_at'])
        .where('turn_id', '=', turns[1]!.id)
        .execute();
      expect(waiting).toEqual([{ signalled_at: null }]);
    });

  it('is consumed by the step that reads it, and asks for no further turn then', async () => {
    const { db } = database.store;
    const thread = await freshThread();
    const turn = await begin(thread, 'go');
    const readUpto = await read(thread);
    const late = await write(thread, turn, 'and this');
    await think(thread, turn, 1, '', { calls: 1, readUpto });
    await think(thread, turn, 2, '', { calls: 1 });
    expect(await consumed(late)).toBe(true);
    await finishTurn(db, { turnId: turn, threadId: thread, status: 'failed' });
    expect(await turnsOf(thread)).toHaveLength(1);
  });

  it('is stopped by a stop that came after it, and not by one that came before', async () => {
    const { db } = database.store;
    const thread = await freshThread();
    const turn = await begin(thread, 'go');
    const readUpto = await read(thread);
    await write(thread, turn, 'before the stop');
    const stop = freshId('inb_');
    await onThread(db, thread, (tx) =>
      receive(tx, {
        id: stop,
        turnId: turn,
        key: { id: stop, fingerprint: null },
        arrival: { kind: 'stop', inboxId: stop, turnId: turn },
        body: '',
        writtenBy: [],
      }),
    );
    await write(thread, turn, 'after the stop');
    await think(thread, turn, 1, 'so far', { readUpto });
    await finishTurn(db, { turnId: turn, threadId: thread, status: 'interrupted' });
    expect((await turnsOf(thread)).map((each) => each.input_summary)).toEqual(['go', 'after the stop']);
  });
});

describe('the result of a call', () => {
  it('is the first one, and its item ends once', async () => {
    const { db } = database.store;
    const thread = await freshThread();
    const turn = await begin(thread, 'go');
    await think(thread, turn, 1, '', { calls: 1 });
    const id = callIdOf(turn, 1, 0);
    const { call } = (await beginCall(db, id))!;
    await settle(db, call, { ok: false, output: 'first' });
    await settleBegun(db, call, { ok: true, output: 'second' });
    expect(await db.selectFrom('calls').select(['ok', 'output']).where('id', '=', id).execute()).toEqual([
      { ok: false, output: 'first' },
    ]);
    expect((await named(thread)).filter((event) => event === 'item.failed' || event === 'item.completed')).toEqual([
      'item.completed',
      'item.failed',
    ]);
  });

  it('wakes the readers of its thread once, when it can be read', async () => {
    const thread = await freshThread();
    const turn = await begin(thread, 'go');
    await think(thread, turn, 1, '', { calls: 1 });
    const seen: string[][] = [];
    const stop = await database.store.listen(
      (id) => void (id === thread && named(thread).then((events) => seen.push(events))),
    );
    await act(callIdOf(turn, 1, 0), 'done');
    await expect.poll(() => seen.length).toBe(1);
    expect(seen[0]?.at(-1)).toBe('item.completed');
    await stop();
  });
});
