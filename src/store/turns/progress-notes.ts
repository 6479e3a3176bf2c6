import type { ThinkInput } from '../../contracts/conversation.ts';
import { onThread } from '../chats/events.ts';
import { derivedId } from '../chats/ids.ts';
import { addItem } from '../chats/items.ts';
import type { Db } from '../postgres/database.ts';

/** Tells, once for a turn, that a restart delayed it. */
export async function tellDelay(db: Db, { turnId, threadId }: ThinkInput): Promise<void> {
  const text = 'A restart held this up; going on where it stopped.';
  const id = derivedId('item_', turnId, 'delay');
  await onThread(db, threadId, async (tx) => {
    await addItem(tx, { id, turnId, threadId, kind: 'status', status: 'completed', summary: text, detail: text });
  });
}
