import type { KnownEvent } from './follower.ts';
import type { Approval, Detail, Input, Item, Thread, Turn } from './shapes.ts';

/**
 * A thread as a page of reducers holds it. It is made from events alone, or from a thread that was read and the events
 * behind it.
 */
export interface State {
  seq: number;
  thread: Thread | null;
  turns: Turn[];
  items: Item[];
  approvals: Approval[];
  inputs: Input[];
}

export const EMPTY: State = { seq: 0, thread: null, turns: [], items: [], approvals: [], inputs: [] };

export const hydrated = (detail: Detail): State => ({
  seq: detail.latest_seq,
  thread: detail.thread,
  turns: detail.turns,
  items: detail.items,
  approvals: detail.pending_approvals,
  inputs: detail.pending_user_inputs,
});

/** The state with one event more; an event that is in it already changes nothing. */
export const fold = (state: State, event: KnownEvent): State =>
  event.seq <= state.seq ? state : { ...reduced(state, event), seq: event.seq };

function reduced(state: State, { event, turn_id: turnId, item_id: itemId, payload }: KnownEvent): State {
  switch (event) {
    case 'thread.started':
    case 'thread.updated':
    case 'thread.forked':
      return { ...state, thread: payload.thread };
    case 'turn.started':
      return {
        ...state,
        turns: put(state.turns, payload.turn),
        thread: state.thread && { ...state.thread, latest_turn_id: payload.turn.id },
      };
    case 'turn.steered':
      return {
        ...state,
        turns: changed(state.turns, turnId, (turn) => ({ ...turn, steer_count: turn.steer_count + 1 })),
      };
    case 'turn.completed':
      return { ...state, turns: put(state.turns, payload.turn), approvals: [], inputs: [] };
    case 'item.started':
    case 'item.completed':
    case 'item.failed':
    case 'item.interrupted':
      return {
        ...state,
        items: put(state.items, payload.item),
        turns: changed(state.turns, turnId, withItem(payload.item.id)),
      };
    case 'item.delta':
      return payload.kind.startsWith('agent_')
        ? { ...state, items: changed(state.items, itemId, withText(payload.delta)) }
        : state;
    case 'approval.required':
      return { ...state, approvals: put(state.approvals, payload) };
    case 'approval.decided':
      return { ...state, approvals: state.approvals.filter(({ id }) => id !== payload.approval_id) };
    case 'user_input.required':
      return { ...state, inputs: put(state.inputs, payload) };
    case 'user_input.answered':
      return { ...state, inputs: state.inputs.filter(({ id }) => id !== payload.input_id) };
    case 'user_input.canceled':
      return { ...state, inputs: state.inputs.filter(({ id }) => id !== payload.id) };
    default:
      return state;
  }
}

const put = <T extends { id: string }>(list: readonly T[], one: T): T[] =>
  list.some(({ id }) => id === one.id) ? list.map((each) => (each.id === one.id ? one : each)) : [...list, one];

/** @throws when no entry has this id: the real page would silently draw nothing */
function changed<T extends { id: string }>(list: readonly T[], id: string | null, change: (one: T) => T): T[] {
  if (!list.some((each) => each.id === id)) throw new Error(`an event is about ${id}, which no event has told of`);
  return list.map((each) => (each.id === id ? change(each) : each));
}

const withItem =
  (id: string) =>
  (turn: Turn): Turn =>
    turn.item_ids.includes(id) ? turn : { ...turn, item_ids: [...turn.item_ids, id] };

const withText =
  (text: string) =>
  (item: Item): Item => {
    if (item.status !== 'in_progress') throw new Error(`text comes for ${item.id}, which is ${item.status}`);
    return { ...item, detail: (item.detail ?? '') + text };
  };

/** What a page shows of a state. When a thread was touched last is not told by events. */
export function shown({ thread, turns, items, approvals, inputs }: State) {
  const { updated_at: _, ...rest } = thread!;
  const asked = approvals.map(({ id, approval_id, tool_name, description, intent_summary }) => ({
    id,
    approval_id,
    tool_name,
    description,
    intent_summary,
  }));
  return { thread: rest, turns, items, approvals: asked, inputs: inputs.map(({ id, request }) => ({ id, request })) };
}

/** The text that came in pieces for each item that has ended, which its end must repeat. */
export function piecesOf(events: readonly KnownEvent[]): Map<string, string> {
  const texts = new Map<string, string>();
  for (const { event, item_id: id, payload } of events)
    if (event === 'item.delta' && payload.kind.startsWith('agent_'))
      texts.set(id!, (texts.get(id!) ?? '') + payload.delta);
  return texts;
}
