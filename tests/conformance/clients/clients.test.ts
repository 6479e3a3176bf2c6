import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { until } from '../../support/until.ts';
import { Bridge, chatOf } from './bridge.ts';
import { cardsOf, Desktop } from './desktop.ts';
import { Editor } from './editor.ts';
import { Page } from './page.ts';
import { EMPTY, fold, hydrated, piecesOf, shown } from './reducer.ts';
import { ASK, LONG, LOOK, make, replayIsTheSame, Scene, script } from './scene.ts';

const TOKEN = 'test-token';
let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ FETCH_AUTONOMY: 'supervised' });
});
afterAll(() => app?.close());

async function bridgeStory(scene: Scene): Promise<void> {
  const bridge = new Bridge(app.baseUrl, TOKEN);
  await bridge.begin(app.home);
  const { stream } = bridge;

  await scene.at('before');
  await bridge.prompt(script([scene.longAnswer]));
  await stream.reached('item.delta', 3);
  expect(await bridge.busy('And this?')).toMatch(/already has an active turn/);
  await scene.at('streaming');
  expect((await stream.reached('turn.completed')).payload.turn).toMatchObject({ id: bridge.turn, status: 'completed' });
  expect(bridge.chat.slice(-2)).toEqual([`< ${LONG}`, '[completed]']);
  // the kill was in the middle: what had come is kept, and the whole answer follows
  expect(stream.events.some(({ event }) => event === 'item.interrupted')).toBe(!scene.isPeaceful);

  await bridge.prompt(script([{ say: 'I make one.', call: [make()] }, { say: 'Made.' }]));
  const { payload: asked } = await stream.reached('approval.required');
  await scene.at('asked');
  await bridge.decide(asked.approval_id, 'allow');
  expect(await bridge.tooLate(asked.approval_id)).toBe(`no pending approval with id '${asked.approval_id}'`);
  await stream.reached('turn.completed', 2);
  expect(bridge.chat.slice(-4)).toEqual([`! ${asked.approval_id} allow`, '< I make one.', '< Made.', '[completed]']);

  await bridge.prompt(script([scene.longAnswer]));
  await stream.reached('item.delta', 3, stream.events.at(-1)!.seq);
  await bridge.interrupt();
  expect((await stream.reached('turn.completed', 3)).payload.turn.status).toBe('interrupted');
  expect(await bridge.nothingToInterrupt()).toMatch(/is not active|No active turn/);

  expect(await bridge.resume()).toMatchObject({ id: bridge.thread, latest_turn_id: bridge.turn });
  const detail = await bridge.connection.detail(bridge.thread);
  expect(bridge.chat.filter((line) => !/^[?!]/.test(line))).toEqual(chatOf(detail));
  expect(await bridge.list()).toContain(
    `${bridge.thread} ${detail.turns.at(-1)!.input_summary.slice(0, 69)}... [interrupted]`,
  );
  await replayIsTheSame(app, bridge.thread, stream);
  expect(stream.connections > 1).toBe(!scene.isPeaceful);
  await stream.close();
}

