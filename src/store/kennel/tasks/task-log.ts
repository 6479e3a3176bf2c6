import { sql } from 'kysely';
import { type LogLine, SETUP } from '../../../contracts/kennel.ts';
import type { ItemKind } from '../../../contracts/records.ts';
import type { AgentStep } from '../../../domain/chat/words/plan-words.ts';
import { inline } from '../../../domain/text/foreign-text.ts';
import { cut, derivedId } from '../../chats/ids.ts';
import { onThread, type ThreadTransaction } from '../../chats/thread-transaction.ts';
import { addItem, endItem } from '../../chats/threads/items.ts';
import { type Db, json, type Tx } from '../../postgres/database.ts';
import { markHeard } from './task-words.ts';
import type { Task } from './tasks.ts';

/** One line for a person about what the task does now. Null for log lines that say nothing about it. */
export function doing(line: LogLine): string | null {
  switch (line.type) {
    case 'started':
      return `${line.harness} is starting`;
    case 'tool':
      return inline(line.title, 200);
    case 'text':
      return inline(line.text, 200) || null;
    case 'plan':
      return inline(line.entries.find(({ status }) => status === 'in_progress')?.content ?? '', 200) || null;
    case 'question':
      return `asks: ${inline(line.question, 180)}`;
    case 'permission':
      return `asks to run: ${inline(line.title, 180)}`;
    case 'note':
      return line.level === 'warn' ? inline(line.text, 200) : null;
    default:
      return null;
  }
}

/** Stores lines of a run with the items for screens. Existing lines change nothing. Returns the new lines. */
export async function storeLines(db: Db, task: Task, lines: readonly LogLine[]): Promise<LogLine[]> {
  if (lines.length === 0) return [];
  return await onThread(db, task.thread_id, async (tx) => {
    const stored = await tx.now
      .insertInto('task_log')
      .values(
        lines.map((line) => ({
          task_id: task.id,
          seq: line.seq,
          step: line.step,
          at: new Date(line.at),
          line: json(line),
        })),
      )
      .onConflict((c) => c.columns(['task_id', 'seq']).doNothing())
      .returning('seq')
      .execute();
    const fresh = new Set(stored.map((row) => Number(row.seq)));
    const news = lines.filter((line) => fresh.has(line.seq));
    let shown = await countItems(tx.now, task);
    for (const line of news) {
      if (shown < SHOWN_ITEMS) shown += await show(tx, task, line);
      else if (shown === SHOWN_ITEMS) shown += await sayNoMore(tx, task);
    }
    await markHeard(tx.now, task.id, news);
    const last = news.map(doing).findLast((text) => text !== null);
    const session = news.findLast((line) => line.type === 'session');
    if (last || session)
      await tx.now
        .updateTable('tasks')
        .set({ ...(last && { last }), ...(session && { session_id: session.sessionId }) })
        .where('id', '=', task.id)
        .execute();
    return news;
  });
}

const itemKinds: Record<string, ItemKind> = {
  execute: 'command_execution',
  edit: 'file_change',
  delete: 'file_change',
  move: 'file_change',
};

/** A thread is read whole, so later items of a task than this many stay only in its log. */
const SHOWN_ITEMS = 2_000;
const DETAIL_CHARS = 4_000;
const SHOWN_PATHS = 50;

async function countItems(tx: Tx, task: Task): Promise<number> {
  const { count } = await tx
    .selectFrom('items')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('turn_id', '=', task.turn_id)
    .executeTakeFirstOrThrow();
  return Number(count);
}

async function sayNoMore(tx: ThreadTransaction, task: Task): Promise<number> {
  const text = `The task has more than ${SHOWN_ITEMS} steps: what follows is in its log only.`;
  const at = { turnId: task.turn_id, threadId: task.thread_id };
  await interruptItems(tx, task);
  await addItem(tx, {
    ...at,
    id: derivedId('item_', task.id, 'more'),
    kind: 'status',
    status: 'completed',
    summary: text,
    detail: text,
  });
  return 1;
}

/**
 * Tools of the agent are items like those of a turn; its text in between is a status line. Returns how many items were
 * created.
 */
async function show(tx: ThreadTransaction, task: Task, line: LogLine): Promise<number> {
  // a killed container cannot say how its tools ended
  if (line.type === 'started' || line.type === 'ended') await interruptItems(tx, task);
  const at = { turnId: task.turn_id, threadId: task.thread_id };
  const metadata = { task_id: task.id };
  if (line.type === 'tool') {
    const id = derivedId('item_', task.id, line.step, line.id);
    const over = line.status === 'completed' || line.status === 'failed';
    const detail = cut(line.detail ?? '', DETAIL_CHARS);
    const added = await addItem(tx, {
      ...at,
      id,
      kind: itemKinds[line.kind] ?? 'tool_call',
      status: 'in_progress',
      summary: `${task.harness}: ${inline(line.title)}`,
      detail,
      metadata: {
        ...metadata,
        ...(line.paths && { paths: line.paths.slice(0, SHOWN_PATHS).map((path) => cut(path, 1_000)) }),
      },
    });
    if (over)
      await endItem(tx, id, {
        status: line.status === 'failed' ? 'failed' : 'completed',
        summary: `${task.harness}: ${inline(line.title)}`,
        detail,
      });
    return added ? 1 : 0;
  }
  if (line.type === 'note' && line.level === 'warn') {
    const added = await addItem(tx, {
      ...at,
      id: derivedId('item_', task.id, line.seq),
      kind: 'status',
      status: 'completed',
      summary: line.text,
      detail: cut(line.text, DETAIL_CHARS),
      metadata,
    });
    return added ? 1 : 0;
  }
  return 0;
}

