import { type CompiledQuery, type RawBuilder, sql } from 'kysely';
import { type Db, EVENTS_CHANNEL, json, type Tx } from './database.ts';
import { queryBuilder } from './query-builder.ts';

export interface NewEvent {
  event: string;
  turnId?: string | null;
  itemId?: string | null;
  payload: Record<string, unknown>;
}

/** An insert or update as Kysely builds it. */
type Write = Parameters<typeof sql>[1];

interface Deferred {
  writes: Write[];
  events: Array<NewEvent & { threadId: string }>;
}

/** What transactions of `onThread` have yet to send. A transaction that is not here sends at once. */
const deferred = new WeakMap<Tx, Deferred>();

export const deferWrites = (tx: Tx): void => void deferred.set(tx, { writes: [], events: [] });

/**
 * A write whose result nobody needs: it waits for the others of its transaction, because a round trip costs more than the write.
 * Two writes of one row must not wait together (`flush` between them), nor may a later read of the transaction expect to see it.
 */
export async function write(tx: Tx, query: Write): Promise<void> {
  const waiting = deferred.get(tx);
  if (waiting) waiting.writes.push(query);
  else await send(tx, { writes: [query], events: [] });
}

/** The caller holds `lockThread`. Readers are woken when the transaction commits. Events keep the order in which they were appended. */
export async function appendEvents(tx: Tx, threadId: string, events: readonly NewEvent[]): Promise<void> {
  const added = events.map((event) => ({ ...event, threadId }));
  const waiting = deferred.get(tx);
  if (waiting) waiting.events.push(...added);
  else await send(tx, { writes: [], events: added });
}

/** Sends what waits; what follows sees it. */
export async function flush(tx: Tx): Promise<void> {
  const waiting = deferred.get(tx);
  if (!waiting) return;
  deferWrites(tx);
  await send(tx, waiting);
}

async function send(tx: Tx, waiting: Deferred): Promise<void> {
  await statementOf(waiting)?.execute(tx);
}

/** What `fill` leaves to `write` and `appendEvents`, as one statement that is not sent; null when that is nothing. It can neither read nor flush. */
export async function drafted(fill: (tx: Tx) => Promise<void>): Promise<CompiledQuery | null> {
  const tx = queryBuilder.withoutPlugins() as Db as Tx;
  deferWrites(tx);
  await fill(tx);
  return statementOf(deferred.get(tx)!)?.compile(tx) ?? null;
}

/** All writes, the events and one notification for each thread, in one statement. The writes see the state before it, not each other. */
function statementOf({ writes, events }: Deferred): RawBuilder<unknown> | null {
  const parts: RawBuilder<unknown>[] = writes.map((query, at) => sql`${sql.ref(`write_${at}`)} as (${query})`);
  if (events.length > 0) parts.push(sql`added as (${insertEvents(events)})`);
  if (parts.length === 0) return null;
  const threads = [...new Set(events.map((event) => event.threadId))];
  const woken = threads.length > 0 ? sql.join(threads.map((id) => sql`pg_notify(${EVENTS_CHANNEL}, ${id})`)) : sql`1`;
  return sql`with ${sql.join(parts)} select ${woken}`;
}

/** `seq` is drawn after the sort, so the rows are numbered in their order; a multi-row `values` promises no order. */
const insertEvents = (events: ReadonlyArray<NewEvent & { threadId: string }>): RawBuilder<unknown> => sql`
  insert into events (thread_id, turn_id, item_id, event, payload)
  select row.value ->> 'thread_id', row.value ->> 'turn_id', row.value ->> 'item_id', row.value ->> 'event', row.value -> 'payload'
  from jsonb_array_elements(${json(
    events.map(({ threadId, turnId, itemId, event, payload }) => ({ thread_id: threadId, turn_id: turnId ?? null, item_id: itemId ?? null, event, payload })),
  )}::jsonb) with ordinality as row (value, position)
  order by row.position`;
