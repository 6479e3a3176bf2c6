import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EventEnvelope, ThreadRecord, TurnRecord } from '../../src/contracts/records.ts';
import { type Detail, script, startTestApp, type TestApp } from '../support/app.ts';
import { until } from '../support/until.ts';
import { loadGolden, RecordedStreams } from './golden.ts';
import { type HeldPages, startHeldPages } from './held-pages.ts';
import { streamsNotCompared } from './not-compared.ts';
import { Run } from './run.ts';
import { shapeOf } from './skeleton.ts';

const golden = new RecordedStreams();
let app: TestApp;
let pages: HeldPages;
/** what the model was asked, as it was sent */
const asked: string[] = [];

beforeAll(async () => {
  pages = await startHeldPages();
  app = await startTestApp({ FETCH_AUTONOMY: 'supervised' });
  app.model.hear((body) => void asked.push(body));
});
afterAll(async () => {
  await app?.close();
  await pages?.close();
});

interface Frame {
  event: string;
  data: Record<string, unknown>;
}

const framesOf = (frames: readonly string[]): Frame[] =>
  frames
    .filter((frame) => !frame.startsWith(':'))
    .map((frame) => {
      const [, event, data] = /^event: (.+)\n(?:id: \d+\n)?data: (.+)\n\n$/.exec(frame)!;
      return { event: event!, data: JSON.parse(data!) as Frame['data'] };
    });

/** One frame for each; what is said in several pieces counts once. */
const told = (frames: readonly Frame[]): string[] =>
  frames.map(({ event }) => event).filter((event, at, all) => event !== 'message.delta' || all[at - 1] !== event);

