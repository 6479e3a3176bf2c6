import { parseTaskStart } from '../../../domain/chat/words/tool-words.ts';
import { cut } from '../../../domain/text/storable.ts';
import { getThread } from '../../../store/chats/threads/threads.ts';
import { findTask, type Task } from '../../../store/kennel/tasks/tasks.ts';
import type { Db } from '../../../store/postgres/database.ts';
import type { TaskRow } from '../../../store/routines/background-tasks.ts';
import {
  callsOfTurn,
  countEvents,
  eventsOfTask,
  lastWordsOf,
  type TaskCall,
  type TaskEvent,
} from '../../../store/routines/task-detail.ts';
import type { TaskGate, TaskRecord, TaskSummary, TaskToolCall, TimelineEntry } from './schemas.ts';

/** Newest events that a timeline is made of. */
const TIMELINE_EVENTS = 500;

/** A coding task that has not begun has only the words that start it. */
const promptOf = ({ coding, prompt }: TaskRow): string => (coding ? (parseTaskStart(prompt)?.goal ?? prompt) : prompt);

const timesOf = ({ created_at, started_at, ended_at }: TaskRow) => ({
  created_at: created_at.toISOString(),
  started_at: started_at?.toISOString() ?? null,
  ended_at: ended_at?.toISOString() ?? null,
  duration_ms: started_at && ended_at ? Math.max(0, ended_at.getTime() - started_at.getTime()) : null,
});

export const summaryOf = (row: TaskRow): TaskSummary => ({
  id: row.id,
  status: row.status,
  prompt_summary: cut(promptOf(row), SUMMARY_CHARS),
  model: row.model,
  mode: row.mode,
  ...timesOf(row),
  ...(row.error !== null && { error: row.error }),
  thread_id: row.thread_id,
  turn_id: row.turn_id,
});

/** The whole record of a task, as the store has it now. */
export async function recordOf(db: Db, row: TaskRow): Promise<TaskRecord> {
  const [thread, coding, calls, events, count, words] = await Promise.all([
    getThread(db, row.thread_id),
    row.coding_task === null ? undefined : findTask(db, row.coding_task),
    callsOfTurn(db, row.turn_id),
    eventsOfTask(db, row.thread_id, TIMELINE_EVENTS),
    countEvents(db, row.thread_id),
    lastWordsOf(db, row.turn_id),
  ]);
  const over = row.ended_at !== null;
  const said = coding ? coding.result?.said || coding.result?.summary : words;
  const error = row.error ?? (row.status === 'failed' ? (coding?.reason ?? words) : null);
  return {
    schema_version: 2,
    id: row.id,
    prompt: promptOf(row),
    model: row.model,
    workspace: coding?.workspace ?? thread!.workspace,
    mode: row.mode,
    allow_shell: thread!.allow_shell,
    trust_mode: thread!.trust_mode,
    auto_approve: thread!.auto_approve,
    status: row.status,
    ...timesOf(row),
    ...(over && said && { result_summary: cut(said, SUMMARY_CHARS) }),
    ...(error && { error }),
    thread_id: row.thread_id,
    turn_id: row.turn_id,
    runtime_event_count: count,
    checklist: { items: [], completion_pct: 0, in_progress_id: null, updated_at: null },
    gates: coding ? gatesOf(coding) : [],
    attempts: [],
    artifacts: [],
    github_events: [],
    tool_calls: calls.map((call) => toolCallOf(call, { over, created_at: row.created_at })),
    timeline: timelineOf(row, events),
    ...(coding && { coding_task: codingTaskOf(coding) }),
  };
}

/** As it was accepted: queued, and nothing has happened yet. */
export async function acceptedRecord(db: Db, row: TaskRow): Promise<TaskRecord> {
  const record = await recordOf(db, { ...row, status: 'queued', started_at: null, ended_at: null, error: null });
  return { ...record, runtime_event_count: 0, tool_calls: [], timeline: record.timeline.slice(0, 1) };
}

/** The tests of a coding task, which run once, at its end. How long they took is not kept. */
function gatesOf({ id, workspace, result, ended_at }: Task): TaskGate[] {
  if (!result?.tests || !ended_at) return [];
  const { command, ok, output } = result.tests;
  return [
    {
      id: `${id}_tests`,
      gate: 'tests',
      command,
      cwd: workspace,
      exit_code: ok ? 0 : null,
      status: ok ? 'passed' : 'failed',
      classification: ok ? 'pass' : 'test_failure',
      duration_ms: null,
      summary: cut(output.trim(), SUMMARY_CHARS),
      recorded_at: ended_at.toISOString(),
    },
  ];
}

const codingTaskOf = ({ id, harness, host, workspace, state, last, result }: Task): TaskRecord['coding_task'] => ({
  id,
  agent: harness,
  host,
  workspace,
  state,
  last,
  files_changed: (result?.changes?.files ?? []).map(({ path, status, added, removed }) => ({
    path,
    status,
    added,
    removed,
  })),
  verdict: result?.verdict ? { level: result.verdict.level, reasons: result.verdict.reasons } : null,
});

/** Length of a summary in a record. */
const SUMMARY_CHARS = 240;

/**
 * What happened to a task, from the events of its thread: one entry for each thing that began or ended, none for pieces
 * of streamed texts.
 */
function timelineOf(
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
function toolCallOf(call: TaskCall, turn: { over: boolean; created_at: Date }): TaskToolCall {
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
