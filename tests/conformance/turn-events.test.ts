import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ItemRecord, ThreadRecord, TurnRecord } from '../../src/contracts/records.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { until } from '../support/until.ts';
import { adapt } from './adapt.ts';
import { type EventDifference, eventDifferences } from './differences.ts';
import { RecordedStreams } from './golden.ts';
import { type HeldPages, startHeldPages } from './held-pages.ts';
import { streamsNotCompared } from './not-compared.ts';
import { Run } from './run.ts';
import { restartScenarios, type Scenario, scenarios, slowScenarios } from './scenarios.ts';
import { type Entry, entriesOf, parseFrame, render, shapesOf } from './skeleton.ts';
import { openStream, type Stream } from './stream.ts';

/** After the keepalive of 15 s, so that a reminder does not break the silence before it. */
const REMIND_MS = 16_000;
const EXPIRE_MS = 17_000;
const hours = (ms: number): string => String(ms / 3_600_000);

const golden = new RecordedStreams();
const used = new Set<EventDifference>();
let app: TestApp;
let pages: HeldPages;
const slow = new Map<Scenario, Promise<Run>>();

beforeAll(async () => {
  pages = await startHeldPages();
  app = await startTestApp({
    FETCH_AUTONOMY: 'supervised',
    FETCH_QUESTION_REMIND_HOURS: hours(REMIND_MS),
    FETCH_QUESTION_EXPIRE_HOURS: hours(EXPIRE_MS),
  });
  for (const scenario of slowScenarios) slow.set(scenario, perform(scenario));
});
afterAll(async () => {
  await app?.close();
  await pages?.close();
});

async function perform(scenario: Scenario): Promise<Run> {
  const run = await Run.begin(app, pages, scenario.thread);
  await scenario.drive(run);
  return run;
}

async function compare(scenario: Scenario, run: Run): Promise<void> {
  const recorded = entriesOf(golden.get(scenario.case).frames);
  const ours = run.stream.entries();
  const { expected, found } = adapt(
    scenario.case,
    scenario.variant?.from(recorded) ?? recorded,
    ours,
    eventDifferences,
    used,
  );
  expect(render(untimed(found))).toEqual(render(untimed(expected)));
  if (expected.some(isKeepalive)) expect(found.some(isKeepalive)).toBe(true);
  expect(missingFields(scenario.case, expected, found)).toEqual([]);
  envelopesAreInOrder(run.stream);
  await backlogIsWhatWasSeenLive(run);
  await detailIsWhatWasTold(run);
  run.stream.close();
}

const isKeepalive = ({ label }: Entry): boolean => label === ': keepalive';

/**
 * Without what only time decides: where a silence was long enough for a keepalive, and whether a piece of text that was
 * on its way came before or after the request to interrupt.
 */
const untimed = (entries: readonly Entry[]): Entry[] =>
  entries.filter((entry, at) => {
    if (isKeepalive(entry)) return false;
    const before = entries.slice(0, at);
    const late =
      entry.label.startsWith('item.delta') && before.some(({ label }) => label.startsWith('turn.interrupt_requested'));
    return !(late && before.some(({ label, item }) => label === entry.label && item === entry.item));
  });

/** Fields that every recorded frame of a label has and ours has not, or has with another type. */
function missingFields(name: string, expected: Entry[], found: Entry[]): string[] {
  const have = shapesOf(found);
  const missing = [...shapesOf(expected)].flatMap(([label, fields]) =>
    [...fields].filter((field) => !have.get(label)?.has(field)).map((field) => `${label} ${field}`),
  );
  return missing.filter((field) => {
    const allowed = eventDifferences.find(({ cases, lacks }) => cases.test(name) && lacks?.test(field));
    if (allowed) used.add(allowed);
    return !allowed;
  });
}

const ENVELOPE = [
  'schema_version',
  'seq',
  'event',
  'kind',
  'thread_id',
  'turn_id',
  'item_id',
  'timestamp',
  'created_at',
  'payload',
  'previous_seq',
];

function envelopesAreInOrder(stream: Stream, since = 0): void {
  let previous = since;
  for (const frame of stream.frames()) {
    const envelope = parseFrame(frame);
    if (!envelope) continue;
    expect(Object.keys(envelope)).toEqual(ENVELOPE);
    expect(envelope.previous_seq).toBe(previous);
    expect(envelope.seq).toBeGreaterThan(previous);
    previous = envelope.seq;
  }
}

const eventsOf = (stream: Stream): string[] => stream.frames().filter((frame) => parseFrame(frame) !== null);

async function backlogIsWhatWasSeenLive(run: Run): Promise<void> {
  const live = eventsOf(run.stream);
  const backlog = await Run.follow(app, run.thread, 0);
  await until('the backlog is read', () => backlog.frames().length >= live.length);
  expect(eventsOf(backlog)).toEqual(live);
  backlog.close();
}

/** Holds for every recorded stream as well: a screen that followed and one that reloads show the same. */
async function detailIsWhatWasTold(run: Run): Promise<void> {
  const items = new Map<string, ItemRecord>();
  const turns = new Map<string, TurnRecord>();
  for (const { envelope } of run.stream.entries()) {
    const { item, turn } = (envelope?.payload ?? {}) as { item?: ItemRecord; turn?: TurnRecord };
    if (item) items.set(item.id, item);
    if (turn) turns.set(turn.id, turn);
  }
  const detail = await app.detail(run.thread);
  expect(detail.turns).toEqual([...turns.values()]);
  expect(detail.items).toEqual([...items.values()]);
  expect(detail.turns.flatMap((turn) => turn.item_ids)).toEqual([...items.keys()]);
  expect([detail.pending_approvals, detail.pending_user_inputs]).toEqual([[], []]);
  for (const item of items.values()) {
    const tool = /^(\w+)(: | started$)/.exec(item.summary)?.[1];
    if (item.kind === 'tool_call') expect(tool).toBeTruthy();
    expect(item.status).not.toBe('in_progress');
  }
}

