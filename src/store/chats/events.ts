import { type CompiledQuery, type RawBuilder, sql } from 'kysely';
import type { EventEnvelope } from '../../contracts/records.ts';
import { compiled } from '../postgres/compiled-query.ts';
import { type Db, NoThread, type Tx } from '../postgres/database.ts';
import { pipelinedTransaction } from '../postgres/pipelined-transaction.ts';
import { threadQueue } from '../postgres/thread-queue.ts';
import { deferWrites, drafted, flush } from '../postgres/write-batch.ts';

export { NoThread } from '../postgres/database.ts';
export { appendEvents } from '../postgres/write-batch.ts';

/** What a lock tells of its thread. `at`: when the transaction began, by the clock of the database. */
export interface LockedThread {
  chatId: string;
  at: Date;
}

/**
 * Locks a thread until the transaction ends. Whatever adds events to a thread holds this lock before it draws a `seq`,
 * so within a thread sequence numbers become visible in their order and a reader that is at N can never miss a smaller one.
 * It is also what makes "does a turn run?" and "then start one" one step. It reads nothing else of the store on the way:
 * a statement that waited for the lock would show the other tables as they were before the wait.
 */
export async function lockThread(tx: Tx, threadId: string): Promise<LockedThread> {
  const [row] = (await tx.executeQuery(lockOf(threadId))).rows;
  if (!row) throw new NoThread(threadId);
  return { chatId: row.chat_id, at: row.at };
}

const lockOf = compiled('lock_thread', (db, threadId: string) =>
  db
    .selectFrom('threads')
    .select(['chat_id', sql<Date>`now()`.as('at')])
    .where('id', '=', threadId)
    .forUpdate(),
);

/** A transaction that holds the lock of a thread. Its events, and the writes that were left to `write`, are sent as one statement before the commit. */
export async function onThread<T>(db: Db, threadId: string, act: (tx: Tx, thread: LockedThread) => Promise<T>): Promise<T> {
  return await threadQueue(db).run(threadId, () =>
    db.transaction().execute(async (tx) => {
      deferWrites(tx);
      const done = await act(tx, await lockThread(tx, threadId));
      await flush(tx);
      return done;
    }),
  );
}

const DIVISION_BY_ZERO = '22012';

/** A statement that fails where the condition does not hold, so that the rest of its transaction is void. */
export const holds = (condition: RawBuilder<boolean>): RawBuilder<unknown> => sql`select 1 / (case when ${condition} then 1 else 0 end)`;

/**
 * What `onThread` does, in one round trip, for writes that need no answer and are right only while something still `holds`: that is asked
 * after the lock, when the store says for certain what the caller read before. False, and nothing is stored: it no longer holds.
 */
export async function onThreadIf(db: Db, threadId: string, holding: CompiledQuery, fill: (tx: Tx) => Promise<void>): Promise<boolean> {
  const writes = await drafted(fill);
  if (!writes) return true;
  try {
    await threadQueue(db).run(threadId, () => pipelinedTransaction(db, [lockOf(threadId), holding, writes]));
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === DIVISION_BY_ZERO) return false;
    throw error;
  }
}

/** An event as one line of JSON: an open stream passes on what it never has to look into. */
export interface EventText {
  seq: number;
  event: string;
  text: string;
}

/** Events of a thread after `sinceSeq`, oldest first, as text: for many readers of a long backlog, parsing payloads would be most of the work. */
export async function readEventTexts(db: Db, threadId: string, sinceSeq: number, limit: number): Promise<EventText[]> {
  const rows = await db
    .selectFrom('events')
    .select(['seq', 'event', 'turn_id', 'item_id', 'at', sql<string>`payload::text`.as('payload')])
    .where('thread_id', '=', threadId)
    .where('seq', '>', sinceSeq)
    .orderBy('seq')
    .limit(limit)
    .execute();
  return rows.map(({ payload, ...row }) => {
    const envelope = JSON.stringify(envelopeOf({ ...row, thread_id: threadId }));
    return { seq: row.seq, event: row.event, text: `${envelope.slice(0, -1)},"payload":${payload}}` };
  });
}

/** Events of a thread after `sinceSeq`, oldest first. */
export async function readEvents(db: Db, threadId: string, sinceSeq: number, limit: number): Promise<EventEnvelope[]> {
  const rows = await db.selectFrom('events').selectAll().where('thread_id', '=', threadId).where('seq', '>', sinceSeq).orderBy('seq').limit(limit).execute();
  return rows.map((row) => ({ ...envelopeOf(row), payload: row.payload }));
}

const envelopeOf = (row: { seq: number; event: string; thread_id: string; turn_id: string | null; item_id: string | null; at: Date }) => ({
  schema_version: 1 as const,
  seq: row.seq,
  event: row.event,
  kind: row.event,
  thread_id: row.thread_id,
  turn_id: row.turn_id,
  item_id: row.item_id,
  timestamp: row.at.toISOString(),
  created_at: row.at.toISOString(),
});

/**
 * The cursor of a thread: the largest `seq` of its events that is visible. The largest of the whole store would be wrong to
 * go on from: another thread's event may be visible before a smaller one of this thread is committed.
 */
export async function latestSeq(db: Db | Tx, threadId: string): Promise<number> {
  const row = await db
    .selectFrom('events')
    .select((e) => e.fn.max('seq').as('seq'))
    .where('thread_id', '=', threadId)
    .executeTakeFirst();
  return row?.seq ?? 0;
}
