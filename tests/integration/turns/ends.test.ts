import { Connection } from '@temporalio/client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  callChunk,
  calls,
  chunk,
  DONE,
  type ScriptedEndpoint,
  says,
  startEndpoint,
  streamed,
} from '../../conformance/models/endpoint.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { clientOf } from '../../support/temporal-client.ts';
import { until } from '../../support/until.ts';

let endpoint: ScriptedEndpoint;
let app: TestApp;
beforeAll(async () => {
  endpoint = await startEndpoint({});
  app = await startTestApp({ OPENAI_BASE_URL: endpoint.baseUrl });
});
afterAll(async () => {
  await app?.close();
  await endpoint?.close();
});

/** Part of an answer that broke off in a call. */
const cutCall = streamed(
  callChunk({
    index: 0,
    id: 'x1',
    type: 'function',
    function: { name: 'workflow_create', arguments: '{"name":"half","steps":["workflow_list"]' },
  }),
  chunk({}, 'length'),
  DONE,
);
const EMPTY = streamed(chunk({ role: 'assistant', content: '' }), chunk({}, 'stop'), DONE);

/** A turn of a message, with these answers of the model: what the person got, and the requests. */
async function turnWith(thread: string, ...answers: ReturnType<typeof says>[]) {
  const before = endpoint.requests().length;
  endpoint.say(...answers);
  const turn = await app.turn(thread, 'Hello?');
  const { status } = await app.ended(thread, turn);
  const sent = await app.store.db.selectFrom('outbox').select('body').where('turn_id', '=', turn).execute();
  const { items } = await app.detail(thread);
  return {
    status,
    sent: sent.map(({ body }) => body),
    items: items
      .filter((item) => item.turn_id === turn && item.kind !== 'user_message')
      .map(({ kind, detail }) => [kind, detail]),
    requests: endpoint.requests().slice(before),
  };
}

/** Nothing that a strict server refuses: no message without text or calls. */
const isWhole = ({
  body,
}: {
  body: { messages: Array<{ role: string; content?: string; tool_calls?: unknown[] }> };
}): boolean =>
  body.messages.every(({ content, tool_calls }) => (content ?? '').trim() !== '' || (tool_calls?.length ?? 0) > 0);

it('a call of an answer that was cut never runs, and the model hears why', async () => {
  const thread = await app.thread();
  const { status, sent, requests } = await turnWith(thread, cutCall, says('I will write less.'));
  expect([status, sent]).toEqual(['completed', ['I will write less.']]);
  expect(requests).toHaveLength(2);
  expect(JSON.stringify(requests[1]!.body.messages.at(-1))).toMatch(/Not run: your output was cut at the length limit/);
  expect(await app.store.db.selectFrom('routines').select('id').where('name', '=', 'half').execute()).toEqual([]);
});

it('the third cut in a row ends the turn in words', async () => {
  const { status, sent, items, requests } = await turnWith(await app.thread(), cutCall, cutCall, cutCall);
  expect([status, sent]).toEqual([
    'completed',
    [expect.stringMatching(/^The model was cut off at its length limit 3 times in a row/)],
  ]);
  expect(items.at(-1)).toEqual(['status', sent[0]]);
  expect(requests).toHaveLength(3);
});

it('a text that was cut is the answer, with a note that says so', async () => {
  const { status, sent, items } = await turnWith(
    await app.thread(),
    streamed(chunk({ content: 'Once upon' }), chunk({ content: ' a time' }, 'length'), DONE),
  );
  expect([status, sent]).toEqual([
    'completed',
    [expect.stringMatching(/^Once upon a time\n\nThe answer was cut here/)],
  ]);
  expect(items).toEqual([
    ['agent_message', 'Once upon a time'],
    ['status', expect.stringMatching(/^The answer was cut here/)],
  ]);
});

it('a refusal is told in words, with the text if there is one, and the thread goes on', async () => {
  const thread = await app.thread();
  const silent = await turnWith(thread, streamed(chunk({ content: '' }), chunk({}, 'content_filter'), DONE));
  expect([silent.status, silent.sent]).toEqual(['completed', [expect.stringMatching(/declined to answer this\.$/)]]);
  expect(silent.requests).toHaveLength(1);
  const spoken = await turnWith(thread, streamed(chunk({ content: 'First,' }), chunk({}, 'content_filter'), DONE));
  expect([spoken.status, spoken.sent]).toEqual([
    'completed',
    [expect.stringMatching(/^First,\n\n.*declined to say more\.$/)],
  ]);
  const next = await turnWith(thread, says('Here I am.'));
  expect([next.sent, next.requests.map(isWhole)]).toEqual([['Here I am.'], [true]]);
});

it('an empty answer after a result is asked for once more', async () => {
  const thread = await app.thread();
  const { status, sent, requests } = await turnWith(
    thread,
    calls(['workflow_list', {}]),
    EMPTY,
    says('There are none.'),
  );
  expect([status, sent]).toEqual(['completed', ['There are none.']]);
  expect(requests).toHaveLength(3);
  expect(JSON.stringify(requests[2]!.body.messages.at(-1))).toMatch(/had neither text nor a call/);
  expect(requests.map(isWhole)).toEqual([true, true, true]);
});

