import { sql } from 'kysely';
import type { EventEnvelope } from '../../contracts/records.ts';
import type { Db, Tx } from '../postgres/database.ts';

/** An event as one line of JSON, because an open stream only passes it on. */
export interface EventText {
  seq: number;
  event: string;
  text: string;
}

/** Events of a thread after `sinceSeq`, oldest first, as text: with many readers of a long backlog, parsing payloads would be most of the work. */
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
 * The cursor of a thread: the largest visible `seq` of its events. The largest of the whole store would be wrong, because another thread's event may be visible
 * before a smaller one of this thread is committed.
 */
export async function latestSeq(db: Db | Tx, threadId: string): Promise<number> {
  const row = await db
    .selectFrom('events')
    .select((e) => e.fn.max('seq').as('seq'))
    .where('thread_id', '=', threadId)
    .executeTakeFirst();
  return row?.seq ?? 0;
}
