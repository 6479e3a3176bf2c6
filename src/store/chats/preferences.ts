import { sql } from 'kysely';
import { isGroupChat } from '../../contracts/channels.ts';
import type { TrustLevel } from '../../contracts/conversation.ts';
import type { Preferences } from '../../domain/chat/preferences.ts';
import { languageOf } from '../../domain/texts/language.ts';
import { type Language, type Say, sayIn } from '../../domain/texts/say.ts';
import { type Db, json, type Tx } from '../postgres/database.ts';

interface ChosenInChat {
  preferences: Preferences;
  autonomy: TrustLevel;
  /** a group chat */
  group: boolean;
}

export async function chosenIn(db: Db | Tx, chatId: string): Promise<ChosenInChat> {
  const chat = await db
    .selectFrom('chats')
    .select(['preferences', 'autonomy', 'judged', 'channel', 'address'])
    .where('id', '=', chatId)
    .executeTakeFirstOrThrow();
  return {
    preferences: chat.preferences,
    autonomy: chat.judged && chat.autonomy === 'cautious' ? 'judged' : chat.autonomy,
    group: isGroupChat(chat.channel, chat.address),
  };
}

/** The time zone of a chat: the person's choice, or that of the settings. */
export const zoneOf = async (
  db: Db | Tx,
  chatId: string,
  { FETCH_TIME_ZONE }: { FETCH_TIME_ZONE: string },
): Promise<string> => (await chosenIn(db, chatId)).preferences.timeZone ?? FETCH_TIME_ZONE;

/** Our own texts in the language of a chat. */
export async function sayTo(db: Db | Tx, chatId: string): Promise<Say> {
  const chat = await db.selectFrom('chats').select('preferences').where('id', '=', chatId).executeTakeFirst();
  return sayIn(languageOf(chat?.preferences ?? {}));
}

/** Keeps the language that the person writes. */
export const noteLanguage = (tx: Tx, chatId: string, language: Language): Promise<unknown> =>
  tx
    .updateTable('chats')
    .set({ preferences: sql<string>`preferences || ${json({ writes: language })}::jsonb` })
    .where('id', '=', chatId)
    .execute();

/** Changes what is named, and leaves the rest. Null: as the settings say. Messages that wait are looked at again. */
export async function choose(
  db: Db | Tx,
  chatId: string,
  changes: { [name in keyof Preferences]?: Preferences[name] | null },
): Promise<void> {
  await db
    .updateTable('chats')
    .set({ preferences: sql<string>`jsonb_strip_nulls(preferences || ${json(changes)}::jsonb)` })
    .where('id', '=', chatId)
    .execute();
  await db
    .updateTable('outbox')
    .set({ not_before: null })
    .where('chat_id', '=', chatId)
    .where('state', '=', 'queued')
    .where('not_before', 'is not', null)
    .execute();
}

/** Messages that wait for the end of quiet hours. */
export const heldIn = async (db: Db | Tx, chatId: string): Promise<{ count: number; until: Date | null }> =>
  await db
    .selectFrom('outbox')
    .select([sql<number>`count(*)::int`.as('count'), sql<Date | null>`max(not_before)`.as('until')])
    .where('chat_id', '=', chatId)
    .where('state', '=', 'queued')
    .where('not_before', '>', sql<Date>`now()`)
    .executeTakeFirstOrThrow();
