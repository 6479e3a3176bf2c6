import { derivedId } from '../chats/ids.ts';
import { insertItems, itemRow, toItemRecord } from '../chats/threads/items.ts';
import type { NewEvent, WriteBatch } from '../chats/write-batch.ts';
import { type Heard, remember } from './steps/transcript.ts';

/**
 * A user message: complete from the start, announced as started and completed at once (a steering message only as
 * completed).
 */
export const addUserItem = (batch: WriteBatch, item: UserItem): void => batch.append(...insertUserItem(batch, item));

interface UserItem {
  id: string;
  turnId: string;
  text: string;
  announceStart: boolean;
  /** answered without the model, so the model does not read it */
  unheard?: boolean;
  /** sources of the text */
  heard?: Heard;
}

/** Inserts the rows of a user message, and returns its events for the caller to append. */
export function insertUserItem(batch: WriteBatch, item: UserItem): NewEvent[] {
  const { threadId } = batch;
  const { id, turnId, text } = item;
  const row = itemRow({ id, turnId, threadId, kind: 'user_message', status: 'completed', summary: text, detail: text });
  insertItems(batch, [row]);
  if (!item.unheard) remember(batch, { id: derivedId('msg_', id), turnId, role: 'user', content: text, ...item.heard });
  const names = item.announceStart ? ['item.started', 'item.completed'] : ['item.completed'];
  return names.map((event) => ({ event, turnId, itemId: id, payload: { item: toItemRecord(row) } }));
}
