import type { EventEnvelope, ItemRecord, TurnRecord } from '../../../contracts/records.ts';

/** A frame of the compatibility stream. */
export interface Frame {
  event: string;
  data: unknown;
}

const TOOLS: ReadonlySet<string> = new Set(['tool_call', 'file_change', 'command_execution']);
/** Passed on as they are: the client that reads the stream may answer. */
const PASSED_ON = /^(approval\.(required|decided|timeout)|sandbox\.denied|user_input\.(required|answered|canceled))$/;

/** An event of a turn as the compatibility stream tells it; null for what it leaves out, such as thoughts. */
export function frameOf({ event, payload }: EventEnvelope): Frame | null {
  if (PASSED_ON.test(event)) return { event, data: payload };
  const { item, tool, delta, kind, turn } = payload as {
    item?: ItemRecord;
    tool?: object;
    delta?: string;
    kind?: string;
    turn?: TurnRecord;
  };
  if (event === 'turn.completed') return { event, data: { usage: turn!.usage ?? null } };
  if (event === 'item.delta') return deltaFrame(kind!, delta!);
  if (event === 'item.started') return tool ? { event: 'tool.started', data: tool } : null;
  return (event === 'item.completed' || event === 'item.failed') && item ? endFrame(event, item) : null;
}

function deltaFrame(kind: string, delta: string): Frame | null {
  if (kind === 'agent_message') return { event: 'message.delta', data: { content: delta } };
  return kind === 'tool_call' ? { event: 'tool.progress', data: { output: delta } } : null;
}

function endFrame(event: string, { id, kind, detail, summary }: ItemRecord): Frame | null {
  const text = detail ?? summary;
  if (TOOLS.has(kind))
    return { event: 'tool.completed', data: { id, success: event === 'item.completed', output: text } };
  return kind === 'status' || kind === 'error' ? { event: kind, data: { message: text } } : null;
}
