import type { Selectable } from 'kysely';
import type { ItemKind, ItemRecord, ItemStatus } from '../contracts/records.ts';
import { type Db, json, type Tx } from './database.ts';
import { appendEvents, lockThread, type NewEvent } from './events.ts';
import { cut } from './keys.ts';
import type { ItemTable } from './schema.ts';

export interface NewItem {
  id: string;
  turnId: string;
  threadId: string;
  kind: ItemKind;
  status: ItemStatus;
  summary: string;
  detail?: string;
  metadata?: Record<string, unknown>;
  /** goes beside the item in the payload of `item.started` */
  announce?: Record<string, unknown>;
}

export const toItemRecord = (row: Selectable<ItemTable>): ItemRecord => ({
  schema_version: 2,
  id: row.id,
  turn_id: row.turn_id,
  kind: row.kind,
  status: row.status,
  summary: row.summary,
  ...(row.detail !== null && { detail: row.detail }),
  ...(row.metadata !== null && { metadata: row.metadata }),
  artifact_refs: [],
  ...(row.started_at && { started_at: row.started_at.toISOString() }),
  ...(row.ended_at && { ended_at: row.ended_at.toISOString() }),
});

const eventName = (status: ItemStatus): string => (status === 'in_progress' ? 'item.started' : `item.${status}`);

/** The row of an item; null when it is there already. */
export async function insertItem(tx: Tx, item: NewItem): Promise<ItemRecord | null> {
  const now = new Date();
  const row = await tx
    .insertInto('items')
    .values({
      id: item.id,
      turn_id: item.turnId,
      thread_id: item.threadId,
      kind: item.kind,
      status: item.status,
      summary: cut(item.summary, 280),
      detail: item.detail ?? null,
      metadata: item.metadata ? json(item.metadata) : null,
      started_at: now,
      ended_at: item.status === 'in_progress' ? null : now,
    })
    .onConflict((c) => c.column('id').doNothing())
    .returningAll()
    .executeTakeFirst();
  return row ? toItemRecord(row) : null;
}

/** Adds an item and its event; null (and no event) when it is there already. The caller holds `lockThread`. */
export async function addItem(tx: Tx, item: NewItem): Promise<ItemRecord | null> {
  const record = await insertItem(tx, item);
  if (record) {
    await appendEvents(tx, item.threadId, [
      { event: eventName(item.status), turnId: item.turnId, itemId: item.id, payload: { item: record, ...item.announce } },
    ]);
  }
  return record;
}

/** Ends an open item; a no-op when it has ended. The caller holds `lockThread`. */
export async function endItem(
  tx: Tx,
  id: string,
  end: { status: Exclude<ItemStatus, 'in_progress'>; summary?: string; detail?: string; metadata?: Record<string, unknown> },
): Promise<void> {
  const row = await tx
    .updateTable('items')
    .set({
      status: end.status,
      ended_at: new Date(),
      ...(end.summary !== undefined && { summary: cut(end.summary, 280) }),
      ...(end.detail !== undefined && { detail: end.detail }),
      ...(end.metadata !== undefined && { metadata: json(end.metadata) }),
    })
    .where('id', '=', id)
    .where('status', '=', 'in_progress')
    .returningAll()
    .executeTakeFirst();
  if (row) await appendEvents(tx, row.thread_id, [{ event: eventName(end.status), turnId: row.turn_id, itemId: id, payload: { item: toItemRecord(row) } }]);
}

/** Ends every item of a turn that is still open, so that nothing is left spinning. */
export async function endOpenItems(tx: Tx, turnId: string, status: 'interrupted' | 'failed'): Promise<void> {
  const open = await tx.selectFrom('items').select('id').where('turn_id', '=', turnId).where('status', '=', 'in_progress').orderBy('ord').execute();
  for (const { id } of open) await endItem(tx, id, { status });
}

/** Ends what an attempt that died was still streaming, so that screens show that the next one starts over. */
export async function endStaleAnswers(db: Db, turnId: string, threadId: string): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await lockThread(tx, threadId);
    const open = await tx
      .selectFrom('items')
      .select('id')
      .where('turn_id', '=', turnId)
      .where('status', '=', 'in_progress')
      .where('kind', 'in', ['agent_message', 'agent_reasoning'])
      .execute();
    for (const { id } of open) await endItem(tx, id, { status: 'interrupted' });
  });
}

/** Adds to an open item's text and streams it. */
export async function appendDelta(tx: Tx, item: { id: string; turnId: string; threadId: string; kind: string }, delta: string): Promise<void> {
  const event: NewEvent = { event: 'item.delta', turnId: item.turnId, itemId: item.id, payload: { delta, kind: item.kind } };
  await appendEvents(tx, item.threadId, [event]);
}