it('an answer that stays empty, or holds thoughts alone, is told in one sentence, and nothing empty is sent back later', async () => {
  const thread = await app.thread();
  const thoughts = streamed(chunk({ reasoning_content: 'hm' }), chunk({ content: ' \n' }), chunk({}, 'stop'), DONE);
  const { status, sent, items, requests } = await turnWith(thread, EMPTY, thoughts);
  expect([status, sent]).toEqual(['completed', [expect.stringMatching(/^The model answered with nothing\./)]]);
  expect(requests).toHaveLength(2);
  expect(items.at(-1)).toEqual(['status', sent[0]]);
  expect(items.some(([kind]) => kind === 'agent_message')).toBe(false);
  const next = await turnWith(thread, says('Now I answer.'));
  expect([next.sent, next.requests.map(isWhole)]).toEqual([['Now I answer.'], [true]]);
});

it('a call with several values behind one another is refused with a reason, and the turn goes on', async () => {
  const both = {
    index: 0,
    id: 'x1',
    type: 'function',
    function: { name: 'workflow_list', arguments: '{"runLimit":1}{"runLimit":2}' },
  };
  const { status, sent, requests } = await turnWith(
    await app.thread(),
    streamed(callChunk(both), chunk({}, 'tool_calls'), DONE),
    says('One by one.'),
  );
  expect([status, sent]).toEqual(['completed', ['One by one.']]);
  expect(JSON.stringify(requests[1]!.body.messages.at(-1))).toMatch(/several JSON values, one behind the other/);
});

it('An answer that broke off is paid for: its tokens are estimated, and count for the turn and the day', async () => {
  const thread = await app.thread();
  const spent = async () =>
    Number(
      (
        await app.store.db
          .selectFrom('spending')
          .select((e) => e.fn.sum('tokens').as('sum'))
          .executeTakeFirst()
      )?.sum ?? 0,
    );
  const before = await spent();
  const { sent } = await turnWith(thread, streamed(chunk({ content: 'The heron stands. '.repeat(100) })), says('Hi.'));
  expect(sent).toEqual(['Hi.']);
  const { turns } = await app.detail(thread);
  const rows = await app.store.db.selectFrom('steps').selectAll().where('turn_id', '=', turns.at(-1)!.id).execute();
  const lost = rows.find(({ step }) => step === 0)!;
  expect(lost).toMatchObject({ estimated: true, output_tokens: 450 });
  expect(lost.input_tokens).toBeGreaterThan(100);
  const all = rows.reduce((sum, row) => sum + row.input_tokens + row.output_tokens, 0);
  expect((await spent()) - before).toBe(all);
  const { input_tokens = 0, output_tokens = 0 } = turns.at(-1)!.usage ?? {};
  expect(input_tokens + output_tokens).toBe(all);
});

it('What a killed worker had read of an answer is paid for: its text, its thoughts and its calls are counted once, as an estimate', async () => {
  const connection = await Connection.connect({ address: app.temporalAddress });
  const thread = await app.thread();
  const { workflow_id } = await app.store.db
    .selectFrom('threads')
    .innerJoin('chats', 'chats.id', 'threads.chat_id')
    .select('chats.workflow_id')
    .where('threads.id', '=', thread)
    .executeTakeFirstOrThrow();
  const hasBeaten = async () => {
    const { raw } = await clientOf(app, connection).workflow.getHandle(workflow_id).describe();
    return raw.pendingActivities?.some(({ lastHeartbeatTime }) => lastHeartbeatTime);
  };
  const isSeen = async () => (await app.detail(thread)).items.some(({ status }) => status === 'in_progress');
  const write = (size: number) =>
    callChunk({ index: 0, id: 'x1', function: { name: 'file_write', arguments: `{"content":"${'x'.repeat(size)}` } });
  for (const [chunks, isUnderWay, least] of [
    [[chunk({ reasoning_content: 'Hm. '.repeat(100) }), write(4_000)], hasBeaten, 1_100],
    [[chunk({ content: 'The heron stands. '.repeat(100) })], isSeen, 450],
  ] as const) {
    endpoint.say({ body: chunks, held: true }, says('Hi.'));
    const turn = await app.turn(thread, 'Hello?');
    await until('an answer is under way', isUnderWay);
    app.kill('worker');
    expect((await app.ended(thread, turn)).status).toBe('completed');
    const rows = await app.store.db.selectFrom('steps').selectAll().where('turn_id', '=', turn).execute();
    const lost = rows.filter(({ step }) => step === 0);
    expect(lost).toMatchObject([{ estimated: true, model: expect.stringMatching(/./) }]);
    expect(lost[0]!.input_tokens).toBeGreaterThan(100);
    expect(lost[0]!.output_tokens).toBeGreaterThanOrEqual(least);
    expect(lost[0]!.output_tokens).toBeLessThan(least + 100);
    await app.whenReady();
  }
  await connection.close();
});
