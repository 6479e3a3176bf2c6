import { derivedId } from '../chats/ids.ts';
import { insertItems, itemRow, toItemRecord } from '../chats/items.ts';
import type { Tx } from '../postgres/database.ts';
import { appendEvents, type NewEvent } from '../postgres/write-batch.ts';
import { type Heard, remember } from '../steps/transcript.ts';

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
  /** whose words the text is made of */
  heard?: Heard;
}

/** The rows of a user message; returns its events for the caller to append. */
export async function insertUserItem(tx: Tx, item: UserItem): Promise<NewEvent[]> {
  const { id, turnId, threadId, text } = item;
  const row = itemRow({ id, turnId, threadId, kind: 'user_message', status: 'completed', summary: text, detail: text });
  await insertItems(tx, [row]);
  if (!item.unheard) await remember(tx, { id: derivedId('msg_', id), threadId, turnId, role: 'user', content: text, ...item.heard });
  const names = item.announceStart ? ['item.started', 'item.completed'] : ['item.completed'];
  return names.map((event) => ({ event, turnId, itemId: id, payload: { item: toItemRecord(row) } }));
}