async function editorStory(scene: Scene): Promise<void> {
  const editor = new Editor(app.baseUrl, TOKEN);
  await editor.start();
  const id = await editor.create(app.home);
  await editor.open(id);
  expect(await editor.lane()).toMatchObject({
    title: 'New Thread',
    latest_turn_id: null,
    latest_turn_status: null,
    dirty: false,
  });

  await scene.at('before');
  const first = await editor.prompt(script([{ call: [LOOK] }, scene.longAnswer]));
  await editor.stream.reached('item.delta');
  expect(await editor.lane()).toMatchObject({ latest_turn_id: first.id, latest_turn_status: 'inprogress' });
  const steered = await editor.steer(first, 'Also in blue?');
  await scene.at('streaming');
  // the message is an item that ends without a beginning
  const told = await editor.stream.reached('turn.steered');
  expect([told.item_id, told.payload.input]).toEqual([steered, 'Also in blue?']);
  await editor.stream.reached('turn.completed');
  expect(
    editor.stream.events.filter(({ event, item_id: item }) => item === steered && event.startsWith('item.')),
  ).toMatchObject([
    {
      event: 'item.completed',
      payload: { item: { kind: 'user_message', status: 'completed', detail: 'Also in blue?' } },
    },
  ]);

  await editor.prompt(script([{ say: 'I ask.', call: [ASK] }, { say: 'It is $LAST.' }]));
  const { payload: asked } = await editor.stream.reached('user_input.required');
  expect(asked.request.questions[0]).toMatchObject({
    question: 'Which colour?',
    options: [{ label: 'Red' }, { label: 'Blue' }],
  });
  await scene.at('asked');
  const { connections } = editor.stream;
  const { pending_user_inputs: pending } = await editor.reload();
  expect(pending.map(({ id, request }) => ({ id, request }))).toEqual([{ id: asked.id, request: asked.request }]);
  await editor.answer(pending[0]!, 1);
  await editor.stream.reached('turn.completed');

  const detail = await editor.connection.detail(id);
  const { turns, items } = editor.view();
  expect({ turns, items }).toEqual({ turns: detail.turns, items: detail.items });
  const lane = await editor.lane();
  expect(lane).toMatchObject({
    latest_turn_id: turns.at(-1)!.id,
    latest_turn_status: 'completed',
    preview: 'It is Blue.',
  });
  expect((await editor.lanes('IT IS BLUE')).map((each) => each.id)).toContain(id);
  const { thread, first: begins } = await editor.fork();
  expect(begins).toMatchObject({
    event: 'thread.forked',
    payload: { source_thread_id: id, thread: { id: thread.id } },
  });
  expect((await editor.lanes()).map((each) => each.id)).toEqual(expect.arrayContaining([id, thread.id]));
  await replayIsTheSame(app, id, editor.stream);
  expect(connections > 1).toBe(!scene.isPeaceful);
  await editor.stream.close();
}

async function desktopStory(scene: Scene): Promise<void> {
  const desktop = new Desktop(app.baseUrl, TOKEN);
  expect(await desktop.asksForToken()).toBe(true);
  await desktop.begin();
  for (const method of ['GET', 'POST', 'PATCH', 'DELETE'])
    expect(await desktop.mayAsk(method, `/v1/threads/${desktop.thread}`)).toBe(true);
  const { stream, connection, thread } = desktop;
  const settings = { auto_approve: true, allow_shell: false, trust_mode: false, mode: 'agent', title: 'Colours' };

  await scene.at('before');
  const first = await desktop.prompt(settings, script([{ call: [make()] }, scene.longAnswer]));
  await stream.reached('item.delta');
  await scene.at('streaming');
  await stream.reached('turn.completed');
  expect(stream.events.filter(({ event }) => event === 'approval.required')).toEqual([]);
  expect(desktop.title).toBe('Colours');
  // what is set already changes nothing, and nobody is told of it
  const before = await desktop.set({ auto_approve: true });
  expect(await desktop.set(settings)).toEqual(before);
  expect(stream.events.filter(({ event }) => event === 'thread.updated')).toHaveLength(1);

  const strict = { ...settings, auto_approve: false };
  const second = await desktop.prompt(strict, script([{ call: [make()] }, { call: [make()] }, { say: 'Both.' }]));
  const { payload: asked } = await stream.reached('approval.required');
  await scene.at('asked');
  await desktop.allowForGood(asked.approval_id);
  await stream.reached('turn.completed', 2);
  expect(stream.events.filter(({ event }) => event === 'approval.required')).toHaveLength(1);

  const third = await desktop.prompt(strict, script([scene.longAnswer]));
  await stream.reached('item.delta', 3, stream.events.at(-1)!.seq);
  expect((await desktop.interrupt(third)).status).toBe('in_progress');
  await stream.reached('turn.completed', 3);
  const compaction = await desktop.compact();
  await stream.reached('turn.completed', 4);

  const detail = await connection.detail(thread);
  expect([...desktop.cards.values()]).toEqual(cardsOf(detail));
  expect(detail.turns.map(({ id, status }) => [id, status])).toEqual([
    [first.id, 'completed'],
    [second.id, 'completed'],
    [third.id, 'interrupted'],
    [compaction.id, 'completed'],
  ]);
  // what the interrupted one had used is an estimate, which comes after its end
  await until('both tell the same turns that cost something', async () => {
    const { turns } = await connection.detail(thread);
    return (await desktop.billedTurns()) === turns.filter(({ usage }) => usage!.input_tokens > 0).length;
  });
  expect((await desktop.set({ archived: true })).archived).toBe(true);
  expect([await desktop.has(''), await desktop.has('?archived_only=true')]).toEqual([false, true]);
  await until('it is told', () => stream.events.at(-1)!.event === 'thread.updated');
  await replayIsTheSame(app, thread, stream);
  expect(stream.connections > 1).toBe(!scene.isPeaceful);
  await stream.close();
}

