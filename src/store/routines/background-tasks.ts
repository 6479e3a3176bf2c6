import { type RawBuilder, type Selectable, sql } from 'kysely';
import type { RequestKey } from '../chats/request-keys.ts';
import type { ThreadTransaction } from '../chats/thread-transaction.ts';
import type { Db } from '../postgres/database.ts';
import type { BackgroundTaskTable } from '../schema/tables/routines.ts';

/** Tasks as clients of the runtime API know them: background tasks, and coding tasks of any chat. */

export type BackgroundTask = Selectable<BackgroundTaskTable>;

export const TASK_STATUSES = ['queued', 'running', 'completed', 'failed', 'canceled'] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];

/** With the thread and the turn that it runs as. */
export function insertBackgroundTask(tx: ThreadTransaction, task: Omit<BackgroundTask, 'created_at'>): void {
  tx.later((db) => db.insertInto('background_tasks').values({ ...task, created_at: tx.at }));
}

/** The task of a thread that a request with this key has made before. */
export const taskOfKey = (db: Db, key: RequestKey): Promise<BackgroundTask | undefined> =>
  db
    .selectFrom('background_tasks')
    .selectAll('background_tasks')
    .innerJoin('request_keys', 'request_keys.thread_id', 'background_tasks.thread_id')
    .where('request_keys.key', '=', key.id)
    .executeTakeFirst();

/**
 * A background task that has started a coding task is as far as that one. It is queued until its conversation has its
 * turn.
 */
const backgroundStatus = sql`case
  when c.state in ('completed', 'failed') then c.state
  when c.state = 'cancelled' then 'canceled'
  when c.state is not null then 'running'
  when turn.status = 'in_progress' then case when inbox.signalled_at is null then 'queued' else 'running' end
  when turn.status in ('interrupted', 'canceled') then 'canceled'
  when b.coding or turn.status = 'failed' then 'failed'
  else 'completed'
end`;
const backgroundTables = sql`background_tasks b
  join turns turn on turn.id = b.turn_id
  join inbox on inbox.id = b.inbox_id
  left join lateral (select * from tasks where tasks.thread_id = b.thread_id and b.coding order by created_at limit 1) c on true`;
const codingStatus = sql`case t.state when 'queued' then 'queued' when 'completed' then 'completed' when 'failed' then 'failed' when 'cancelled' then 'canceled' else 'running' end`;
/** Coding tasks that no background task has started. */
const codingTables = sql`tasks t where not exists (select from background_tasks b where b.thread_id = t.thread_id and b.coding)`;

/** Both kinds in one shape. `which`: conditions, order and limit of each. */
const taskRows = (which: { background: RawBuilder<unknown>; coding: RawBuilder<unknown> }) => sql<TaskRow>`
  (select b.id, b.thread_id, b.turn_id, b.coding, c.id as coding_task, b.created_at, coalesce(c.ended_at, turn.ended_at) as ended_at,
    inbox.signalled_at as started_at, thread.model, thread.mode, coalesce(c.goal, nullif(item.detail, ''), turn.input_summary) as prompt, turn.error,
    ${backgroundStatus} as status
  from ${backgroundTables}
    join threads thread on thread.id = b.thread_id
    left join lateral (select detail from items where items.turn_id = b.turn_id and items.kind = 'user_message' order by ord limit 1) item on true
  ${which.background})
  union all
  (select t.id, t.thread_id, t.turn_id, true, t.id, t.created_at, t.ended_at, t.started_at, t.harness, 'agent', t.goal,
    case when t.state = 'failed' then t.reason end, ${codingStatus}
  from ${codingTables} ${which.coding})`;

/** What an automation's run has started; undefined as long as it has started nothing. */
export async function taskOfRun(db: Db, runId: string): Promise<TaskRow | undefined> {
  const { rows } = await taskRows({ background: sql`where b.run_id = ${runId}`, coding: sql`and false` }).execute(db);
  return rows[0];
}

/** The turn of its chat that a run has begun; undefined as long as it has begun none. */
export const turnOfRun = (db: Db, runId: string) =>
  db.selectFrom('turns').select(['id', 'status', 'error']).where('run_id', '=', runId).executeTakeFirst();

/** For a query over runs `r`: the task of each, with its status. */
export const taskOfEachRun = sql`lateral (
  select b.id, b.thread_id, b.turn_id, inbox.signalled_at as started_at, coalesce(c.ended_at, turn.ended_at) as ended_at, turn.error, ${backgroundStatus} as status
  from ${backgroundTables} where b.run_id = r.id limit 1)`;

/** One task of either kind. `turn_id`: of a coding task, where its progress is shown. */
export interface TaskRow {
  id: string;
  thread_id: string;
  turn_id: string;
  coding: boolean;
  /** id of the coding task, once there is one */
  coding_task: string | null;
  created_at: Date;
  started_at: Date | null;
  ended_at: Date | null;
  model: string;
  mode: string;
  prompt: string;
  error: string | null;
  status: TaskStatus;
}

/** Newest first. */
export async function listTaskRows(db: Db, limit: number): Promise<TaskRow[]> {
  const newest = (column: string) => sql`order by ${sql.ref(column)} desc limit ${limit}`;
  const { rows } = await taskRows({ background: newest('b.created_at'), coding: newest('t.created_at') }).execute(db);
  return rows.sort((a, b) => b.created_at.getTime() - a.created_at.getTime() || (a.id < b.id ? -1 : 1)).slice(0, limit);
}

export async function countTasks(db: Db): Promise<Record<TaskStatus, number>> {
  const { rows } = await sql<{ status: TaskStatus; count: number }>`
    select status, count(*) as count
    from (select ${backgroundStatus} as status from ${backgroundTables} union all select ${codingStatus} from ${codingTables}) task
    group by status`.execute(db);
  const counted = new Map(rows.map(({ status, count }) => [status, Number(count)]));
  return Object.fromEntries(TASK_STATUSES.map((status) => [status, counted.get(status) ?? 0])) as Record<
    TaskStatus,
    number
  >;
}

/**
 * The tasks that an id or the beginning of one can mean: the one with exactly this id, else at most `limit` of those
 * that begin so. A coding task that a background task has started is found by both ids.
 */
export async function findTaskRows(db: Db, id: string, limit: number): Promise<TaskRow[]> {
  const exact = await taskRows({
    background: sql`where b.id = ${id} or (b.coding and b.thread_id = (select thread_id from tasks where tasks.id = ${id}) and c.id = ${id})`,
    coding: sql`and t.id = ${id}`,
  }).execute(db);
  if (exact.rows.length > 0) return exact.rows;
  const { rows } = await taskRows({
    background: sql`where starts_with(b.id, ${id}) or starts_with(c.id, ${id}) limit ${limit}`,
    coding: sql`and starts_with(t.id, ${id}) limit ${limit}`,
  }).execute(db);
  return rows;
}