/** Ends the items of tools that still look active when their task is over. */
export const endTaskItems = (db: Db, task: Task): Promise<void> =>
  onThread(db, task.thread_id, (tx) => interruptItems(tx, task));

async function interruptItems(tx: ThreadTransaction, task: Task): Promise<void> {
  const open = await tx.now
    .selectFrom('items')
    .select('id')
    .where('turn_id', '=', task.turn_id)
    .where('status', '=', 'in_progress')
    .execute();
  for (const { id } of open) await endItem(tx, id, { status: 'interrupted' });
}

/** Lines of a task that are stored. */
export async function countLines(db: Db, taskId: string): Promise<number> {
  const { count } = await db
    .selectFrom('task_log')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('task_id', '=', taskId)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** The newest lines of tool calls of a run that have not ended. */
export async function openCalls(db: Db, taskId: string, step: number): Promise<LogLine[]> {
  const { rows } = await sql<{ line: LogLine }>`
    select line from (
      select distinct on (line ->> 'id') line from task_log
      where task_id = ${taskId} and step = ${step} and line ->> 'type' = 'tool' order by line ->> 'id', seq desc) newest
    where line ->> 'status' in ('pending', 'in_progress')`.execute(db);
  return rows.map(({ line }) => line);
}

/** Limit of the last message, which may be a flood too. */
const SAID_PIECES = 500;
const SAID_CHARS = 20_000;

/** The agent's last message, as much of it as a person would read; with `step`, the last of this run. */
export async function lastSaid(db: Db, taskId: string, step: number | null = null): Promise<string> {
  const { rows } = await sql<{ text: string }>`
    select line ->> 'text' as text from task_log
    where task_id = ${taskId} and line ->> 'type' = 'text' and (step, line ->> 'messageId') = (
      select step, line ->> 'messageId' from task_log where task_id = ${taskId} and step = coalesce(${step}, step) and line ->> 'type' = 'text' order by seq desc limit 1)
    order by seq limit ${SAID_PIECES}`.execute(db);
  return cut(rows.map((row) => row.text).join(''), SAID_CHARS);
}

/** The agent's own list of steps as it stands; null when it keeps none. */
export async function latestSteps(db: Db, taskId: string): Promise<AgentStep[] | null> {
  const row = await db
    .selectFrom('task_log')
    .select('line')
    .where('task_id', '=', taskId)
    .where(sql<boolean>`line ->> 'type' = 'plan'`)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.line.type === 'plan' ? row.line.entries : null;
}

/** Whether the agent ended its turn in a run by itself, and without a failure. */
export async function endedWell(db: Db, taskId: string, step: number): Promise<boolean> {
  const row = await db
    .selectFrom('task_log')
    .select('line')
    .where('task_id', '=', taskId)
    .where('step', '=', step)
    .where(sql<boolean>`line ->> 'type' = 'ended'`)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.line.type === 'ended' && row.line.outcome === 'completed';
}

/** The plan that a run handed in with a tool; null when it used none. */
export async function handedIn(db: Db, taskId: string, step: number): Promise<string | null> {
  const row = await db
    .selectFrom('task_log')
    .select('line')
    .where('task_id', '=', taskId)
    .where('step', '=', step)
    .where(sql<boolean>`line ->> 'type' = 'proposal'`)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row?.line.type === 'proposal' ? row.line.text : null;
}

/** The line of a question or permission that the run has asked. */
export async function askedLine(
  db: Db | Tx,
  taskId: string,
  asked: string,
): Promise<Extract<LogLine, { type: 'question' | 'permission' }> | null> {
  const row = await db
    .selectFrom('task_log')
    .select('line')
    .where('task_id', '=', taskId)
    .where(sql<boolean>`line ->> 'type' in ('question', 'permission')`)
    .where(sql<boolean>`line ->> 'id' = ${asked}`)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  return (row?.line as Extract<LogLine, { type: 'question' | 'permission' }> | undefined) ?? null;
}

/**
 * The last question or permission that the run has not settled. The answer to a setup script reaches a run in another
 * way.
 */
export async function unsettledLine(
  db: Db,
  taskId: string,
): Promise<Extract<LogLine, { type: 'question' | 'permission' }> | null> {
  const { rows } = await sql<{ line: Extract<LogLine, { type: 'question' | 'permission' }> }>`
    select asked.line from task_log asked
    where asked.task_id = ${taskId} and asked.line ->> 'type' in ('question', 'permission') and asked.line ->> 'kind' is distinct from ${SETUP} and not exists (
      select 1 from task_log settled where settled.task_id = asked.task_id and settled.line ->> 'type' = 'settled' and settled.line ->> 'id' = asked.line ->> 'id')
    order by asked.seq desc limit 1`.execute(db);
  return rows[0]?.line ?? null;
}

/** Commands that a task's agent ran and that ended well, the newest first, as their agent names them. */
export async function commandsOfTask(db: Db, taskId: string, limit: number): Promise<string[]> {
  const { rows } = await sql<{ title: string }>`
    select line->>'title' as title from task_log
    where task_id = ${taskId} and line->>'type' = 'tool' and line->>'kind' = 'execute' and line->>'status' = 'completed'
    order by seq desc limit ${limit}`.execute(db);
  return rows.map(({ title }) => title);
}
