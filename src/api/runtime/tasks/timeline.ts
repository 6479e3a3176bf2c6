import { cut } from '../../../domain/text/storable.ts';
import type { TaskCall, TaskEvent } from '../../../store/routines/task-detail.ts';
import type { TaskToolCall, TimelineEntry } from './schemas.ts';

/** Length of a summary in a record. */
export const SUMMARY_CHARS = 240;

/**
 * What happened to a task, from the events of its thread: one entry for each thing that began or ended, none for pieces
 * of streamed texts.
 */
export function timelineOf(
  task: { id: string; thread_id: string; turn_id: string; status: string; created_at: Date },
  events: TaskEvent[],
): TimelineEntry[] {
  const begun = events.find(({ event }) => event === 'turn.started');
  return [
    entry(task.created_at, 'queued', 'Task queued'),
    ...(task.status !== 'queued' && begun
      ? [
          entry(begun.at, 'running', 'Task started'),
          entry(begun.at, 'runtime_link', `Linked runtime thread ${task.thread_id} turn ${task.turn_id}`),
        ]
      : []),
    ...events.flatMap((event) => entryOf(event, task) ?? []),
  ];
}

const TOOLS = new Set(['tool_call', 'file_change', 'command_execution']);

function entryOf({ seq, event, at, kind, summary }: TaskEvent, task: { status: string }): TimelineEntry | null {
  const what = summary ?? '';
  if (event === 'turn.completed')
    return task.status === 'queued' || task.status === 'running' ? null : entry(at, 'finished', `Task ${task.status}`);
  if (event === 'turn.interrupt_requested') return entry(at, 'cancel_requested', 'Cancellation requested');
  if (kind === 'user_message' || /^(thread|turn)\./.test(event)) return null;
  if (kind !== null && TOOLS.has(kind))
    return entry(at, event === 'item.started' ? 'tool_started' : 'tool_completed', what);
  if (event === 'item.started') return null;
  if (kind === 'agent_message') return entry(at, 'message', what);
  if (kind === 'error') return entry(at, 'error', what);
  if (kind === 'status') return entry(at, 'status', what);
  return entry(at, 'runtime_event', `#${seq} ${event}`);
}

const entry = (at: Date, kind: string, summary: string): TimelineEntry => ({
  timestamp: at.toISOString(),
  kind,
  summary: cut(summary, SUMMARY_CHARS),
});

/** A call that did not end with its turn was cancelled with it: none runs for ever. */
export function toolCallOf(call: TaskCall, turn: { over: boolean; created_at: Date }): TaskToolCall {
  const status = call.state === 'done' ? (call.ok ? 'success' : 'failed') : turn.over ? 'canceled' : 'running';
  const begun = call.started_at ?? turn.created_at;
  return {
    id: call.id,
    name: call.name,
    status,
    started_at: begun.toISOString(),
    ended_at: call.ended_at?.toISOString() ?? null,
    duration_ms: call.ended_at ? Math.max(0, call.ended_at.getTime() - begun.getTime()) : null,
    input_summary: cut(JSON.stringify(call.args), SUMMARY_CHARS),
    ...(call.output !== null && { output_summary: cut(call.output, SUMMARY_CHARS) }),
  };
}
