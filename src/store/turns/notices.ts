import { channelsOnScreen } from '../../contracts/channels.ts';
import type { Told } from '../../domain/texts/say.ts';
import { markSent } from '../chats/messages/outbox.ts';
import { sayTo } from '../chats/preferences.ts';
import type { Db } from '../postgres/database.ts';
import { recordNotice } from './complete-turn.ts';

/** A message that waits to be sent. */
export interface Queued {
  outboxId: string;
  chatId: string;
}

/**
 * Says something about a channel, once for each `key`: in the terminal's chat, and with `needsPerson` also in the API
 * thread that was used last, because all its threads would be too many. `unheard`: the model does not read it. Screens of both read the store, so the row
 * counts as sent.
 */
export async function tellScreens(
  db: Db,
  key: string,
  text: Told,
  needsPerson: boolean,
  unheard = false,
): Promise<void> {
  const terminals = await db
    .selectFrom('chats')
    .select('id')
    .where('channel', 'in', channelsOnScreen('terminal'))
    .execute();
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
  // only one of the API's threads is told, even if another one is the latest next time
  const places = [
    ...terminals.map(({ id }) => ({ id, name: id })),
    ...(needsPerson ? latest : []).map(({ id }) => ({ id, name: 'api' })),
  ];
  for (const { id, name } of places) {
    const outboxId = `out_${key}-${name}`;
    const said = text(await sayTo(db, id));
    await recordNotice(db, { chatId: id, outboxId, text: said, kind: 'notice', unheard });
    await markSent(db, outboxId);
  }
}
