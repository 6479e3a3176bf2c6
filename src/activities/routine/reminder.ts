import type { Config } from '../../config.ts';
import type { ReminderActivities } from '../../contracts/reminder.ts';
import { describeTime } from '../../domain/cron.ts';
import { zoneOf } from '../../store/chats/preferences.ts';
import type { Db } from '../../store/postgres/database.ts';
import { findReminder, markSaid, type Reminder } from '../../store/routines/reminders.ts';
import { recordNotice } from '../../store/turns/complete-turn.ts';
import { recording } from '../heartbeat.ts';

/** One that is later than this says when it was due. */
const LATE_MS = 60_000;

export const createReminderActivities = ({ db, config }: { db: Db; config: Config }): ReminderActivities => ({
  sayReminder: recording(async (reminderId: string) => {
    const reminder = await findReminder(db, reminderId);
    if (!reminder || reminder.state === 'removed') return null;
    const outboxId = `out_${reminderId}_said`;
    // first the message, which is stored once for its id: a kill before the mark says nothing twice
    const text = reminderText(reminder, await zoneOf(db, reminder.chat_id, config));
    await recordNotice(db, { chatId: reminder.chat_id, outboxId, text, kind: 'notice', sources: reminder.sources });
    await markSaid(db, reminderId);
    return { outboxId, channel: reminder.channel };
  }),
});

function reminderText({ what, due_at }: Reminder, timeZone: string): string {
  const late = Date.now() - due_at.getTime() > LATE_MS ? ` (it was due on ${describeTime(due_at, timeZone)})` : '';
  return `⏰ Reminder: ${what}${late}`;
}
