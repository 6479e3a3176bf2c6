import type { ExpressionBuilder, Selectable } from 'kysely';
import { jsonObjectFrom } from 'kysely/helpers/postgres';
import type { Decision } from '../../../contracts/decision.ts';
import type { AgentName } from '../../../contracts/kennel.ts';
import type { TaskState } from '../../../contracts/task.ts';
import { derivedId } from '../../chats/ids.ts';
import { onThread } from '../../chats/thread-transaction.ts';
import { addItem } from '../../chats/threads/items.ts';
import { latestThread } from '../../chats/threads/threads.ts';
import { type Db, json, type Tx } from '../../postgres/database.ts';
import type { Database } from '../../schema/schema.ts';
import type { TaskResult, TaskTable } from '../../schema/tables/kennel.ts';
import { addCompleteTurn } from '../../turns/complete-turn.ts';
import type { Question } from '../../turns/questions/questions.ts';

export type Task = Selectable<TaskTable>;

export const isOver = (state: TaskState): boolean =>
  state === 'completed' || state === 'failed' || state === 'cancelled';

type NewTask = Pick<
  Task,
  | 'id'
  | 'chat_id'
  | 'call_id'
  | 'workflow_id'
  | 'goal'
  | 'agent'
  | 'harness'
  | 'host'
  | 'workspace'
  | 'worktree'
  | 'timeout_ms'
> & {
  planning?: boolean;
} & Partial<Pick<Task, 'shipment_id' | 'from_branch' | 'material' | 'race_id' | 'session_id'>>;

/**
 * The row of a new task, and its own turn under which its progress is shown, because the turn that asked for it ends
 * long before. A second call with the same call id finds the first one's task. Null when the chat has no thread.
 */
export async function insertTask(db: Db, task: NewTask): Promise<Task | null> {
  const known = await taskOfCall(db, task.call_id);
  if (known) return known;
  const thread = await latestThread(db, task.chat_id);
  if (!thread) return null;
  const turnId = derivedId('msg_', task.id).replace('msg_', 'turn_');
  await onThread(db, thread.id, async (tx) => {
    const added = await tx.now
      .insertInto('tasks')
      .values({
        session_id: null,
        ...task,
        workspace_identity: await identityOf(tx.now, task),
        thread_id: thread.id,
        turn_id: turnId,
        state: 'queued',
        last: null,
        reason: null,
        result: null,
        outbox_id: null,
        started_at: null,
        ended_at: null,
      })
      .onConflict((c) => c.column('call_id').doNothing())
      .returning('id')
      .executeTakeFirst();
    if (!added) return;
    const summary = `Task: ${task.goal}`;
    await addCompleteTurn(tx, { id: turnId, summary }, async () => {
      const detail = `Agent: ${task.harness}, project: ${task.workspace}`;
      await addItem(tx, {
        id: derivedId('item_', task.id),
        turnId,
        threadId: thread.id,
        kind: 'status',
        status: 'completed',
        summary,
        detail,
      });
    });
  });
  return (await taskOfCall(db, task.call_id)) ?? null;
}

const identityOf = async (tx: Tx, { host, workspace }: Pick<Task, 'host' | 'workspace'>): Promise<string | null> =>
  (
    await tx
      .selectFrom('workspaces')
      .select('identity')
      .where('host', '=', host)
      .where('name', '=', workspace)
      .executeTakeFirst()
  )?.identity ?? null;

/** Works in the same folder: on the same host by name, on another host by the folder's id. */
const inFolderOf =
  (task: Pick<Task, 'host' | 'workspace' | 'workspace_identity'>) => (e: ExpressionBuilder<Database, 'tasks'>) =>
    e.or([
      e.and([e('host', '=', task.host), e('workspace', '=', task.workspace)]),
      e('workspace_identity', '=', task.workspace_identity),
    ]);

export const findTask = (db: Db | Tx, id: string): Promise<Task | undefined> =>
  db.selectFrom('tasks').selectAll().where('id', '=', id).executeTakeFirst();

export const taskOfCall = (db: Db, callId: string): Promise<Task | undefined> =>
  db.selectFrom('tasks').selectAll().where('call_id', '=', callId).executeTakeFirst();

