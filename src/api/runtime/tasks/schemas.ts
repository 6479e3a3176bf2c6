import { z } from 'zod';
import { TASK_STATUSES } from '../../../store/routines/background-tasks.ts';

/** Tasks as clients know them. Times that are not there yet are null; other fields that are not there are left out. */

const time = () => z.iso.datetime().meta({ pattern: undefined });
const count = () => z.int().nonnegative();
const status = z.enum(TASK_STATUSES);

const runTimes = {
  created_at: time(),
  started_at: time().nullable(),
  ended_at: time().nullable(),
  duration_ms: count().nullable(),
};

const taskSummary = z
  .object({
    id: z.string(),
    status,
    prompt_summary: z.string(),
    model: z.string(),
    mode: z.string(),
    ...runTimes,
    error: z.string().optional(),
    thread_id: z.string(),
    turn_id: z.string(),
  })
  .meta({ id: 'TaskSummary' });
export type TaskSummary = z.output<typeof taskSummary>;

export const taskList = z
  .object({ tasks: z.array(taskSummary), counts: z.record(status, count()) })
  .meta({ id: 'TaskList' });

const toolCall = z.object({
  id: z.string(),
  name: z.string(),
  status: z.enum(['running', 'success', 'failed', 'canceled']),
  started_at: time(),
  ended_at: time().nullable(),
  duration_ms: count().nullable(),
  input_summary: z.string().optional(),
  output_summary: z.string().optional(),
});
export type TaskToolCall = z.output<typeof toolCall>;

const gate = z.object({
  id: z.string(),
  gate: z.string(),
  command: z.string(),
  cwd: z.string(),
  exit_code: z.int().nullable(),
  status: z.enum(['passed', 'failed']),
  classification: z.string(),
  duration_ms: count().nullable(),
  summary: z.string(),
  recorded_at: time(),
});
export type TaskGate = z.output<typeof gate>;

const timelineEntry = z.object({ timestamp: time(), kind: z.string(), summary: z.string() });
export type TimelineEntry = z.output<typeof timelineEntry>;

const none = () => z.array(z.unknown()).max(0);

export const taskRecord = z
  .object({
    schema_version: z.literal(2),
    id: z.string(),
    prompt: z.string(),
    model: z.string(),
    workspace: z.string(),
    mode: z.string(),
    allow_shell: z.boolean(),
    trust_mode: z.boolean(),
    auto_approve: z.boolean(),
    status,
    ...runTimes,
    result_summary: z.string().optional(),
    error: z.string().optional(),
    thread_id: z.string(),
    turn_id: z.string(),
    runtime_event_count: count(),
    checklist: z.object({
      items: z.array(z.object({ id: z.int(), content: z.string(), status: z.string() })),
      completion_pct: count(),
      in_progress_id: z.int().nullable(),
      updated_at: time().nullable(),
    }),
    gates: z.array(gate),
    attempts: none(),
    artifacts: none(),
    github_events: none(),
    tool_calls: z.array(toolCall),
    timeline: z.array(timelineEntry),
    coding_task: z
      .object({
        id: z.string(),
        agent: z.string(),
        host: z.string(),
        workspace: z.string(),
        state: z
          .string()
          .describe(
            'queued, running, waiting (for a person, or for a limit of its model), paused, completed, failed or cancelled',
          ),
        last: z.string().nullable().describe('What it did last'),
        files_changed: z.array(z.object({ path: z.string(), status: z.string(), added: count(), removed: count() })),
        verdict: z
          .object({ level: z.enum(['verified', 'partly', 'unverified']), reasons: z.array(z.string()) })
          .nullable()
          .describe('What the tests show, by rules; null before its end, and where no file was changed'),
      })
      .optional()
      .describe('The coding task that it is, or has started'),
  })
  .meta({ id: 'TaskRecord' });
export type TaskRecord = z.output<typeof taskRecord>;
