import { sql } from 'kysely';
import type { Db } from '../postgres/database.ts';

/** The work of a task so far. */

export interface TaskCall {
  id: string;
  name: string;
  args: Record<string, unknown>;
  state: 'pending' | 'running' | 'done';
  ok: boolean | null;
  output: string | null;
  started_at: Date | null;
  ended_at: Date | null;
}

/** Longest text of a call that is read; summaries are far shorter. */
const TEXT_CHARS = 1_000;

/** Calls of a task's turn, in their order. */
export const callsOfTurn = (db: Db, turnId: string): Promise<TaskCall[]> =>
  db
    .selectFrom('calls')
    .innerJoin('items', 'items.id', 'calls.item_id')
    .select(['calls.id', 'calls.name', 'calls.args', 'calls.state', 'calls.ok', 'calls.ended_at'])
    .select(sql<string | null>`left(calls.output, ${TEXT_CHARS})`.as('output'))
    .select(sql<Date | null>`coalesce(calls.started_at, items.started_at)`.as('started_at'))
    .where('calls.turn_id', '=', turnId)
    .orderBy('items.ord')
    .execute();

export interface TaskEvent {
  seq: number;
  event: string;
  at: Date;
  /** of the item that it is about */
  kind: string | null;
  summary: string | null;
}

/** Newest events of a thread that tell of something as a whole, oldest first: no pieces of streamed texts. */
export async function eventsOfTask(db: Db, threadId: string, limit: number): Promise<TaskEvent[]> {
  const rows = await db
    .selectFrom('events')
    .select([
      'seq',
      'event',
      'at',
      sql<string | null>`payload->'item'->>'kind'`.as('kind'),
      sql<string | null>`payload->'item'->>'summary'`.as('summary'),
    ])
    .where('thread_id', '=', threadId)
    .where('event', '!=', 'item.delta')
    .orderBy('seq', 'desc')
    .limit(limit)
    .execute();
  return rows.reverse();
}

export const countEvents = async (db: Db, threadId: string): Promise<number> =>
  Number(
    (
      await db
        .selectFrom('events')
        .select((e) => e.fn.countAll().as('count'))
        .where('thread_id', '=', threadId)
        .executeTakeFirstOrThrow()
    ).count,
  );

/** The last thing that was said in a turn; null when nothing was. */
export const lastWordsOf = async (db: Db, turnId: string): Promise<string | null> =>
  (
    await db
      .selectFrom('items')
      .select('detail')
      .where('turn_id', '=', turnId)
      .where('kind', '=', 'agent_message')
      .where('detail', '!=', '')
      .orderBy('ord', 'desc')
      .limit(1)
      .executeTakeFirst()
  )?.detail ?? null;
