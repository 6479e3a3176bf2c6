import { type RawBuilder, sql } from 'kysely';
import type { EventEnvelope } from '../../../contracts/records.ts';
import { compiled } from '../../postgres/compiled-query.ts';
import type { Db, Tx } from '../../postgres/database.ts';

/** Events of a thread as an event stream sends them. */
interface Frames {
  text: string;
  /** of the last event in it */
  seq: number;
  /** there are later ones already */
  more: boolean;
}

/** How much of a thread's log one read returns. */
interface FrameLimits {
  events: number;
  /** of payloads as they are stored, which may be compressed; one event may have more */
  bytes: number;
}

/**
 * Frames of the events of a thread after `sinceSeq`, oldest first: exactly three lines each, name, id and data, as existing parsers expect.
 * `previous_seq` is the event before it, or
 * `sinceSeq`. Null when there are none. PostgreSQL writes the frames: with many readers of a long log, making them here
 * would delay every other request.
 */
export async function readFrames(
  db: Db,
  threadId: string,
  sinceSeq: number,
  limits: FrameLimits,
): Promise<Frames | null> {
  const [row] = (await db.executeQuery(framesAfter(threadId, sinceSeq, limits.events, limits.bytes))).rows;
  return row?.text ? { text: row.text, seq: row.seq, more: row.more } : null;
}

const quoted = (value: RawBuilder<unknown>) => sql`coalesce(to_json(${value})::text, 'null')`;
const AT = sql`to_char(at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

const framesAfter = compiled(
  'read_frames',
  (_, threadId: string, sinceSeq: number, events: number, bytes: number) => sql<{
    text: string | null;
    seq: number;
    more: boolean;
  }>`
    with found as (
        select * from events where thread_id = ${threadId} and seq > ${sinceSeq}::bigint order by seq limit ${events}::int + 1),
      sized as (select *, row_number() over by_seq as place, sum(pg_column_size(payload)) over by_seq as bytes, lag(seq) over by_seq as previous
        from found window by_seq as (order by seq))
    select max(seq) as seq, max(seq) < (select max(seq) from found) as more, string_agg(concat('event: ', event, E'\nid: ', seq, E'\ndata: {"schema_version":1,"seq":', seq,
      ',"event":', ${quoted(sql`event`)}, ',"kind":', ${quoted(sql`event`)}, ',"thread_id":', to_json(${threadId}::text),
      ',"turn_id":', ${quoted(sql`turn_id`)}, ',"item_id":', ${quoted(sql`item_id`)}, ',"timestamp":"', ${AT}, '","created_at":"', ${AT},
      '","payload":', payload, ',"previous_seq":', coalesce(previous, ${sinceSeq}::bigint), E'}\n\n'), '' order by seq) as text
    from sized where place = 1 or (place <= ${events}::int and bytes <= ${bytes}::int)`,
);

/** Events of a thread after `sinceSeq`, oldest first. */
export async function readEvents(db: Db, threadId: string, sinceSeq: number, limit: number): Promise<EventEnvelope[]> {
  const rows = await db
    .selectFrom('events')
    .selectAll()
    .where('thread_id', '=', threadId)
    .where('seq', '>', sinceSeq)
    .orderBy('seq')
    .limit(limit)
    .execute();
  return rows.map((row) => ({ ...envelopeOf(row), payload: row.payload }));
}

const envelopeOf = (row: {
  seq: number;
  event: string;
  thread_id: string;
  turn_id: string | null;
  item_id: string | null;
  at: Date;
}) => ({
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
 * The cursor of a thread: the largest visible `seq` of its events. The largest of the whole store would be wrong,
 * because another thread's event may be visible before a smaller one of this thread is committed.
 */
export async function latestSeq(db: Db | Tx, threadId: string): Promise<number> {
  const row = await db
    .selectFrom('events')
    .select((e) => e.fn.max('seq').as('seq'))
    .where('thread_id', '=', threadId)
    .executeTakeFirst();
  return row?.seq ?? 0;
}
