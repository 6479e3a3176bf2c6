import type { Selectable } from 'kysely';
import type { ThreadRecord } from '../../contracts/records.ts';
import { onThread } from '../chats/thread-transaction.ts';
import { getThread, toThreadRecord } from '../chats/threads/threads.ts';
import type { Db } from '../postgres/database.ts';
import type { ThreadTable } from '../schema/tables/chats.ts';
import { activeTurn } from './turns.ts';

/** In the order in which clients are told of them. A title or system prompt of `null` is taken away. */
const CHANGEABLE = [
  'archived',
  'allow_shell',
  'trust_mode',
  'auto_approve',
  'model',
  'mode',
  'title',
  'system_prompt',
  'workspace',
] as const;
export type ThreadChanges = Partial<Pick<Selectable<ThreadTable>, (typeof CHANGEABLE)[number]>>;

/**
 * Changes a thread and announces `thread.updated`; what is there already changes nothing. Null when there is no such
 * thread. `busy`: a turn runs in the workspace that would be changed.
 */
export async function updateThread(db: Db, id: string, wanted: ThreadChanges): Promise<ThreadRecord | 'busy' | null> {
  if (!(await getThread(db, id))) return null;
  return await onThread(db, id, async (tx) => {
    const before = await tx.now.selectFrom('threads').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
    const restored = wanted.archived === false && before.deleted_at !== null;
    const changed = CHANGEABLE.filter(
      (field) => wanted[field] !== undefined && (wanted[field] !== before[field] || (field === 'archived' && restored)),
    );
    if (changed.length === 0) return toThreadRecord(before);
    if (changed.includes('workspace') && (await activeTurn(tx.now, id))) return 'busy';
    const changes = Object.fromEntries(changed.map((field) => [field, wanted[field]]));
    const set = { ...changes, updated_at: tx.at, ...(restored && { deleted_at: null }) };
    const after = await tx.now
      .updateTable('threads')
      .set(set)
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow();
    const record = toThreadRecord(after);
    tx.append({ event: 'thread.updated', payload: { thread: record, changes } });
    return record;
  });
}
