import { type Selectable, sql } from 'kysely';
import { outboxId } from '../contracts/ids.ts';
import type { TurnRecord, TurnStatus } from '../contracts/records.ts';
import type { Db, Tx } from './database.ts';
import { appendEvents, lockThread, type NewEvent } from './events.ts';
import { addItem, endOpenItems, insertItem } from './items.ts';
import { cut, derivedId, freshId } from './keys.ts';
import { dropUnsent } from './outbox.ts';
import type { TurnTable } from './schema.ts';
import { remember } from './transcript.ts';

export async function toTurnRecord(db: Db | Tx, row: Selectable<TurnTable>): Promise<TurnRecord> {
  const items = await db.selectFrom('items').select('id').where('turn_id', '=', row.id).orderBy('ord').execute();
  return turnRecord(
    row,
    items.map((item) => item.id),
  );
}

export const turnRecord = (row: Selectable<TurnTable>, itemIds: string[]): TurnRecord => ({
  schema_version: 2,
  id: row.id,
  thread_id: row.thread_id,
  status: row.status,
  input_summary: row.input_summary,
  created_at: row.created_at.toISOString(),
  ...(row.started_at && { started_at: row.started_at.toISOString() }),
  ...(row.ended_at && { ended_at: row.ended_at.toISOString() }),
  ...(row.ended_at && row.started_at && { duration_ms: row.ended_at.getTime() - row.started_at.getTime() }),
  ...(row.usage && { usage: row.usage }),
  ...(row.error !== null && { error: row.error }),
  item_ids: itemIds,
  steer_count: row.steer_count,
});

export const findTurn = (db: Db | Tx, id: string): Promise<Selectable<TurnTable> | undefined> =>
  db.selectFrom('turns').selectAll().where('id', '=', id).executeTakeFirst();

export const activeTurn = (db: Db | Tx, threadId: string): Promise<Selectable<TurnTable> | undefined> =>
  db.selectFrom('turns').selectAll().where('thread_id', '=', threadId).where('status', '=', 'in_progress').executeTakeFirst();

export interface NewTurn {
  threadId: string;
  text: string;
  inputSummary?: string;
  model?: string | null;
  autoApprove?: boolean | null;
  /** the text is in the transcript already */
  unheard?: boolean;
}

