import { sql } from 'kysely';
import type { LogLine } from '../../contracts/kennel.ts';
import type { ItemKind } from '../../contracts/records.ts';
import { type Db, json, type Tx } from '../database.ts';
import { onThread } from '../events.ts';
import { addItem, endItem } from '../items.ts';
import { cut, derivedId } from '../keys.ts';
import type { Task } from './tasks.ts';

/** One line for a person: what the task is doing now. Null for lines that say nothing about that. */
export function doing(line: LogLine): string | null {
  switch (line.type) {
    case 'started':
      return `${line.harness} is starting`;
    case 'tool':
      return line.title;
    case 'text':
      return cut(line.text.replace(/\s+/g, ' ').trim(), 200) || null;
    case 'question':
      return `asks: ${cut(line.question, 180)}`;
    case 'permission':
      return `asks to run: ${cut(line.title, 180)}`;
    case 'note':
      return line.level === 'warn' ? cut(line.text, 200) : null;
    default:
      return null;
  }
}

/** Stores lines of a run with what screens show of them; a line that is there already changes nothing. The lines that were new. */
export async function storeLines(db: Db, task: Task, lines: readonly LogLine[]): Promise<LogLine[]> {
  if (lines.length === 0) return [];
  return await onThread(db, task.thread_id, async (tx) => {
    const stored = await tx
      .insertInto('task_log')
      .values(lines.map((line) => ({ task_id: task.id, seq: line.seq, step: line.step, at: new Date(line.at), line: json(line) })))
      .onConflict((c) => c.columns(['task_id', 'seq']).doNothing())
      .returning('seq')
      .execute();
    const fresh = new Set(stored.map((row) => Number(row.seq)));
    const news = lines.filter((line) => fresh.has(line.seq));
    for (const line of news) await show(tx, task, line);
    const last = news.map(doing).findLast((text) => text !== null);
    const session = news.findLast((line) => line.type === 'session');
    if (last || session)
      await tx
        .updateTable('tasks')
        .set({ ...(last && { last }), ...(session && { session_id: session.sessionId }) })
        .where('id', '=', task.id)
        .execute();
    return news;
  });
}

const itemKinds: Record<string, ItemKind> = { execute: 'command_execution', edit: 'file_change', delete: 'file_change', move: 'file_change' };

/** Tools of the agent are items like those of a turn; what it says between them is a status line. */
async function show(tx: Tx, task: Task, line: LogLine): Promise<void> {
  // a container that was killed cannot say how its tools ended
  if (line.type === 'started' || line.type === 'ended') await interruptItems(tx, task);
  const at = { turnId: task.turn_id, threadId: task.thread_id };
  const metadata = { task_id: task.id };
  if (line.type === 'tool') {
    const id = derivedId('item_', task.id, line.step, line.id);
    const over = line.status === 'completed' || line.status === 'failed';
    await addItem(tx, {
      ...at,
      id,
      kind: itemKinds[line.kind] ?? 'tool_call',
      status: 'in_progress',
      summary: `${task.harness}: ${line.title}`,
      detail: line.detail ?? '',
      metadata: { ...metadata, ...(line.paths && { paths: line.paths }) },
    });
    if (over)
      await endItem(tx, id, {
        status: line.status === 'failed' ? 'failed' : 'completed',
        summary: `${task.harness}: ${line.title}`,
        detail: line.detail ?? '',
      });
  } else if (line.type === 'note' && line.level === 'warn') {
    await addItem(tx, {
      ...at,
      id: derivedId('item_', task.id, line.seq),
      kind: 'status',
      status: 'completed',
      summary: line.text,
      detail: line.text,
      metadata,
    });
  }
}

/** Ends what the tools of a task that is over still show as going on. */
export const endTaskItems = (db: Db, task: Task): Promise<void> => onThread(db, task.thread_id, (tx) => interruptItems(tx, task));

async function interruptItems(tx: Tx, task: Task): Promise<void> {
  const open = await tx.selectFrom('items').select('id').where('turn_id', '=', task.turn_id).where('status', '=', 'in_progress').execute();
  for (const { id } of open) await endItem(tx, id, { status: 'interrupted' });
}

/** What the agent said last, whole: the pieces of its last message. */
export async function lastSaid(db: Db, taskId: string): Promise<string> {
  const { rows } = await sql<{ text: string }>`
    select line ->> 'text' as text from task_log
    where task_id = ${taskId} and line ->> 'type' = 'text' and line ->> 'messageId' = (
      select line ->> 'messageId' from task_log where task_id = ${taskId} and line ->> 'type' = 'text' order by seq desc limit 1)
    order by seq`.execute(db);
  return rows.map((row) => row.text).join('');
}

/** The line of a question or permission that the run has asked. */
export async function askedLine(db: Db | Tx, taskId: string, asked: string): Promise<Extract<LogLine, { type: 'question' | 'permission' }> | null> {
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

/** The last question or permission that the run has not settled. */
export async function unsettledLine(db: Db, taskId: string): Promise<Extract<LogLine, { type: 'question' | 'permission' }> | null> {
  const { rows } = await sql<{ line: Extract<LogLine, { type: 'question' | 'permission' }> }>`
    select asked.line from task_log asked
    where asked.task_id = ${taskId} and asked.line ->> 'type' in ('question', 'permission') and not exists (
      select 1 from task_log settled where settled.task_id = asked.task_id and settled.line ->> 'type' = 'settled' and settled.line ->> 'id' = asked.line ->> 'id')
    order by asked.seq desc limit 1`.execute(db);
  return rows[0]?.line ?? null;
}
