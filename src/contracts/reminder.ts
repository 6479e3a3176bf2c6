import type { Channel } from './ids.ts';

/** What crosses the boundary of the `reminder` workflow. */
export interface ReminderInput {
  reminderId: string;
}

/** A message that is ready to be sent. */
interface SaidReminder {
  outboxId: string;
  channel: Channel;
}

export interface ReminderActivities {
  /** null when it was removed, or its chat is gone */
  sayReminder(reminderId: string): Promise<SaidReminder | null>;
}
