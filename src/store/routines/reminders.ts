import type { Selectable } from 'kysely';
import type { Source } from '../../contracts/taint.ts';
import { freshId } from '../chats/ids.ts';
import { type Db, json, type Tx } from '../postgres/database.ts';
import type { ReminderTable } from '../schema/tables/routines.ts';

export type Reminder = Selectable<ReminderTable>;

export async function insertReminder(
  tx: Tx,
  reminder: { chatId: string; what: string; dueAt: Date; sources: readonly Source[] },
): Promise<Reminder> {
  const { chatId, what, dueAt, sources } = reminder;
  return await tx
    .insertInto('reminders')
    .values({ id: freshId('rem_'), chat_id: chatId, what, due_at: dueAt, sources: json(sources) })
    .returningAll()
    .executeTakeFirstOrThrow();
}

/** The next one first. */
export const remindersOf = (db: Db | Tx, chatId: string): Promise<Reminder[]> =>
  db
    .selectFrom('reminders')
    .selectAll()
    .where('chat_id', '=', chatId)
    .where('state', '=', 'waiting')
    .orderBy('due_at')
    .orderBy('id')
    .execute();

/** A removed one still has its workflow, which finds nothing to say. */
export async function removeReminder(tx: Tx, id: string): Promise<void> {
  await tx
    .updateTable('reminders')
    .set({ state: 'removed' })
    .where('id', '=', id)
    .where('state', '=', 'waiting')
    .execute();
}

/** With the channel of its chat; undefined when it or its chat is gone. */
export const findReminder = (db: Db, id: string) =>
  db
    .selectFrom('reminders')
    .innerJoin('chats', 'chats.id', 'reminders.chat_id')
    .selectAll('reminders')
    .select('chats.channel')
    .where('reminders.id', '=', id)
    .executeTakeFirst();

export async function markSaid(db: Db, id: string): Promise<void> {
  await db
    .updateTable('reminders')
    .set({ state: 'said' })
    .where('id', '=', id)
    .where('state', '=', 'waiting')
    .execute();
}

/** Reminders of every chat that should have a workflow, older than `ageMs`. By id, starting after `after`. */
export const waitingReminders = (db: Db, ageMs: number, after: string, limit: number): Promise<Reminder[]> =>
  db
    .selectFrom('reminders')
    .selectAll()
    .where('state', '=', 'waiting')
    .where('created_at', '<', new Date(Date.now() - ageMs))
    .where('id', '>', after)
    .orderBy('id')
    .limit(limit)
    .execute();
