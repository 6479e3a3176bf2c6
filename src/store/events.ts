import { sql } from 'kysely';
import type { EventEnvelope } from '../contracts/records.ts';
import { type Db, EVENTS_CHANNEL, json, type Tx } from './database.ts';

export interface NewEvent {
  event: string;
  turnId?: string | null;
  itemId?: string | null;
  payload: Record<string, unknown>;
}

/** Thrown when a thread does not exist. */
export class NoThread extends Error {
  constructor(id: string) {
    super(`Thread not found: ${id}`);
    this.name = 'NoThread';
  }
}

/**
 * Locks a thread until the transaction ends. Whatever adds events to a thread holds this lock before it draws a `seq`,
 * so within a thread sequence numbers become visible in their order and a reader that is at N can never miss a smaller one.
 * It is also what makes "does a turn run?" and "then start one" one step.
 */
export async function lockThread(tx: Tx, threadId: string): Promise<void> {
  const row = await tx.selectFrom('threads').select('id').where('id', '=', threadId).forUpdate().executeTakeFirst();
  if (!row) throw new NoThread(threadId);
}

/** The caller holds `lockThread`. Readers are woken when the transaction commits. One statement, however many events. */
export async function appendEvents(tx: Tx, threadId: string, events: NewEvent[]): Promise<void> {
  if (events.length === 0) return;
  const rows = events.map((event) => ({ turn_id: event.turnId ?? null, item_id: event.itemId ?? null, event: event.event, payload: event.payload }));
  // `seq` is drawn after the sort, so the rows are numbered in their order; a multi-row `values` promises no order
  await sql`
    with added as (
      insert into events (thread_id, turn_id, item_id, event, payload)
      select ${threadId}, row.value ->> 'turn_id', row.value ->> 'item_id', row.value ->> 'event', row.value -> 'payload'
      from jsonb_array_elements(${json(rows)}::jsonb) with ordinality as row (value, position)
      order by row.position)
    select pg_notify(${EVENTS_CHANNEL}, ${threadId})`.execute(tx);
}

/** Events of a thread after `sinceSeq`, oldest first. */
export async function readEvents(db: Db, threadId: string, sinceSeq: number, limit: number): Promise<EventEnvelope[]> {
  const rows = await db.selectFrom('events').selectAll().where('thread_id', '=', threadId).where('seq', '>', sinceSeq).orderBy('seq').limit(limit).execute();
  return rows.map((row) => ({
    schema_version: 1,
    seq: row.seq,
    event: row.event,
    kind: row.event,
    thread_id: row.thread_id,
    turn_id: row.turn_id,
    item_id: row.item_id,
    timestamp: row.at.toISOString(),
    created_at: row.at.toISOString(),
    payload: row.payload,
  }));
}

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