async function stream(
  body: object,
  headers: Record<string, string> = {},
): Promise<{ response: Response; frames: AsyncGenerator<Frame> }> {
  const response = await fetch(`${app.baseUrl}/v1/stream`, {
    method: 'POST',
    headers: { authorization: 'Bearer test-token', 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return { response, frames: readFrames(response) };
}

async function* readFrames(response: Response): AsyncGenerator<Frame> {
  let text = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const parts = text.split('\n\n');
    text = parts.pop()!;
    yield* framesOf(parts.map((part) => `${part}\n\n`));
  }
  expect(text).toBe('');
}

/** What our frames lack of the fields that the recorded ones have. */
function missingFields(recorded: readonly Frame[], ours: readonly Frame[]): string[] {
  return recorded.flatMap((theirs) => {
    const same = ours.find(({ event }) => event === theirs.event);
    const have = shapeOf(same?.data);
    const wanted = [...shapeOf(theirs.data)].filter((field) => !/^input\b/.test(field));
    // the reference's approvals may have a text before them
    return wanted
      .filter((field) => !have.has(field) && field !== 'intent_summary:null')
      .map((field) => `${theirs.event} ${field}`);
  });
}

let made = 0;
const make = () => ['workflow_create', { name: `streamed-${++made}`, steps: ['workflow_list'] }];
const LOOK = ['workflow_list', {}];
const ASK = ['ask_user', { question: 'Which colour?', options: ['Red', 'Blue'] }];

describe('the compatibility stream', () => {
  const cases: Array<{ name: string; body: () => object; leaves?: RegExp; adds?: RegExp }> = [
    { name: 'stream_tool', body: () => ({ prompt: script([{ call: [LOOK] }, { say: 'ok' }]) }) },
    {
      name: 'stream_tool_fail',
      body: () => ({ prompt: script([{ call: [['read_output', { callId: 'nope' }]] }, { say: 'ok' }]) }),
    },
    { name: 'stream_reasoning', body: () => ({ prompt: script([{ think: 'hm', say: 'ok' }]) }) },
    { name: 'stream_approval', body: () => ({ prompt: script([{ call: [make()] }, { say: 'ok' }]) }) },
    // what was approved beforehand is not asked
    {
      name: 'stream_auto',
      body: () => ({ prompt: script([{ call: [make()] }, { say: 'ok' }]), auto_approve: true }),
      leaves: /^approval\.required$/,
    },
    // a command of the reference; ours need containers, and their output comes as `tool.progress`, too
    {
      name: 'stream_shell_progress',
      body: () => ({ prompt: script([{ call: [make()] }, { say: 'ok' }]), auto_approve: true, allow_shell: true }),
      leaves: /^approval\.required$/,
    },
    { name: 'stream_bad_workspace', body: () => ({ prompt: script([{ say: 'ok' }]), workspace: '/nowhere' }) },
    // no tool has to be loaded, and the client that reads the stream may answer
    {
      name: 'stream_user_input',
      body: () => ({ prompt: script([{ call: [ASK] }, { say: 'ok' }]) }),
      leaves: /^status$/,
      adds: /^user_input\./,
    },
  ];

  for (const { name, body, leaves, adds } of cases) {
    it(`tells what was recorded as ${name}`, async () => {
      const recorded = golden.get(`sse/${name}`);
      const { response, frames } = await stream(body());
      expect(response.status).toBe(200);
      for (const [header, value] of Object.entries(recorded.headers!)) expect(response.headers.get(header)).toBe(value);
      const ours: Frame[] = [];
      for await (const frame of frames) {
        ours.push(frame);
        if (frame.event === 'approval.required')
          await app.request('POST', `/v1/approvals/${frame.data.approval_id}`, { decision: 'allow' });
        if (frame.event === 'user_input.required')
          await app.request('POST', `/v1/user-input/${ours[0]!.data.thread_id}/${frame.data.id}`, {
            answers: [{ id: 'q', label: 'Red', value: 'Red' }],
          });
      }
      const theirs = framesOf(recorded.frames).filter(({ event }) => !leaves?.test(event));
      expect(told(ours.filter(({ event }) => !adds?.test(event)))).toEqual(told(theirs));
      expect(missingFields(theirs, ours)).toEqual([]);
      expect(
        ours
          .filter(({ event }) => event === 'tool.completed')
          .every(({ data }) => data.success === (name !== 'stream_tool_fail')),
      ).toBe(true);
      const { thread } = await app.detail(ours[0]!.data.thread_id as string);
      expect(thread).toMatchObject({ archived: true, workspace: ours[0]!.data.workspace });
    });
  }

  it('goes on over a kill of the worker, and ends', async () => {
    const { frames } = await stream({ prompt: script([{ hang: true, times: 1, say: 'after the restart' }]) });
    const first = (await frames.next()).value!;
    await until('the model is asked', () => app.model.asked(first.data.turn_id as string) > 0);
    app.kill('worker');
    const rest: Frame[] = [];
    for await (const frame of frames) rest.push(frame);
    expect(rest.find(({ event }) => event === 'message.delta')?.data).toEqual({ content: 'after the restart' });
    expect(rest.at(-1)).toEqual({ event: 'done', data: {} });
    await app.whenReady();
  });

  it('with the same Idempotency-Key tells of the same turn again, from its beginning', async () => {
    const body = { prompt: script([{ say: 'once' }]) };
    const all: Frame[][] = [];
    for (let time = 0; time < 2; time += 1) {
      const { frames } = await stream(body, { 'idempotency-key': 'one stream' });
      const seen: Frame[] = [];
      for await (const frame of frames) seen.push(frame);
      all.push(seen);
    }
    expect(all[1]).toEqual(all[0]);
    expect((await stream({ prompt: 'another' }, { 'idempotency-key': 'one stream' })).response.status).toBe(422);
  });

  it('tells why a turn failed, and ends', async () => {
    const { frames } = await stream({ prompt: script([{ fail: 401 }]) });
    const seen: Frame[] = [];
    for await (const frame of frames) seen.push(frame);
    expect(told(seen)).toEqual(['turn.started', 'error', 'turn.completed', 'done']);
  });

  it('refuses a blank prompt, and makes no thread for it', async () => {
    const before = (await app.request('GET', '/v1/threads?archived_only=true')).body as unknown[];
    expect((await app.request('POST', '/v1/stream', { prompt: ' ' })).body).toEqual({
      error: { message: 'prompt is required', status: 400 },
    });
    expect((await app.request('GET', '/v1/threads?archived_only=true')).body).toHaveLength(before.length);
  });
});

const said = (detail: Detail): string[] =>
  detail.items.filter(({ kind }) => kind === 'user_message' || kind === 'agent_message').map(({ detail }) => detail!);

describe('a compaction', () => {
  it('of nothing leaves what the reference leaves', async () => {
    const run = await Run.begin(app, pages);
    await run.compact();
    await run.done();
    const recorded = JSON.parse(
      loadGolden().find((each) => each.case === 'http/compact/empty_thread_after')!.response.body,
    ) as Detail;
    const ours = await app.detail(run.thread);
    for (const part of ['turns', 'items'] as const)
      expect([...shapeOf(ours[part])]).toEqual(expect.arrayContaining([...shapeOf(recorded[part])]));
    expect(ours.items[0]).toMatchObject({
      kind: 'context_compaction',
      status: 'completed',
      summary: recorded.items[0]!.summary,
    });
    run.stream.close();
  });

  it('sums up everything before the last message; the next turn works with the summary', async () => {
    const run = await Run.begin(app, pages);
    for (const [at, word] of ['aubergine', 'broccoli'].entries()) {
      await run.start([{ say: `I noted ${word}` }]);
      await run.done(at + 1);
    }
    await run.compact('The vegetables are done');
    await run.done(3);
    const end = run.stream.entries().find(({ label }) => label.startsWith('item.completed context_compaction'))!;
    expect(end.envelope!.payload).toMatchObject({ auto: false, messages_before: 4, messages_after: 3 });
    const turn = (await app.detail(run.thread)).turns.at(-1)!;
    expect(turn).toMatchObject({ status: 'completed', input_summary: 'The vegetables are done' });
    expect(turn.usage!.input_tokens).toBeGreaterThan(0);
    await run.start([{ say: 'and on' }]);
    await run.done(4);
    expect(asked.at(-1)).toContain('summed up by a program');
    expect(asked.at(-1)).toContain('"I noted broccoli"');
    expect(asked.at(-1)).not.toContain('"I noted aubergine"');
    run.stream.close();
  });

  it('that a kill of the worker interrupts is done once', async () => {
    const run = await Run.begin(app, pages);
    for (let turn = 1; turn <= 2; turn += 1) {
      await run.start([{ say: `answer ${turn}` }]);
      await run.done(turn);
    }
    await run.compact();
    app.kill('worker');
    await run.done(3);
    const labels = run.stream.entries().map(({ label }) => label);
    for (const once of ['item.started context_compaction', 'item.completed context_compaction'])
      expect(labels.filter((label) => label.startsWith(once))).toHaveLength(1);
    expect(
      await app.store.db.selectFrom('summaries').select('id').where('thread_id', '=', run.thread).execute(),
    ).toHaveLength(1);
    expect(await app.store.db.selectFrom('steps').select('key').where('turn_id', '=', run.turn).execute()).toHaveLength(
      1,
    );
    await app.whenReady();
    run.stream.close();
  });

  it('is a conflict while a turn runs', async () => {
    const run = await Run.begin(app, pages);
    const conflict = { status: 409, body: { error: { message: 'Thread already has an active turn', status: 409 } } };
    await run.start([{ hang: true, times: 1, say: 'x' }]);
    expect(await app.request('POST', `/v1/threads/${run.thread}/compact`, {})).toEqual(conflict);
    await run.interrupt();
    await run.done();
    run.stream.close();
  });

  it('answers a message that comes while it sums up', async () => {
    const run = await Run.begin(app, pages);
    for (let turn = 1; turn <= 2; turn += 1) {
      await run.start([{ say: `answer ${turn}` }]);
      await run.done(turn);
    }
    await run.compact();
    // before its worker has begun or while it works: either way the turn that runs is this one
    await app.say(run.thread, script([{ say: 'heard you' }]));
    await until('it is answered', async () => said(await app.detail(run.thread)).at(-1) === 'heard you');
    await until('nothing runs', async () =>
      (await app.detail(run.thread)).turns.every(({ status }) => status === 'completed'),
    );
    run.stream.close();
  });
});

describe('a fork', () => {
  it('goes on with what was said in the source, which does not learn of it', async () => {
    const source = await app.thread({ system_prompt: 'Be brief.' });
    const first = await app.turn(source, [{ call: [LOOK] }, { say: 'remembered: aubergine' }]);
    await app.ended(source, first);
    const { status, body } = await app.request('POST', `/v1/threads/${source}/fork`);
    const fork = body as ThreadRecord;
    expect([status, fork]).toMatchObject([201, { archived: false, system_prompt: 'Be brief.' }]);
    const [before, copy] = [await app.detail(source), await app.detail(fork.id)];
    const bare = ({ turns, items }: Detail) => [
      turns.map(({ id: _, thread_id, item_ids, ...turn }) => ({ ...turn, items: item_ids.length })),
      items.map(({ id: _, turn_id, ...item }) => item),
    ];
    expect(bare(copy)).toEqual(bare(before));
    expect(copy.thread.latest_turn_id).toBe(copy.turns[0]!.id);
    const own = await app.turn(fork.id, [{ say: 'went on' }]);
    await app.ended(fork.id, own);
    expect(asked.at(-1)).toContain('remembered: aubergine');
    expect(await app.detail(source)).toEqual(before);
    const events: EventEnvelope[] = await app.events(fork.id);
    expect(events[0]).toMatchObject({ event: 'thread.forked', payload: { source_thread_id: source, thread: fork } });
    expect(events.some(({ event }) => event === 'thread.started')).toBe(false);
  });

  it('counts no usage twice', async () => {
    const source = await app.thread();
    await app.ended(source, await app.turn(source, [{ say: 'paid once' }]));
    const totals = async () => ((await app.request('GET', '/v1/usage')).body as { totals: object }).totals;
    const before = await totals();
    await app.request('POST', `/v1/threads/${source}/fork`);
    expect(await totals()).toEqual(before);
  });
});

it.each([{ mode: 'yolo' }, { mode: 'YOLO' }, { trust_mode: true }])(
  'a turn says that %j changes nothing, unless everything is allowed anyway',
  async (settings) => {
    const notices = async (more: object) => {
      const thread = await app.thread({ ...settings, ...more });
      await app.ended(thread, await app.turn(thread, [{ say: 'done' }]));
      return (await app.detail(thread)).items.filter(({ kind }) => kind === 'status').map(({ summary }) => summary);
    };
    expect(await notices({})).toEqual([expect.stringContaining('no effect here')]);
    expect(await notices({ auto_approve: true })).toEqual([]);
  },
);

describe('undo and retry', () => {
  const post = async (path: string, body: object = {}) => {
    const { status, body: answer } = await app.request('POST', path, body);
    return { status, ...(answer as { thread: ThreadRecord; turn: TurnRecord; original_user_text: string | null }) };
  };
  const answers = ({ items }: Detail) =>
    items.filter(({ kind }) => kind === 'agent_message').map(({ detail }) => detail);
  const twoTurns = async (): Promise<string> => {
    const source = await app.thread();
    await app.ended(source, await app.turn(source, [{ call: [LOOK] }, { say: 'remembered: aubergine' }]));
    await app.ended(source, await app.turn(source, [{ say: 'then: begonia' }]));
    return source;
  };

  it('copy the conversation as it was before a message, and leave the thread as it is', async () => {
    const source = await twoTurns();
    const before = await app.detail(source);
    const last = await post(`/v1/threads/${source}/undo`, { operation_key: 'once' });
    expect(last).toMatchObject({ status: 201, original_user_text: script([{ say: 'then: begonia' }]) });
    expect((await post(`/v1/threads/${source}/undo`, { operation_key: 'once' })).thread.id).toBe(last.thread.id);
    expect(answers(await app.detail(last.thread.id))).toEqual(['remembered: aubergine']);
    const all = await post(`/v1/threads/${source}/patch-undo`, { depth: 1 });
    expect(all).toMatchObject({
      status: 201,
      patch_result: { files_restored: 0, summary: null, snapshot_label: null },
    });
    expect((await app.detail(all.thread.id)).turns).toEqual([]);
    expect(all.thread).not.toHaveProperty('latest_turn_id');
    expect((await post(`/v1/threads/${source}/undo`, { depth: 2 })).status).toBe(400);
    const [forked] = await app.events(all.thread.id);
    expect(forked).toMatchObject({
      event: 'thread.forked',
      payload: { backtrack_depth_from_tail: 1, dropped_turn_id: before.turns[0]!.id },
    });
    expect(await app.detail(source)).toEqual(before);
  });

  it('say a message again, or another in its place, to a model that has not heard what is taken back', async () => {
    const source = await twoTurns();
    const again = await post(`/v1/threads/${source}/retry`);
    await app.ended(again.thread.id, again.turn.id);
    expect(answers(await app.detail(again.thread.id))).toEqual(['remembered: aubergine', 'then: begonia']);
    const other = await post(`/v1/threads/${source}/retry`, { prompt: script([{ say: 'or: cactus' }]) });
    await app.ended(other.thread.id, other.turn.id);
    expect(answers(await app.detail(other.thread.id))).toEqual(['remembered: aubergine', 'or: cactus']);
    expect(asked.at(-1)).toContain('aubergine');
    expect(asked.at(-1)).not.toContain('begonia');
  });

  it('wait for the end of a turn, which threads/running names meanwhile', async () => {
    const source = await app.thread();
    const turn = await app.turn(source, [{ hang: true }]);
    const running = (await app.request('GET', '/v1/threads/running')).body as ThreadRecord[];
    expect(running.map(({ id, latest_turn_id }) => [id, latest_turn_id])).toContainEqual([source, turn]);
    for (const name of ['undo', 'retry', 'patch-undo'])
      expect((await post(`/v1/threads/${source}/${name}`)).status).toBe(409);
    await app.request('POST', `/v1/threads/${source}/turns/${turn}/interrupt`);
    await app.ended(source, turn);
    expect(
      ((await app.request('GET', '/v1/threads/running')).body as ThreadRecord[]).map(({ id }) => id),
    ).not.toContain(source);
  });
});

describe('a session', () => {
  it('is resumed into a thread of its own, told as recorded, and deleted without the other', async () => {
    const source = await app.thread({ mode: 'plan' });
    await app.ended(source, await app.turn(source, [{ call: [LOOK] }, { say: 'kept' }]));
    const saved = (await app.request('POST', '/v1/sessions', { thread_id: source, title: 'Vegetables' })).body;
    expect(saved).toMatchObject({ session_id: source, thread_id: source, title: 'Vegetables', message_count: 3 });
    const { body } = await app.request('GET', `/v1/sessions/${source}`);
    const { messages } = body as { messages: Array<{ role: string; content: Array<{ type: string }> }> };
    expect(messages.map(({ role, content }) => [role, ...content.map(({ type }) => type)])).toEqual([
      ['user', 'text'],
      ['assistant', 'tool_use'],
      ['user', 'tool_result'],
      ['assistant', 'text'],
    ]);
    const { thread_id } = (await app.request('POST', `/v1/sessions/${source}/resume-thread`, {})).body as {
      thread_id: string;
    };
    const recorded = framesOf(golden.get('http/events/session_resume_backlog').frames);
    const events = await app.events(thread_id);
    expect(events.map(({ event }) => event)).toEqual(recorded.map(({ event }) => event));
    for (const [at, { data }] of recorded.entries()) {
      const fields = [...shapeOf(data)].filter((field) => !field.endsWith('system_prompt:string'));
      expect([...shapeOf(events[at])]).toEqual(expect.arrayContaining(fields));
    }
    expect((await app.request('DELETE', `/v1/sessions/${source}`)).status).toBe(204);
    expect((await app.request('GET', `/v1/sessions/${source}`)).status).toBe(404);
    expect(said(await app.detail(thread_id)).at(-1)).toBe('kept');
    const turn = (await app.detail(thread_id)).turns[0] as TurnRecord;
    expect(turn.status).toBe('completed');
  });
});

it('every recorded stream of these was compared', () => {
  const here = streamsNotCompared.filter(({ by }) => by === 'conversations.test.ts');
  expect(golden.neverAsked().filter((name) => here.some(({ cases }) => cases.test(name)))).toEqual([]);
});
