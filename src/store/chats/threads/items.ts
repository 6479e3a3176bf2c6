import { type Selectable, sql } from 'kysely';
import type { ItemKind, ItemRecord, ItemStatus } from '../../../contracts/records.ts';
import { type Db, json, type Tx } from '../../postgres/database.ts';
import type { ItemTable } from '../../schema/tables/chats.ts';
import { cut } from '../ids.ts';
import { onThread, type ThreadTransaction } from '../thread-transaction.ts';
import type { NewEvent, WriteBatch } from '../write-batch.ts';

interface NewItem {
  id: string;
  turnId: string;
  threadId: string;
  kind: ItemKind;
  status: ItemStatus;
  summary: string;
  detail?: string;
  metadata?: Record<string, unknown>;
  /** added to the item in the payload of `item.started` */
  announce?: Record<string, unknown>;
}

export const toItemRecord = (row: ItemRow): ItemRecord => ({
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

/** The row of a new item, without its number in the order. */
export type ItemRow = Omit<Selectable<ItemTable>, 'ord'>;

export function itemRow(item: NewItem, now = new Date()): ItemRow {
  return {
    id: item.id,
    turn_id: item.turnId,
    thread_id: item.threadId,
    kind: item.kind,
    status: item.status,
    summary: cut(item.summary, 280),
    detail: item.detail ?? null,
    metadata: item.metadata ?? null,
    started_at: now,
    ended_at: item.status === 'in_progress' ? null : now,
  };
}

/** The event that describes an item; `announce` is added to its payload. */
export const itemEvent = (row: ItemRow, announce?: Record<string, unknown>): NewEvent => ({
  event: eventName(row.status),
  turnId: row.turn_id,
  itemId: row.id,
  payload: { item: toItemRecord(row), ...announce },
});

/** Stores items in the order of the turn. Existing ones stay as they are. */
export function insertItems(batch: WriteBatch, rows: readonly ItemRow[]): void {
  if (rows.length === 0) return;
  batch.later(
    () => sql`insert into items (id, turn_id, thread_id, kind, status, summary, detail, metadata, started_at, ended_at)
      select item.id, item.turn_id, item.thread_id, item.kind, item.status, item.summary, item.detail, item.metadata, item.started_at, item.ended_at
      from jsonb_array_elements(${json(rows)}::jsonb) with ordinality as given (value, position), jsonb_populate_record(null::items, given.value) as item
      order by given.position on conflict (id) do nothing`,
  );
}

/** Adds an item and its event; null (and no event) when it already exists. */
export async function addItem(tx: ThreadTransaction, item: NewItem): Promise<ItemRecord | null> {
  // pending items come before this one
  await tx.sendPending();
  const row = itemRow(item);
  const added = await tx.now
    .insertInto('items')
    .values({ ...row, metadata: row.metadata && json(row.metadata) })
    .onConflict((c) => c.column('id').doNothing())
    .returning('id')
    .executeTakeFirst();
  if (!added) return null;
  tx.append(itemEvent(row, item.announce));
  return toItemRecord(row);
}

interface ItemEnd {
  status: Exclude<ItemStatus, 'in_progress'>;
  summary?: string;
  detail?: string;
  metadata?: Record<string, unknown>;
}

/** Ends an open item; does nothing when it has ended. */
export async function endItem(tx: ThreadTransaction, id: string, end: ItemEnd): Promise<void> {
  const row = await endItemRow(tx.now, id, end);
  if (row) tx.append(itemEvent(row));
}

/** The same without its event, which the caller appends; undefined when the item has ended. */
export const endItemRow = (tx: Tx, id: string, end: ItemEnd): Promise<ItemRow | undefined> =>
  tx
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

/** False when it has ended or does not exist. */
export async function isItemOpen(db: Db | Tx, id: string): Promise<boolean> {
  const item = await db.selectFrom('items').select('status').where('id', '=', id).executeTakeFirst();
  return item?.status === 'in_progress';
}

/**
 * Ends what a dead attempt was still streaming, so that screens show that the next attempt starts over. Returns how
 * many characters it had streamed.
 */
export async function endStaleAnswers(db: Db, turnId: string, threadId: string): Promise<number> {
  return await onThread(db, threadId, async (tx) => {
    const open = await tx.now
      .selectFrom('items')
      .select(['id', 'kind'])
      .where('turn_id', '=', turnId)
      .where('status', '=', 'in_progress')
      .where('kind', 'in', [...STREAMED])
      .execute();
    let chars = 0;
    for (const item of open) chars += (await endUnfinished(tx, item, 'interrupted')).length;
    return chars;
  });
}

/** Kinds whose text streams before it is stored. */
const STREAMED = ['agent_message', 'agent_reasoning'] as const;

/**
 * Newest events of a thread that are looked at for the text of an unfinished item: no answer streams as many pieces,
 * and a thread may have a million.
 */
const NEWEST_EVENTS = 20_000;

/**
 * Ends an item that its own attempt did not end. Streamed text is stored at the end only, so what screens have seen of
 * it is taken from the events. Returns that text.
 */
export async function endUnfinished(
  tx: ThreadTransaction,
  item: { id: string; kind: string },
  status: ItemEnd['status'],
): Promise<string> {
  const text = STREAMED.some((kind) => kind === item.kind) ? await streamedText(tx, item.id) : null;
  await endItem(tx, item.id, { status, ...(text && { summary: text, detail: text }) });
  return text ?? '';
}

async function streamedText(tx: ThreadTransaction, itemId: string): Promise<string | null> {
  const newest = tx.now
    .selectFrom('events')
    .selectAll()
    .where('thread_id', '=', tx.threadId)
    .orderBy('seq', 'desc')
    .limit(NEWEST_EVENTS);
  const { text } = await tx.now
    .selectFrom(newest.as('newest'))
    .select(sql<string | null>`string_agg(payload->>'delta', '' order by seq)`.as('text'))
    .where('item_id', '=', itemId)
    .where('event', '=', 'item.delta')
    .executeTakeFirstOrThrow();
  return text;
}

/** The event that streams more of an open item's text. */
export const deltaEvent = (item: { id: string; turnId: string; kind: string }, delta: string): NewEvent => ({
  event: 'item.delta',
  turnId: item.turnId,
  itemId: item.id,
  payload: { delta, kind: item.kind },
});
