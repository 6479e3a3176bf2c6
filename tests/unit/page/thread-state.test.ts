import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EventEnvelope, ItemRecord, ThreadRecord, TurnRecord } from '../../../src/contracts/records.ts';
import {
  fold,
  foldAll,
  groupsOf,
  runningTurn,
  shownSteps,
  type ThreadDetail,
  viewOf,
  withOlder,
} from '../../../src/page/chats/thread-state.ts';

const thread = { id: 'thr_1', workspace: '/w', title: 'T' } as ThreadRecord;
const turn = (id: string, status: TurnRecord['status'] = 'in_progress') =>
  ({ id, thread_id: 'thr_1', status, input_summary: '', created_at: '2026-01-01T00:00:00Z' }) as TurnRecord;
const item = (id: string, over: Partial<ItemRecord> = {}) =>
  ({
    id,
    turn_id: 'turn_1',
    kind: 'agent_message',
    status: 'in_progress',
    summary: '',
    detail: '',
    ...over,
  }) as ItemRecord;
const event = (seq: number, name: string, payload: Record<string, unknown>, itemId: string | null = null) =>
  ({
    seq,
    event: name,
    kind: name,
    thread_id: 'thr_1',
    turn_id: 'turn_1',
    item_id: itemId,
    payload,
  }) as unknown as EventEnvelope;
const detail = (over: Partial<ThreadDetail> = {}): ThreadDetail => ({
  thread,
  turns: [],
  items: [],
  latest_seq: 10,
  ...over,
});

const STORY = [
  event(11, 'turn.started', { turn: turn('turn_1') }),
  event(12, 'item.started', { item: item('item_1') }, 'item_1'),
  event(13, 'item.delta', { delta: 'Hello ', kind: 'agent_message' }, 'item_1'),
  event(14, 'item.delta', { delta: 'world', kind: 'agent_message' }, 'item_1'),
  event(15, 'item.completed', { item: item('item_1', { status: 'completed', detail: 'Hello world' }) }, 'item_1'),
  event(16, 'turn.completed', { turn: turn('turn_1', 'completed') }),
];

describe('a thread on the page', () => {
  it('shows what streams in, and what it became', () => {
    const half = foldAll(viewOf(detail()), STORY.slice(0, 4));
    expect(half.turns[0]!.items[0]!.detail).toBe('Hello world');
    expect(runningTurn(half)?.id).toBe('turn_1');
    const whole = foldAll(half, STORY.slice(4));
    expect(whole.turns[0]!.items).toHaveLength(1);
    expect(runningTurn(whole)).toBeNull();
  });

  it('is the same, however often and wherever the connection broke', () => {
    const once = foldAll(viewOf(detail()), STORY);
    fc.assert(
      fc.property(fc.array(fc.nat(STORY.length)), (breaks) => {
        // each connection begins again with events that were handled before
        let view = viewOf(detail());
        for (const at of [...breaks, STORY.length]) view = foldAll(view, STORY.slice(0, at));
        expect(view).toEqual(once);
      }),
    );
  });

  it('reads text again that had streamed before it was opened', () => {
    const opened = viewOf(detail({ turns: [turn('turn_1')], items: [item('item_1')], latest_seq: 14 }));
    expect(opened.seq).toBeLessThan(13);
    expect(foldAll(opened, STORY.slice(0, 4)).turns[0]!.items[0]!.detail).toBe('Hello world');
    expect(foldAll(opened, STORY)).toMatchObject({
      turns: [{ record: { status: 'completed' }, items: [{ detail: 'Hello world', status: 'completed' }] }],
    });
  });

  it('keeps the text of an answer that was stopped, which is stored nowhere else, and finds it again when it is opened later', () => {
    const stopped = item('item_1', { status: 'interrupted' });
    const story = [...STORY.slice(0, 4), event(15, 'item.interrupted', { item: stopped }, 'item_1')];
    const shown = { turns: [{ items: [{ detail: 'Hello world', status: 'interrupted' }] }] };
    expect(foldAll(viewOf(detail()), story)).toMatchObject(shown);
    const opened = viewOf(detail({ turns: [turn('turn_1', 'interrupted')], items: [stopped], latest_seq: 15 }));
    expect(foldAll(opened, story)).toMatchObject(shown);
    expect(foldAll(foldAll(opened, story), story)).toMatchObject(shown);
  });

  it('keeps the objects of turns that did not change', () => {
    const before = foldAll(viewOf(detail({ turns: [turn('turn_0', 'completed')] })), STORY.slice(0, 2));
    expect(fold(before, STORY[2]!).turns[0]).toBe(before.turns[0]);
  });

  it('puts older turns in front, each once', () => {
    const view = viewOf(detail({ turns: [turn('turn_2')], more_before: 'turn_2' }));
    const older = withOlder(view, detail({ turns: [turn('turn_1'), turn('turn_2')] }));
    expect(older.turns.map(({ record }) => record.id)).toEqual(['turn_1', 'turn_2']);
    expect(older.before).toBeNull();
  });

  it('shows no call that the model corrects by itself, and says once that a turn was stopped', () => {
    const call = (id: string, detail: string) => item(id, { kind: 'tool_call', status: 'failed', detail });
    const groups = groupsOf([
      call('wrong', 'The arguments of shell_run are not right:\n✖ Unrecognized key: "description"'),
      call('failed', 'There is no such file.'),
      item('stopped', { kind: 'status', status: 'completed', summary: 'Request cancelled' }),
    ]);
    expect(groups.flatMap((group) => (group.kind === 'steps' ? group.items.map(({ id }) => id) : []))).toEqual([
      'failed',
    ]);
  });

  it('folds a row of steps, and shows its end', () => {
    const steps = Array.from({ length: 5_000 }, (_, at) => item(`s${at}`, { kind: 'tool_call', status: 'completed' }));
    const groups = groupsOf([item('u', { kind: 'user_message' }), ...steps, item('a')]);
    expect(groups.map(({ kind }) => kind)).toEqual(['said', 'steps', 'said']);
    const { hidden, shown } = shownSteps(steps, 4);
    expect([hidden.length, shown.map(({ id }) => id)]).toEqual([4_996, ['s4996', 's4997', 's4998', 's4999']]);
  });
});
