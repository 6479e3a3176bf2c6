import { type Db, json } from '../../src/store/postgres/database.ts';
import type { ToolOutcome } from '../../src/tools/tool.ts';

/** Stores the result of a call of a bench as a worker does. */
export async function settleCall(db: Db, callId: string, { ok, output, metadata }: ToolOutcome): Promise<void> {
  await db
    .updateTable('calls')
    .set({ state: 'done', ok, output, metadata: json(metadata ?? {}) })
    .where('id', '=', callId)
    .execute();
}
