import type { EventEnvelope } from '../../src/contracts/records.ts';

/**
 * What a client can rely on in one frame: what happened, and to which turn, item and call, without ids, times and
 * wording.
 */
export interface Entry {
  /** e.g. `item.completed tool completed`; `: keepalive` for a comment */
  label: string;
  turn: string | null;
  item: string | null;
  /** the tool call that it announces, or asks about: an approval and a question have the id of their call */
  call: string | null;
  envelope: Envelope | null;
}
export type Envelope = EventEnvelope & { previous_seq?: number };

/** Kinds that a client draws alike: which of them a tool is depends on the tool, and tools differ. */
const TOOLS = new Set(['tool_call', 'file_change', 'command_execution']);

/**
 * @throws for a frame that is not exactly `event: <name>`, `id: <seq>` (recorded ones have none), `data: <one line of
 * JSON>`, blank line, or a comment
 */
export function parseFrame(frame: string): Envelope | null {
  if (frame === ': keepalive\n\n') return null;
  const parts = /^event: (\S+)\n(?:id: (\d+)\n)?data: (.+)\n\n$/.exec(frame);
  if (!parts) throw new Error(`not a frame: ${JSON.stringify(frame)}`);
  const envelope = JSON.parse(parts[3]!) as Envelope;
  if (parts[2] !== undefined && Number(parts[2]) !== envelope.seq)
    throw new Error(`the id ${parts[2]} is another event's`);
  if (envelope.event !== parts[1] || envelope.kind !== parts[1])
    throw new Error(`the frame ${parts[1]} holds the event ${envelope.event}`);
  return envelope;
}

/**
 * One entry for each frame; repeated deltas of an item and repeated keepalives count once: their number is a matter of
 * timing.
 */
export function entriesOf(frames: readonly string[]): Entry[] {
  const entries = frames.map((frame): Entry => {
    const envelope = parseFrame(frame);
    if (!envelope) return { label: ': keepalive', turn: null, item: null, call: null, envelope };
    const { payload } = envelope as {
      payload: { id?: string; approval_id?: string; input_id?: string; tool?: { id: string } };
    };
    return {
      label: labelOf(envelope),
      turn: envelope.turn_id,
      item: envelope.item_id,
      call: payload.tool?.id ?? payload.approval_id ?? payload.input_id ?? payload.id ?? null,
      envelope,
    };
  });
  return entries.filter((entry, at) => {
    const before = entries[at - 1];
    return !/^(item\.delta|:)/.test(entry.label) || entry.label !== before?.label || entry.item !== before.item;
  });
}

function labelOf({ event, payload }: Envelope): string {
  const { item, turn, kind, decision, remember, status } = payload as {
    item?: { kind: string; status: string; summary: string };
    turn?: { status: string };
    kind?: string;
    decision?: string;
    remember?: boolean;
    status?: string;
  };
  const words = [event];
  if (item) {
    words.push(TOOLS.has(item.kind) ? 'tool' : item.kind, item.status);
    // what a status item is about is its text
    if (item.kind === 'status') words.push(JSON.stringify(item.summary));
  }
  if (event === 'item.delta') words.push(TOOLS.has(kind ?? '') ? 'tool' : kind!);
  if (turn) words.push(turn.status);
  if (decision) words.push(decision, remember ? 'for good' : 'once');
  if (event === 'turn.lifecycle') words.push(status!);
  return words.join(' ');
}

/** Lines to compare: ids become roles in order of first appearance, such as `turn#1 item#2`. */
export function render(entries: readonly Entry[]): string[] {
  const roles = new Map<string, string>();
  const count: Record<string, number> = {};
  const role = (kind: string, id: string | null): string => {
    if (id === null) return '';
    if (!roles.has(id)) {
      count[kind] = (count[kind] ?? 0) + 1;
      roles.set(id, ` ${kind}#${count[kind]}`);
    }
    return roles.get(id)!;
  };
  return entries.map(
    ({ label, turn, item, call }) => `${label}${role('turn', turn)}${role('item', item)}${role('call', call)}`,
  );
}

/** Parts of a payload whose shape belongs to a tool, not to the API. */
const TOOLS_OWN = /^payload\.(item\.metadata|tool\.input|input)\b/;

/** `path:type` of every value of an envelope, elements of a list together. */
export function shapeOf(value: unknown, path = '', into = new Set<string>()): Set<string> {
  if (TOOLS_OWN.test(path)) return into;
  const type = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  if (path) into.add(`${path}:${type}`);
  if (Array.isArray(value)) for (const each of value) shapeOf(each, `${path}[]`, into);
  else if (type === 'object')
    for (const [key, each] of Object.entries(value as object)) shapeOf(each, path ? `${path}.${key}` : key, into);
  return into;
}

/** For each label, the fields that every frame of it has. */
export function shapesOf(entries: readonly Entry[]): Map<string, Set<string>> {
  const shapes = new Map<string, Set<string>>();
  for (const { label, envelope } of entries) {
    if (!envelope) continue;
    const shape = shapeOf(envelope);
    const known = shapes.get(label);
    shapes.set(label, known ? new Set([...known].filter((field) => shape.has(field))) : shape);
  }
  return shapes;
}

/** `path.key` of every object's keys, in the order in which they stand; elements of a list after each other. */
function keysInOrder(value: unknown, path = ''): string[] {
  if (TOOLS_OWN.test(path)) return [];
  if (Array.isArray(value)) return value.flatMap((each, at) => keysInOrder(each, `${path}[${at}]`));
  if (value === null || typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([key, each]) => [`${path}.${key}`, ...keysInOrder(each, `${path}.${key}`)]);
}

/** The keys that both have, as each of them orders these: equal for a client that compares texts. */
export function sharedOrder(ours: unknown, theirs: unknown): { ours: string[]; theirs: string[] } {
  const [mine, recorded] = [keysInOrder(ours), keysInOrder(theirs)];
  const both = new Set(mine).intersection(new Set(recorded));
  return { ours: mine.filter((key) => both.has(key)), theirs: recorded.filter((key) => both.has(key)) };
}
