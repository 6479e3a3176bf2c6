import type { Db } from './database.ts';
import { lockThread } from './events.ts';
import { addItem } from './items.ts';

/** Records a progress report as a completed `status` item and tells the thread's readers; once for a call id. */
export async function recordProgress(db: Db, call: { callId: string; turnId: string; threadId: string }, message: string, percent?: number): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await lockThread(tx, call.threadId);
    await addItem(tx, {
      id: `item_${call.callId}p`,
      turnId: call.turnId,
      threadId: call.threadId,
      kind: 'status',
      status: 'completed',
      summary: percent === undefined ? message : `${message} (${percent} %)`,
      detail: message,
      metadata: { call_id: call.callId, ...(percent !== undefined && { percent }) },
    });
  });
}
