import { type RawBuilder, sql } from 'kysely';
import type { AgentName, LogLine } from '../../../contracts/kennel.ts';
import type { TaskState } from '../../../contracts/task.ts';
import type { Profile } from '../../../contracts/workspace-ops.ts';
import type { Db } from '../../postgres/database.ts';
import type { TaskResult } from '../../schema/tables/kennel.ts';

/** Coding tasks of all chats. */

export interface TaskRow {
  id: string;
  thread_id: string;
  goal: string;
  harness: AgentName;
  state: TaskState;
  pausing: boolean;
  planning: boolean;
  host: string;
  workspace: string;
  worktree: boolean;
  last: string | null;
  reason: string | null;
  limited_until: Date | null;
  files_changed: number | null;
  tests_ok: boolean | null;
  created_at: Date;
  started_at: Date | null;
  ended_at: Date | null;
  tokens: number;
  micro_usd: number;
  unpriced: number;
}

const COLUMNS = sql`
  tasks.id, tasks.thread_id, tasks.goal, tasks.harness, tasks.state, tasks.pausing, tasks.planning, tasks.host, tasks.workspace, tasks.worktree, tasks.last,
  tasks.reason, tasks.limited_until, tasks.created_at, tasks.started_at, tasks.ended_at,
  coalesce((tasks.result -> 'changes' ->> 'filesChanged')::int, jsonb_array_length(nullif(tasks.result -> 'changes', 'null') -> 'files')) as files_changed,
  (nullif(tasks.result -> 'tests', 'null') ->> 'ok')::boolean as tests_ok, used.tokens, used.micro_usd, used.unpriced`;

const USED = sql`cross join lateral (
  select coalesce(sum(input_tokens + output_tokens), 0)::bigint as tokens, coalesce(sum(micro_usd), 0)::bigint as micro_usd,
    coalesce(sum(unpriced), 0)::bigint as unpriced from task_usage where task_usage.task_id = tasks.id) as used`;

const FILTERS = { live: sql<boolean>`tasks.ended_at is null`, over: sql<boolean>`tasks.ended_at is not null` } as const;
type TaskFilter = keyof typeof FILTERS | TaskState;

/** The latest first, from after the task `before` on. */
export async function listTasks(
  db: Db,
  { limit, before, state }: { limit: number; before: string | null; state: TaskFilter | null },
): Promise<TaskRow[]> {
  const of: RawBuilder<boolean> =
    state === null ? sql`true` : state === 'live' || state === 'over' ? FILTERS[state] : sql`tasks.state = ${state}`;
  const from =
    before === null
      ? sql`true`
      : sql`(tasks.created_at, tasks.id) < (select created_at, id from tasks where id = ${before})`;
  const { rows } = await sql<TaskRow>`
    select ${COLUMNS} from tasks ${USED} where ${of} and ${from} order by tasks.created_at desc, tasks.id desc limit ${limit}`.execute(
    db,
  );
  return rows;
}

export interface TaskDetailRow extends TaskRow {
  turn_id: string;
  timeout_ms: number;
  plan: { text: string; files: string[] } | null;
  result: TaskResult | null;
  report: string | null;
  log_lines: number;
}

export async function taskDetail(db: Db, id: string): Promise<TaskDetailRow | undefined> {
  const { rows } = await sql<TaskDetailRow>`
    select ${COLUMNS}, tasks.turn_id, tasks.timeout_ms, tasks.plan, tasks.result, (select body from outbox where outbox.id = tasks.outbox_id) as report,
      (select coalesce(max(seq), 0) from task_log where task_log.task_id = tasks.id) as log_lines
    from tasks ${USED} where tasks.id = ${id}`.execute(db);
  return rows[0];
}

export const egressOfTask = (db: Db, taskId: string, limit: number) =>
  db
    .selectFrom('task_egress')
    .select(['host', 'port', 'connections', 'refused', 'sent', 'received'])
    .where('task_id', '=', taskId)
    .orderBy('host')
    .orderBy('port')
    .limit(limit)
    .execute();

/** Lines of a task's log after one, in order. */
export const readLog = async (db: Db, taskId: string, after: number, limit: number): Promise<LogLine[]> =>
  (
    await db
      .selectFrom('task_log')
      .select('line')
      .where('task_id', '=', taskId)
      .where('seq', '>', after)
      .orderBy('seq')
      .limit(limit)
      .execute()
  ).map(({ line }) => line);

/** What the agent said that it changed: details of its ended edits, the oldest first. */
export async function editsInLog(db: Db, taskId: string, limit: number): Promise<string[]> {
  const { rows } = await sql<{ detail: string }>`
    select line ->> 'detail' as detail from task_log
    where task_id = ${taskId} and line ->> 'type' = 'tool' and line ->> 'status' = 'completed' and strpos(line ->> 'detail', '@@ ') > 0
    order by seq limit ${limit}`.execute(db);
  return rows.map(({ detail }) => detail);
}

export interface WorkspaceDetail {
  host: string;
  name: string;
  path: string;
  profile: Profile | null;
  seen_at: Date;
  tasks: Array<{ id: string; goal: string; state: string; worktree: boolean }>;
  egress: Array<{ to: string; port: number; allowed: boolean; task_id: string | null; once: boolean; over: boolean }>;
  shared_with: string[];
}

/**
 * Workspaces of every host, by name, with their live tasks, the rules that hold for them, and with whom they are
 * shared.
 */
export async function listWorkspaceDetails(db: Db, limit: number): Promise<WorkspaceDetail[]> {
  const { rows } = await sql<WorkspaceDetail>`
    select workspaces.host, workspaces.name, workspaces.path, workspaces.profile, workspaces.seen_at,
      coalesce((select jsonb_agg(jsonb_build_object('id', id, 'goal', goal, 'state', state, 'worktree', worktree) order by created_at)
        from tasks where tasks.host = workspaces.host and tasks.workspace = workspaces.name and ended_at is null), '[]') as tasks,
      coalesce((select jsonb_agg(jsonb_build_object('to', rule.host, 'port', port, 'allowed', allowed, 'task_id', task_id,
          'once', until is not null, 'over', coalesce(until <= now(), false)) order by created_at desc, id desc)
        from egress_rules as rule where rule.kennel_host = workspaces.host and rule.workspace = workspaces.name and revoked_at is null
          and (task_id is null or exists (select from tasks where tasks.id = rule.task_id and tasks.ended_at is null))), '[]') as egress,
      coalesce((select array_agg(person order by person) from workspace_shares where workspace_shares.workspace = workspaces.name), '{}') as shared_with
    from workspaces order by workspaces.name, workspaces.host limit ${limit}`.execute(db);
  return rows;
}