/** Opens a turn with its user message, in the order that clients expect of the events. The caller holds `lockThread` and knows that no turn runs. */
export async function openTurn(tx: Tx, input: NewTurn): Promise<TurnRecord> {
  const id = freshId('turn_');
  const itemId = derivedId('item_', id, 'user');
  const now = new Date();
  const row = await tx
    .insertInto('turns')
    .values({
      id,
      thread_id: input.threadId,
      status: 'in_progress',
      input_summary: cut(input.inputSummary?.trim() || input.text, 280),
      started_at: now,
      auto_approve: input.autoApprove ?? null,
      model: input.model ?? null,
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  const record = turnRecord(row, [itemId]);
  await tx.updateTable('threads').set({ latest_turn_id: id, updated_at: now }).where('id', '=', input.threadId).execute();
  const said = await insertUserItem(tx, { id: itemId, turnId: id, threadId: input.threadId, text: input.text, announceStart: true, unheard: input.unheard });
  await appendEvents(tx, input.threadId, [
    { event: 'turn.started', turnId: id, payload: { turn: record } },
    ...said,
    { event: 'turn.lifecycle', turnId: id, payload: { status: 'in_progress' } },
  ]);
  return record;
}

/** A user message: born complete, announced as started and completed at once (a steering one only as completed). */
export async function addUserItem(tx: Tx, item: UserItem): Promise<void> {
  await appendEvents(tx, item.threadId, await insertUserItem(tx, item));
}

export interface UserItem {
  id: string;
  turnId: string;
  threadId: string;
  text: string;
  announceStart: boolean;
  /** answered without the model, so not part of what the model reads */
  unheard?: boolean;
}

/** The rows of a user message; returns its events for the caller to append. */
async function insertUserItem(tx: Tx, item: UserItem): Promise<NewEvent[]> {
  const { id, turnId, threadId, text } = item;
  const record = await insertItem(tx, { id, turnId, threadId, kind: 'user_message', status: 'completed', summary: text, detail: text });
  if (!item.unheard) await remember(tx, { id: derivedId('msg_', id), threadId, turnId, role: 'user', content: text });
  const names = item.announceStart ? ['item.started', 'item.completed'] : ['item.completed'];
  return names.map((event) => ({ event, turnId, itemId: id, payload: { item: record } }));
}

/** Closes a turn once; false when it was closed already. Open items and questions end with it. The caller holds `lockThread`. */
export async function closeTurn(tx: Tx, turnId: string, status: Exclude<TurnStatus, 'queued' | 'in_progress'>, error?: string): Promise<boolean> {
  const row = await tx
    .updateTable('turns')
    .set({ status, ended_at: new Date(), error: error ?? null, ...spent(turnId) })
    .where('id', '=', turnId)
    .where('status', '=', 'in_progress')
    .returningAll()
    .executeTakeFirst();
  if (!row) return false;
  await endOpenItems(tx, turnId, status === 'failed' ? 'failed' : 'interrupted');
  const cancelled = await tx
    .updateTable('questions')
    .set({ state: 'cancelled', decided_at: new Date() })
    .where('turn_id', '=', turnId)
    .where('state', '=', 'open')
    .returning('id')
    .execute();
  await dropUnsent(
    tx,
    cancelled.map((question) => outboxId(turnId, question.id)),
  );
  await tx.updateTable('threads').set({ updated_at: new Date() }).where('id', '=', row.thread_id).execute();
  await appendEvents(tx, row.thread_id, [{ event: 'turn.completed', turnId, payload: { turn: await toTurnRecord(tx, row) } }]);
  return true;
}

/** What the steps of a turn used, as columns of the turn. */
const spent = (turnId: string) => ({
  usage: sql<string>`(select jsonb_build_object('input_tokens', coalesce(sum(input_tokens), 0), 'output_tokens', coalesce(sum(output_tokens), 0))
    from steps where turn_id = ${turnId})`,
  micro_usd: sql<number>`(select coalesce(sum(micro_usd), 0) from steps where turn_id = ${turnId})`,
});

/** A message to the person that no turn asked for (a schedule's result): an outbox row and a turn that is complete from the start, once for an outbox id. */
export async function recordNotice(db: Db, notice: { chatId: string; outboxId: string; text: string; kind: 'result' | 'notice' }): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const thread = await tx.selectFrom('threads').select('id').where('chat_id', '=', notice.chatId).orderBy('updated_at', 'desc').limit(1).executeTakeFirst();
    if (thread) await lockThread(tx, thread.id);
    const turnId = derivedId('msg_', notice.outboxId).replace('msg_', 'turn_');
    const fresh = await tx
      .insertInto('outbox')
      .values({
        id: notice.outboxId,
        chat_id: notice.chatId,
        thread_id: thread?.id ?? null,
        turn_id: thread ? turnId : null,
        kind: notice.kind,
        body: notice.text,
      })
      .onConflict((c) => c.column('id').doNothing())
      .returning('id')
      .executeTakeFirst();
    if (!fresh || !thread) return;
    await addCompleteTurn(tx, { id: turnId, threadId: thread.id, summary: notice.text }, async () => {
      const id = derivedId('item_', notice.outboxId);
      await addItem(tx, { id, turnId, threadId: thread.id, kind: 'agent_message', status: 'completed', summary: notice.text, detail: notice.text });
      await remember(tx, { id: derivedId('msg_', notice.outboxId), threadId: thread.id, turnId, role: 'assistant', content: notice.text });
    });
  });
}

/** A turn that is complete from the start, so it may stand beside one that runs; `fill` adds its items. The caller holds `lockThread`. */
export async function addCompleteTurn(tx: Tx, turn: { id: string; threadId: string; summary: string }, fill: () => Promise<void>): Promise<void> {
  const now = new Date();
  const row = await tx
    .insertInto('turns')
    .values({ id: turn.id, thread_id: turn.threadId, status: 'completed', input_summary: cut(turn.summary, 280), started_at: now, ended_at: now })
    .returningAll()
    .executeTakeFirstOrThrow();
  await appendEvents(tx, turn.threadId, [{ event: 'turn.started', turnId: turn.id, payload: { turn: turnRecord(row, []) } }]);
  await fill();
  await appendEvents(tx, turn.threadId, [{ event: 'turn.completed', turnId: turn.id, payload: { turn: await toTurnRecord(tx, row) } }]);
}