/** Tasks of a chat, newest first. */
export async function tasksOfChat(
  db: Db | Tx,
  chatId: string,
  options: { live?: boolean; limit: number },
): Promise<Task[]> {
  let query = db.selectFrom('tasks').selectAll().where('chat_id', '=', chatId);
  if (options.live) query = query.where('ended_at', 'is', null);
  return await query.orderBy('created_at', 'desc').limit(options.limit).execute();
}

/**
 * The tasks of a chat by their numbers, as a person calls them: 1 is the first one that the chat ever had, so that a
 * number never means another task.
 */
export const taskNumbers = async (db: Db | Tx, chatId: string): Promise<Map<string, number>> => {
  const rows = await db
    .selectFrom('tasks')
    .select('id')
    .where('chat_id', '=', chatId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  return new Map(rows.map(({ id }, index) => [id, index + 1]));
};

/** The newest task of a thread that is not over. */
export const liveTaskOfThread = (db: Db | Tx, threadId: string): Promise<Task | undefined> =>
  db
    .selectFrom('tasks')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('ended_at', 'is', null)
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst();

/** The agent of the newest task of a chat that was asked for by its agent's name. */
export const lastNamedAgent = async (db: Db, chatId: string): Promise<AgentName | undefined> =>
  (
    await db
      .selectFrom('tasks')
      .select('harness')
      .where('chat_id', '=', chatId)
      .where('agent', '!=', 'auto')
      .orderBy('created_at', 'desc')
      .limit(1)
      .executeTakeFirst()
  )?.harness;

/** Tasks of a host that are not over; its sweeper compares them with the containers. */
export const liveTasksOf = (db: Db, host: string): Promise<Task[]> =>
  db.selectFrom('tasks').selectAll().where('host', '=', host).where('ended_at', 'is', null).execute();

/** Ids of all tasks that are not over, on any host. */
export const liveTaskIds = async (db: Db): Promise<Set<string>> =>
  new Set((await db.selectFrom('tasks').select('id').where('ended_at', 'is', null).execute()).map(({ id }) => id));

/** A task with its latest question, if its workflow should know of it. */
export type TaskWithQuestion = Task & {
  question: {
    id: string;
    kind: Question['kind'];
    prompt: string;
    state: Question['state'];
    decision: Decision | null;
  } | null;
};

/** Tasks that should have a workflow: not over, and created at least `ageMs` ago. By id, starting after `after`. */
export const settledTasks = (db: Db, ageMs: number, after: string, limit: number): Promise<TaskWithQuestion[]> =>
  db
    .selectFrom('tasks')
    .selectAll()
    .select((e) =>
      jsonObjectFrom(
        e
          .selectFrom('questions')
          .select(['questions.id', 'questions.kind', 'questions.prompt', 'questions.state', 'questions.decision'])
          .whereRef('questions.task_id', '=', 'tasks.id')
          .orderBy('questions.asked_at', 'desc')
          .limit(1),
      ).as('question'),
    )
    .where('ended_at', 'is', null)
    .where('created_at', '<', new Date(Date.now() - ageMs))
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute();

/**
 * Gives the workspace to a task, unless the task was ordered to end. True when it has the workspace; `pause` when it
 * has it but must wait. An older task that waits for the same folder comes first. A unique index decides between two
 * simultaneous claims.
 */
export async function claimWorkspace(db: Db, id: string): Promise<boolean | 'cancel' | 'pause'> {
  const task = await findTask(db, id);
  // the task is over or gone, so its workflow comes from an earlier time and has nothing to wait for
  if (!task || isOver(task.state) || task.ordered === 'cancel') return 'cancel';
  const claimed = task.state !== 'queued' || (await claim(db, task));
  return claimed && task.ordered === 'pause' ? 'pause' : claimed;
}

async function claim(db: Db, task: Task): Promise<boolean> {
  const { id } = task;
  if (!task.worktree) {
    const before = await db
      .selectFrom('tasks')
      .select('id')
      .where(inFolderOf(task))
      .where('worktree', '=', false)
      .where('ended_at', 'is', null)
      .where('id', '!=', id)
      .where((e) => e.or([e('state', '!=', 'queued'), e('created_at', '<', task.created_at)]))
      .limit(1)
      .executeTakeFirst();
    if (before) return false;
  }
  try {
    await db
      .updateTable('tasks')
      .set({ state: 'running', started_at: new Date() })
      .where('id', '=', id)
      .where('state', '=', 'queued')
      .execute();
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === '23505') return false;
    throw error;
  }
}