const titleOf = (scenario: Scenario): string => [scenario.case, scenario.variant?.title].filter(Boolean).join(', ');

describe('the events of a turn', () => {
  for (const scenario of scenarios) {
    it(`are those recorded as ${titleOf(scenario)}`, async () => {
      await compare(scenario, await perform(scenario));
    });
  }

  for (const scenario of slowScenarios) {
    it(`are those recorded as ${titleOf(scenario)}`, async () => {
      await compare(scenario, await slow.get(scenario)!);
    });
  }
});

it('an approval tells what the model said in the step that asks, not in an earlier one', async () => {
  const run = await Run.begin(app, pages);
  const make = (name: string) => ['workflow_create', { name, steps: ['workflow_list'] }];
  await run.start([{ say: 'Will make one.', call: [make('intent-1')] }, { call: [make('intent-2')] }, { say: 'done' }]);
  await run.decide('allow');
  await run.decide('allow', { count: 2 });
  await run.done();
  const asked = run.stream.entries().filter(({ label }) => label === 'approval.required');
  expect(asked.map(({ envelope }) => envelope!.payload.intent_summary)).toEqual(['Will make one.', null]);
  run.stream.close();
});

describe('an event stream', () => {
  it('starts behind since_seq, and has the recorded headers', async () => {
    const run = await Run.begin(app, pages);
    await run.start([{ say: 'Hello' }]);
    await run.done();
    const said = run.stream.entries().find(({ label }) => label.startsWith('item.completed user_message'))!.envelope!;
    const rest = await Run.follow(app, run.thread, said.seq);
    await rest.reached('turn.completed');
    const recorded = golden.get('sse/since_seq_mid');
    expect(render(rest.entries())).toEqual(render(entriesOf(recorded.frames)));
    expect(rest.headers).toMatchObject(recorded.headers!);
    envelopesAreInOrder(rest, said.seq);
    rest.close();
    run.stream.close();
  });

  it('tells of each change of a thread as recorded', async () => {
    const recorded = golden.get('http/events/patched_backlog');
    const [begun, ...changed] = recorded.frames.map(
      (frame) => parseFrame(frame)!.payload as { thread: ThreadRecord; changes: Record<string, unknown> },
    );
    const { model, workspace } = begun!.thread;
    const run = await Run.begin(app, pages, { model, workspace });
    for (const { changes } of changed) {
      const body = Object.fromEntries(Object.entries(changes).map(([field, value]) => [field, value ?? '']));
      expect((await app.request('PATCH', `/v1/threads/${run.thread}`, body)).status).toBe(200);
    }
    await run.stream.reached('thread.updated', changed.length);
    run.stream.close();
    const backlog = await Run.follow(app, run.thread, 0);
    await until('the backlog is read', () => backlog.frames().length >= recorded.frames.length);
    const masked = { seq: 0, thread_id: 'thr<1>', timestamp: '<ts>', created_at: '<ts>' };
    const times = { id: 'thr<1>', created_at: '<ts>', updated_at: '<ts>' };
    const ours = backlog.frames().map((frame) => {
      const { previous_seq: _, ...envelope } = parseFrame(frame)!;
      const { thread } = envelope.payload as { thread: ThreadRecord };
      return { ...envelope, ...masked, payload: { ...envelope.payload, thread: { ...thread, ...times } } };
    });
    expect(ours).toEqual(recorded.frames.map(parseFrame));
    expect(backlog.headers).toMatchObject(recorded.headers!);
    backlog.close();
  });

  it('takes the token in its address, and is silent behind the last event', async () => {
    const thread = await app.thread();
    const address = `${app.baseUrl}/v1/threads/${thread}/events?since_seq=`;
    const all = await openStream(`${address}0&token=test-token`);
    await all.reached('thread.started');
    expect(render(all.entries())).toEqual(render(entriesOf(golden.get('http/events/query_token').frames).slice(0, 1)));
    const beyond = await openStream(`${address}999999&token=test-token`);
    expect(beyond.headers).toMatchObject(golden.get('http/events/beyond').headers!);
    expect(beyond.frames()).toEqual([]);
    all.close();
    beyond.close();
  });
});

describe('a turn that a restart interrupts', () => {
  for (const scenario of restartScenarios) {
    it(`goes on and ends as recorded for ${titleOf(scenario)}`, async () => {
      await compare(scenario, await perform(scenario));
    });
  }

  it('has shown before the kill what the reference showed before its own, which never went on', () => {
    for (const name of ['before_first_byte', 'during_tool']) {
      const recorded = entriesOf(golden.get(`restart/${name}`).frames).filter(
        ({ label }) => label !== 'approval.required',
      );
      const whole = render(entriesOf(golden.get(name === 'during_tool' ? 'sse/tool_auto_read' : 'sse/plain').frames));
      expect(whole.slice(0, recorded.length)).toEqual(render(recorded));
    }
  });
});

it('every recorded stream was compared, or is listed', () => {
  expect(golden.neverAsked().filter((name) => !streamsNotCompared.some(({ cases }) => cases.test(name)))).toEqual([]);
});

it('every listed difference of the events still shows', () => {
  expect(
    eventDifferences.filter((difference) => !difference.optional && !used.has(difference)).map(({ why }) => why),
  ).toEqual([]);
});
