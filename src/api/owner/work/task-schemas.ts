import { z } from 'zod';
import type { LogLine } from '../../../contracts/kennel.ts';
import type {
  DiffFile,
  OwnerTasks,
  TaskChanges,
  TaskDetail,
  TaskDiff,
  TaskLog,
  TaskOrdered,
  TaskSummary,
  TaskTests,
  TaskVerdict,
} from '../../../contracts/owner.ts';
import { count, type Fields, time, usd } from '../../http/endpoint.ts';
import { actionFields, chatFields } from '../shared.ts';

export const taskStates = ['queued', 'running', 'waiting', 'paused', 'completed', 'failed', 'cancelled'] as const;

const summary = {
  id: z.string(),
  chat: chatFields,
  goal: z.string(),
  agent: z.string(),
  state: z.enum(taskStates),
  planning: z.boolean().describe('It makes a plan, and has changed nothing yet'),
  host: z.string(),
  workspace: z.string(),
  branch: z.string().nullable().describe('It works on files of its own, on this branch'),
  last: z.string().nullable(),
  reason: z.string().nullable(),
  limited_until: time().nullable(),
  files_changed: count().nullable(),
  tests_ok: z.boolean().nullable(),
  created_at: time(),
  started_at: time().nullable(),
  ended_at: time().nullable(),
  tokens: count(),
  cost_usd: usd(),
  unpriced_usd: usd(),
  actions: z.array(actionFields),
} satisfies Fields<TaskSummary>;

const tests = z.object({ command: z.string(), ok: z.boolean(), output: z.string() } satisfies Fields<TaskTests>);
const counts = { passed: count(), failed: count(), skipped: count() };
const verdict = z.object({
  level: z.enum(['verified', 'partly', 'unverified']),
  reasons: z.array(z.string()),
  ...counts,
  before: z.object(counts).nullable(),
} satisfies Fields<TaskVerdict>);
const changeStates = z.enum(['added', 'modified', 'deleted', 'renamed']);
const changes = z.object({
  commit: z.string().nullable(),
  branch: z.string().nullable(),
  kept_on: z.string().nullable(),
  added: count(),
  removed: count(),
  files_changed: count(),
  files: z.array(
    z.object({ path: z.string(), status: changeStates, added: count(), removed: count(), from: z.string().nullable() }),
  ),
  note: z.string().nullable(),
} satisfies Fields<TaskChanges>);

export const taskList = z
  .object({
    tasks: z.array(z.object(summary).meta({ id: 'OwnerTask' })),
    next: z.string().nullable().describe('`before` of the next page'),
  } satisfies Fields<OwnerTasks>)
  .meta({ id: 'OwnerTasks' });

export const taskFields = z
  .object({
    ...summary,
    turn_id: z.string(),
    timeout_ms: count(),
    plan: z.object({ text: z.string(), files: z.array(z.string()) }).nullable(),
    summary: z.string().nullable(),
    said: z.string().nullable(),
    report: z.string().nullable(),
    tests: tests.nullable(),
    verdict: verdict.nullable(),
    changes: changes.nullable(),
    usage: z.array(
      z.object({ model: z.string(), calls: count(), input_tokens: count(), output_tokens: count(), cost_usd: usd() }),
    ),
    egress: z.array(
      z.object({
        to: z.string(),
        port: count(),
        connections: count(),
        refused: count(),
        sent: count(),
        received: count(),
      }),
    ),
    log_lines: count(),
  } satisfies Fields<TaskDetail>)
  .meta({ id: 'OwnerTaskDetail' });

/** Its further fields depend on the type; src/contracts/kennel.ts lists them. */
const line = z.looseObject({
  seq: count(),
  at: z.string(),
  step: count(),
  type: z.string(),
}) as unknown as z.ZodType<LogLine>;

export const logFields = z
  .object({
    lines: z.array(line),
    next: count().describe('`after` of the next page'),
    more: z.boolean(),
    total: count(),
  } satisfies Fields<TaskLog>)
  .meta({ id: 'OwnerTaskLog' });

const file = z.object({
  path: z.string(),
  status: changeStates,
  from: z.string().nullable(),
  added: count(),
  removed: count(),
  diff: z.string().nullable(),
} satisfies Fields<DiffFile>);

export const diffFields = z
  .object({
    source: z.enum(['git', 'log', 'none']),
    note: z.string().nullable(),
    files: z.array(file),
    cut: z.boolean().describe('There is more than is here'),
  } satisfies Fields<TaskDiff>)
  .meta({ id: 'OwnerTaskDiff' });

export const orderedFields = z
  .object({
    kind: z.enum(['turn', 'steer', 'answer', 'stop', 'reply', 'task']),
    turn_id: z.string().nullable(),
    reply: z.string().nullable(),
  } satisfies Fields<TaskOrdered>)
  .meta({ id: 'OwnerTaskOrdered' });
