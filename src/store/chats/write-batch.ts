import { type OperationNodeSource, type QueryCreator, type RawBuilder, sql } from 'kysely';
import { EVENTS_CHANNEL, json } from '../postgres/database.ts';
import { queryBuilder } from '../postgres/driver.ts';
import type { Database } from '../schema/schema.ts';

export interface NewEvent {
  event: string;
  turnId?: string | null;
  itemId?: string | null;
  payload: Record<string, unknown>;
}

/**
 * Pending writes and events of a thread, which are sent as one statement, because a round trip costs more than a write.
 */
export class WriteBatch {
  readonly threadId: string;
  #writes: OperationNodeSource[] = [];
  #events: NewEvent[] = [];

  constructor(threadId: string) {
    this.threadId = threadId;
  }

  /**
   * A write whose result nobody reads. One batch must not write a row twice, because its writes do not see each other.
   */
  later(build: (db: QueryCreator<Database>) => OperationNodeSource): void {
    this.#writes.push(build(queryBuilder));
  }

  /** Events keep their order. Readers are woken when the transaction commits. */
  append(...events: NewEvent[]): void {
    this.#events.push(...events);
  }

  /** The pending writes as one statement for the caller to send; null when there are none. */
  takePending(): RawBuilder<unknown> | null {
    const [writes, events] = [this.#writes, this.#events];
    this.#writes = [];
    this.#events = [];
    const parts: RawBuilder<unknown>[] = writes.map((query, at) => sql`${sql.ref(`write_${at}`)} as (${query})`);
    if (events.length > 0) parts.push(sql`added as (${insertEvents(this.threadId, events)})`);
    if (parts.length === 0) return null;
    const woken = events.length > 0 ? sql`pg_notify(${EVENTS_CHANNEL}, ${this.threadId})` : sql`1`;
    return sql`with ${sql.join(parts)} select ${woken}`;
  }
}

/** `seq` is drawn after the sort, so the rows are numbered in order; a multi-row `values` promises no order. */
const insertEvents = (threadId: string, events: readonly NewEvent[]): RawBuilder<unknown> => sql`
  insert into events (thread_id, turn_id, item_id, event, payload)
  select ${threadId}, row.value ->> 'turn_id', row.value ->> 'item_id', row.value ->> 'event', row.value -> 'payload'
  from jsonb_array_elements(${json(
    events.map(({ turnId, itemId, event, payload }) => ({
      turn_id: turnId ?? null,
      item_id: itemId ?? null,
      event,
      payload,
    })),
  )}::jsonb) with ordinality as row (value, position)
  order by row.position`;
