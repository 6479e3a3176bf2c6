import type { EventEnvelope, ItemRecord, ThreadRecord, TurnRecord } from '../../contracts/records.ts';
import { isCorrected } from '../../domain/chat/words/step-words.ts';

/** `GET /v1/threads/{id}`, as far as the page uses it. */
export interface ThreadDetail {
  thread: ThreadRecord;
  turns: TurnRecord[];
  items: ItemRecord[];
  latest_seq: number;
  more_before?: string;
}

export interface TurnView {
  record: TurnRecord;
  items: ItemRecord[];
}

/** A thread as the page shows it. What did not change stays the same object, so only what changed is drawn again. */
export interface ThreadView {
  thread: ThreadRecord;
  /** oldest first */
  turns: TurnView[];
  /** older turns: value of `before`; null when the beginning is here */
  before: string | null;
  /** events up to this one are in what was read */
  read: number;
  /** events up to this one have been handled */
  seq: number;
  /** ids of items whose text was not in what was read, and is put together from their events */
  unread: ReadonlySet<string>;
}

/**
 * Text that streams is stored at its end only, and not by a turn that is stopped. A page that comes in the middle, or
 * later, reads this many events again.
 */
const CATCH_UP = 4_000;

export function viewOf({ thread, turns, items, latest_seq: read, more_before: before }: ThreadDetail): ThreadView {
  const unread = new Set(items.filter(lacksText).map(({ id }) => id));
  return {
    thread,
    turns: turnViews(turns, items),
    before: before ?? null,
    read,
    seq: unread.size > 0 ? Math.max(0, read - CATCH_UP) : read,
    unread,
  };
}

/** Older turns go in front. */
export function withOlder(view: ThreadView, { turns, items, more_before: before }: ThreadDetail): ThreadView {
  const known = new Set(view.turns.map(({ record }) => record.id));
  const older = turnViews(turns, items).filter(({ record }) => !known.has(record.id));
  return { ...view, turns: [...older, ...view.turns], before: before ?? null };
}

function turnViews(turns: TurnRecord[], items: ItemRecord[]): TurnView[] {
  const byTurn = Map.groupBy(items, (item) => item.turn_id);
  return turns.map((record) => ({ record, items: byTurn.get(record.id) ?? [] }));
}

/** The next state. An event that was handled before changes nothing. */
export function fold(view: ThreadView, event: EventEnvelope): ThreadView {
  if (event.seq <= view.seq) return view;
  const next = { ...view, seq: event.seq };
  const { payload } = event;
  // what was read has it already, apart from text that streams
  if (event.seq <= view.read) return event.event === 'item.delta' ? withDelta(next, event, true) : next;
  if (event.event === 'item.delta') return withDelta(next, event, false);
  if (isThread(payload.thread)) next.thread = payload.thread;
  let result = next;
  if (isTurn(payload.turn)) result = withTurn(result, payload.turn);
  if (isItem(payload.item)) result = withItem(result, payload.item);
  return result;
}

export const foldAll = (view: ThreadView, events: readonly EventEnvelope[]): ThreadView => events.reduce(fold, view);

function withTurn(view: ThreadView, record: TurnRecord): ThreadView {
  const at = view.turns.findLastIndex((turn) => turn.record.id === record.id);
  if (at >= 0) return replaced(view, at, { ...view.turns[at]!, record });
  return { ...view, turns: [...view.turns, { record, items: [] }] };
}

function withItem(view: ThreadView, item: ItemRecord): ThreadView {
  const at = view.turns.findLastIndex((turn) => turn.record.id === item.turn_id);
  // of a turn that is older than what was loaded
  if (at < 0) return view;
  const turn = view.turns[at]!;
  const place = turn.items.findLastIndex((each) => each.id === item.id);
  const known = turn.items[place];
  if (!known) return replaced(view, at, { ...turn, items: [...turn.items, item] });
  // an end never turns into a beginning again
  if (known.status !== 'in_progress' && item.status === 'in_progress') return view;
  return replaced(view, at, { ...turn, items: turn.items.with(place, withTextOf(known, item)) });
}

/** A stop ends an item without its text, which was streamed before. */
const withTextOf = (known: ItemRecord, item: ItemRecord): ItemRecord =>
  lacksText(item) && known.detail ? { ...item, detail: known.detail } : item;

function withDelta(
  view: ThreadView,
  { turn_id: turnId, item_id: itemId, payload }: EventEnvelope,
  catchingUp: boolean,
): ThreadView {
  const at = view.turns.findLastIndex((turn) => turn.record.id === turnId);
  const turn = view.turns[at];
  const place = turn?.items.findLastIndex((each) => each.id === itemId) ?? -1;
  const item = turn?.items[place];
  const wanted = catchingUp ? view.unread.has(item?.id ?? '') : item?.status === 'in_progress';
  if (!turn || !item || !wanted || typeof payload.delta !== 'string') return view;
  return replaced(view, at, {
    ...turn,
    items: turn.items.with(place, { ...item, detail: (item.detail ?? '') + payload.delta }),
  });
}

const replaced = (view: ThreadView, at: number, turn: TurnView): ThreadView => ({
  ...view,
  turns: view.turns.with(at, turn),
});

export const isCall = ({ kind }: ItemRecord): boolean =>
  kind === 'tool_call' || kind === 'file_change' || kind === 'command_execution';
const isText = ({ kind }: ItemRecord): boolean => kind === 'agent_message' || kind === 'agent_reasoning';
const lacksText = (item: ItemRecord): boolean =>
  isText(item) && (item.status === 'in_progress' || item.status === 'interrupted') && !item.detail;
const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
const isThread = (value: unknown): value is ThreadRecord =>
  isObject(value) && typeof value.id === 'string' && typeof value.workspace === 'string';
const isTurn = (value: unknown): value is TurnRecord =>
  isObject(value) && typeof value.id === 'string' && typeof value.thread_id === 'string';
const isItem = (value: unknown): value is ItemRecord =>
  isObject(value) && typeof value.id === 'string' && typeof value.turn_id === 'string';

/** The turn that works now. */
export const runningTurn = ({ turns }: ThreadView): TurnRecord | null =>
  turns.findLast(({ record: { status } }) => status === 'in_progress' || status === 'queued')?.record ?? null;

/** What follows each other in a turn: something that was said, or a row of steps that are folded together. */
type Group = { kind: 'said'; item: ItemRecord } | { kind: 'steps'; id: string; items: ItemRecord[] };

const STEPS: ReadonlySet<string> = new Set([
  'tool_call',
  'file_change',
  'command_execution',
  'agent_reasoning',
  'status',
]);

/** As `finishTurn` stores it for clients of the runtime API. */
const STOPPED = 'Request cancelled';

export function groupsOf(items: readonly ItemRecord[]): Group[] {
  const groups: Group[] = [];
  for (const item of items) {
    if (isCall(item) && isCorrected(item.detail ?? '')) continue;
    // the end of the turn says it
    if (item.kind === 'status' && item.summary === STOPPED) continue;
    const last = groups.at(-1);
    if (!STEPS.has(item.kind)) groups.push({ kind: 'said', item });
    else if (last?.kind === 'steps') last.items.push(item);
    else groups.push({ kind: 'steps', id: item.id, items: [item] });
  }
  return groups;
}

/** The steps that are shown without being asked for: what runs, and the last ones. */
export function shownSteps(items: readonly ItemRecord[], most: number): { hidden: ItemRecord[]; shown: ItemRecord[] } {
  if (items.length <= most) return { hidden: [], shown: [...items] };
  return { hidden: items.slice(0, items.length - most), shown: items.slice(items.length - most) };
}
