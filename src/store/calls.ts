import type { Selectable } from 'kysely';
import { type Db, json, type Tx } from './database.ts';
import { lockThread } from './events.ts';
import { endItem } from './items.ts';
import type { CallTable } from './schema.ts';

export type Call = Selectable<CallTable>;

export const findCall = (db: Db | Tx, id: string): Promise<Call | undefined> => db.selectFrom('calls').selectAll().where('id', '=', id).executeTakeFirst();

export interface Outcome {
  ok: boolean;
  output: string;
  metadata?: Record<string, unknown>;
}

/** Stores a call's result, once: the first outcome stands. The caller holds `lockThread`. */
export async function settleCall(tx: Tx, callId: string, outcome: Outcome): Promise<void> {
  const call = await tx
    .updateTable('calls')
    .set({ state: 'done', ok: outcome.ok, output: outcome.output, metadata: outcome.metadata ? json(outcome.metadata) : null, ended_at: new Date() })
    .where('id', '=', callId)
    .where('state', '!=', 'done')
    .returning(['name', 'item_id'])
    .executeTakeFirst();
  if (!call) return;
  await endItem(tx, call.item_id, {
    status: outcome.ok ? 'completed' : 'failed',
    summary: `${call.name}: ${outcome.output}`,
    detail: outcome.output,
    metadata: outcome.metadata,
  });
}

export async function settle(db: Db, call: Pick<Call, 'id' | 'thread_id'>, outcome: Outcome): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await lockThread(tx, call.thread_id);
    await settleCall(tx, call.id, outcome);
  });
}

/**
 * Marks a call as begun and returns it with its chat; null when there is none. A `once` call that is found begun (`again`)
 * must not run again.
 */
export async function beginCall(db: Db, callId: string): Promise<{ how: 'begun' | 'again' | 'done'; call: Call; chatId: string } | null> {
  const fresh = await db
    .updateTable('calls')
    .from('threads')
    .set({ state: 'running', started_at: new Date() })
    .whereRef('threads.id', '=', 'calls.thread_id')
    .where('calls.id', '=', callId)
    .where('calls.state', '=', 'pending')
    .returningAll('calls')
    .returning('threads.chat_id')
    .executeTakeFirst();
  if (fresh) return { how: 'begun', call: fresh, chatId: fresh.chat_id };
  const known = await db
    .selectFrom('calls')
    .innerJoin('threads', 'threads.id', 'calls.thread_id')
    .selectAll('calls')
    .select('threads.chat_id')
    .where('calls.id', '=', callId)
    .executeTakeFirst();
  return known ? { how: known.state === 'done' ? 'done' : 'again', call: known, chatId: known.chat_id } : null;
}