async function reducerStory(scene: Scene): Promise<void> {
  const page = new Page(app.baseUrl, TOKEN);
  await page.begin();
  const { stream } = page;
  const now = () => stream.events.reduce(fold, EMPTY);
  /** What events have made is what a thread that is read now has, and both become the same by what comes later. */
  const snapshots: Array<ReturnType<typeof hydrated>> = [];
  const isWhatIsRead = async () => {
    const detail = await page.detail();
    await until('the events of it have come', () => (stream.events.at(-1)?.seq ?? 0) >= detail.latest_seq);
    expect(shown(stream.events.filter(({ seq }) => seq <= detail.latest_seq).reduce(fold, EMPTY))).toEqual(
      shown(hydrated(detail)),
    );
    snapshots.push(hydrated(detail));
  };
  await isWhatIsRead();

  await scene.at('before');
  const first = await page.prompt(
    script([
      { think: 'What is there?', say: 'I look.', call: [LOOK] },
      { think: 'Long.', ...scene.longAnswer },
    ]),
  );
  await stream.reached('item.delta', 6);
  await page.steer(first, 'And in short?');
  await scene.at('streaming');
  await stream.reached('turn.completed');
  await isWhatIsRead();

  await page.prompt(script([{ say: 'I make one.', call: [make()] }, { call: [ASK] }, { say: '$LAST' }]));
  const { payload: asked } = await stream.reached('approval.required');
  await isWhatIsRead();
  await scene.at('asked');
  await page.deny(asked.approval_id);
  const { payload: question } = await stream.reached('user_input.required');
  await isWhatIsRead();
  await page.answer(question, 'Green');
  await stream.reached('turn.completed', 2);
  await isWhatIsRead();

  await page.prompt(script([{ fail: 401 }]));
  expect((await stream.reached('turn.completed', 3)).payload.turn.status).toBe('failed');
  await isWhatIsRead();

  const end = now();
  const replayed = await replayIsTheSame(app, page.thread, stream);
  expect(replayed.events.reduce(fold, EMPTY)).toEqual(end);
  expect(replayed.events.flatMap((event) => [event, event]).reduce(fold, EMPTY)).toEqual(end);
  expect([...replayed.events, ...replayed.events].reduce(fold, EMPTY)).toEqual(end);
  for (const snapshot of snapshots) expect(shown(replayed.events.reduce(fold, snapshot))).toEqual(shown(end));
  for (const [id, text] of piecesOf(stream.events))
    expect(end.items.find((item) => item.id === id)).toMatchObject({ detail: text });
  expect(stream.connections > 1).toBe(!scene.isPeaceful);
  await stream.close();
}

const STORIES = {
  'a chat bridge': bridgeStory,
  "an editor's thread view": editorStory,
  'a desktop program that begins with PATCH': desktopStory,
  'a page that folds events by reducers': reducerStory,
};

for (const kills of [false, true])
  describe(kills ? 'while the server is killed in the middle of answers and of questions' : 'in peace', () => {
    let scene: Scene;
    beforeAll(() => {
      scene = new Scene(Object.keys(STORIES).length, kills ? app : null);
    });
    for (const [client, story] of Object.entries(STORIES))
      it.concurrent(`${client} tells its whole story`, () => story(scene));
  });
