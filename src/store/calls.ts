import { type Selectable, sql } from 'kysely';
import { type Db, json, type Tx } from './database.ts';
import { appendEvents, write } from './deferred.ts';
import { onThread } from './events.ts';
import { type ItemRow, insertItems, itemEvent, itemRow } from './items.ts';
import { cut } from './keys.ts';
import type { CallTable } from './schema.ts';

export type Call = Selectable<CallTable>;

export const findCall = (db: Db | Tx, id: string): Promise<Call | undefined> => db.selectFrom('calls').selectAll().where('id', '=', id).executeTakeFirst();

/** A call with the chat that it belongs to. */
export const findCallWithChat = (db: Db, id: string) =>
  db
    .selectFrom('calls')
    .innerJoin('threads', 'threads.id', 'calls.thread_id')
    .select(['calls.name', 'calls.args', 'threads.chat_id as chatId'])
    .where('calls.id', '=', id)
    .executeTakeFirst();

/** Keeps what an approval shows with a call that has not run; its result takes the place of it. */
export async function notePreview(db: Db, id: string, preview: string): Promise<void> {
  await db
    .updateTable('calls')
    .set({ metadata: json({ preview }) })
    .where('id', '=', id)
    .where('state', '=', 'pending')
    .execute();
}

export interface Outcome {
  ok: boolean;
  output: string;
  metadata?: Record<string, unknown>;
  /** what the person is told meanwhile: a status item before the end of the call's own, stored with the result */
  told?: { summary: string; detail: string; metadata: Record<string, unknown> };
}

/** The item of a call as it is when the call has ended. */
export const endedCallItem = (item: ItemRow, name: string, outcome: Outcome): ItemRow => ({
  ...item,
  status: outcome.ok ? 'completed' : 'failed',
  summary: cut(`${name}: ${outcome.output}`, 280),
  detail: outcome.output,
  metadata: outcome.metadata ?? item.metadata,
  ended_at: new Date(),
});

/** Stores a call's result, once: the first outcome stands. The caller holds `lockThread`. */
export async function settleCall(tx: Tx, callId: string, outcome: Outcome): Promise<void> {
  const item = await tx
    .selectFrom('calls')
    .innerJoin('items', 'items.id', 'calls.item_id')
    .selectAll('items')
    .select('calls.name')
    .where('calls.id', '=', callId)
    .where('calls.state', '!=', 'done')
    .executeTakeFirst();
  if (!item) return;
  const { ok, output, metadata, told } = outcome;
  await write(
    tx,
    tx
      .updateTable('calls')
      .set({ state: 'done', ok, output, metadata: metadata ? json(metadata) : null, ended_at: new Date() })
      .where('id', '=', callId),
  );
  if (told) {
    const note = itemRow({ id: `item_${callId}p`, turnId: item.turn_id, threadId: item.thread_id, kind: 'status', status: 'completed', ...told });
    await insertItems(tx, [note]);
    await appendEvents(tx, item.thread_id, [itemEvent(note)]);
  }
  if (item.status !== 'in_progress') return;
  const { name, ord: _, ...open } = item;
  const ended = endedCallItem(open, name, outcome);
  const { status, summary, detail, ended_at } = ended;
  await write(
    tx,
    tx
      .updateTable('items')
      .set({ status, summary, detail, metadata: ended.metadata && json(ended.metadata), ended_at })
      .where('id', '=', item.id),
  );
  await appendEvents(tx, item.thread_id, [itemEvent(ended)]);
}

export const settle = (db: Db, call: Pick<Call, 'id' | 'thread_id'>, outcome: Outcome): Promise<void> =>
  onThread(db, call.thread_id, (tx) => settleCall(tx, call.id, outcome));

/**
 * Marks a call as begun and returns it with its chat; null when there is none. A `once` call that is found begun (`again`)
 * must not run again. Calls of the tools in `unmarked` have no effect to remember: they are begun without a write.
 */
export async function beginCall(
  db: Db,
  callId: string,
  unmarked: readonly string[] = [],
): Promise<{ how: 'begun' | 'again' | 'done'; call: Call; chatId: string } | null> {
  const call = await db
    .with('marked', (w) =>
      w
        .updateTable('calls')
        .set({ state: 'running', started_at: new Date() })
        .where('id', '=', callId)
        .where('state', '=', 'pending')
        .where('name', '!=', sql<string>`all(${unmarked})`)
        .returning('id'),
    )
    .selectFrom('calls')
    .innerJoin('threads', 'threads.id', 'calls.thread_id')
    .leftJoin('marked', 'marked.id', 'calls.id')
    .selectAll('calls')
    .select(['threads.chat_id', 'marked.id as marked'])
    .where('calls.id', '=', callId)
    .executeTakeFirst();
  if (!call) return null;
  const begun = call.marked !== null || (call.state === 'pending' && unmarked.includes(call.name));
  return { how: begun ? 'begun' : call.state === 'done' ? 'done' : 'again', call, chatId: call.chat_id };
}