/**
 * Changes the state of a task that is not over. What its model refused before is over with it; a pause keeps what it
 * waits for.
 */
export async function setTaskState(
  db: Db | Tx,
  id: string,
  state: TaskState,
  change: { last?: string; step?: number; planning?: false } = {},
): Promise<void> {
  await db
    .updateTable('tasks')
    .set({
      state,
      ...change,
      ...(state === 'paused' && { pausing: false }),
      ...(state !== 'paused' && { limited_until: null, limited_at: null }),
    })
    .where('id', '=', id)
    .where('ended_at', 'is', null)
    .execute();
}

/** The task waits for its model. `what`: for `status`. */
export async function setTaskLimited(db: Db | Tx, id: string, until: Date, what: string): Promise<void> {
  await db
    .updateTable('tasks')
    .set({ state: 'waiting', last: what, limited_until: until })
    .where('id', '=', id)
    .where('ended_at', 'is', null)
    .execute();
}

/** Waits for a limit, and for nobody's answer. */
export const isLimited = ({ state, limited_until }: Pick<Task, 'state' | 'limited_until'>): boolean =>
  state === 'waiting' && limited_until !== null;

/** Another agent goes on with the task, in a session of its own. */
export async function setAgent(db: Db | Tx, id: string, harness: AgentName): Promise<void> {
  await db
    .updateTable('tasks')
    .set({ harness, session_id: null })
    .where('id', '=', id)
    .where('ended_at', 'is', null)
    .execute();
}

/** Records a person's order. It holds even if no workflow hears of it yet. A cancellation is final. */
export async function markOrdered(db: Db | Tx, id: string, order: 'cancel' | 'pause' | 'resume'): Promise<void> {
  await db
    .updateTable('tasks')
    .set({ ordered: order === 'resume' ? null : order, pausing: order === 'pause' })
    .where('id', '=', id)
    .where('ended_at', 'is', null)
    .where((e) => e.or([e('ordered', 'is', null), e('ordered', '!=', 'cancel')]))
    .execute();
}

/** The order that holds for a task; undefined when the task is over. */
export const orderedOf = async (db: Db, id: string): Promise<'cancel' | 'pause' | null | undefined> =>
  (await db.selectFrom('tasks').select('ordered').where('id', '=', id).where('ended_at', 'is', null).executeTakeFirst())
    ?.ordered;

/** The latest progress of a working task; does not replace a pause or a wait. */
export async function setTaskNews(db: Db | Tx, id: string, last: string): Promise<void> {
  await db.updateTable('tasks').set({ last }).where('id', '=', id).where('state', '=', 'running').execute();
}

/** Ends a task once. A later call changes nothing and returns the stored end. */
export async function endTask(
  db: Db | Tx,
  id: string,
  end: { state: TaskState; reason: string; result: TaskResult; outboxId: string },
): Promise<Task> {
  await db
    .updateTable('tasks')
    .set({
      state: end.state,
      reason: end.reason,
      result: json(end.result),
      outbox_id: end.outboxId,
      ended_at: new Date(),
    })
    .where('id', '=', id)
    .where('ended_at', 'is', null)
    .execute();
  return (await findTask(db, id))!;
}

/** Workflows of the tasks that wait for this task's workspace, oldest first. */
export async function waitingFor(
  db: Db,
  task: Pick<Task, 'host' | 'workspace' | 'workspace_identity'>,
): Promise<string[]> {
  const rows = await db
    .selectFrom('tasks')
    .select('workflow_id')
    .where(inFolderOf(task))
    .where('state', '=', 'queued')
    .orderBy('created_at')
    .execute();
  return rows.map((row) => row.workflow_id);
}
