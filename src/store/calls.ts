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

/** Marks a call as begun; a `once` call that is found begun must not run again. */
export async function beginCall(db: Db, callId: string): Promise<'begun' | 'again' | 'done'> {
  const fresh = await db
    .updateTable('calls')
    .set({ state: 'running', started_at: new Date() })
    .where('id', '=', callId)
    .where('state', '=', 'pending')
    .returning('id')
    .executeTakeFirst();
  if (fresh) return 'begun';
  const call = await findCall(db, callId);
  return call?.state === 'done' ? 'done' : 'again';
}
