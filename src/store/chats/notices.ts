import { channelsOnScreen } from '../../contracts/channels.ts';
import type { Db } from '../postgres/database.ts';
import { recordNotice } from '../turns/complete-turn.ts';
import { markSent } from './outbox.ts';

/**
 * Says something about a channel once for a `key` where it can be said: on the terminal's chat, and what `needsPerson` also in the thread of
 * the API that was used last. Said in each of its threads, it would be in the way of all of them. Screens of both read the store, so the row
 * counts as sent.
 */
export async function tellScreens(db: Db, key: string, text: string, needsPerson: boolean): Promise<void> {
  const terminals = await db.selectFrom('chats').select('id').where('channel', 'in', channelsOnScreen('terminal')).execute();
  const latest = await db
    .selectFrom('threads')
    .innerJoin('chats', 'chats.id', 'threads.chat_id')
    .select('chats.id')
    .where('chats.channel', 'in', channelsOnScreen('client'))
    .where('threads.archived', '=', false)
    .where('threads.task_id', 'is', null)
    .orderBy('threads.updated_at', 'desc')
    .limit(1)
    .execute();
  // of the API's threads one is told, also when another one is the latest by the next time
  const places = [...terminals.map(({ id }) => ({ id, name: id })), ...(needsPerson ? latest : []).map(({ id }) => ({ id, name: 'api' }))];
  for (const { id, name } of places) {
    const outboxId = `out_${key}-${name}`;
    await recordNotice(db, { chatId: id, outboxId, text, kind: 'notice' });
    await markSent(db, outboxId);
  }
}
