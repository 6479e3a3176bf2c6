import type { ReminderActivities, ReminderInput } from '../contracts/activities.ts';
import { patientRecords } from './shared/patient.ts';
import { deliverOn } from './shared/policies.ts';

const records = patientRecords<ReminderActivities>();

/**
 * Says a reminder. The server holds its start back until it is due, so it waits without a history and without a version
 * of this code.
 */
export async function reminder({ reminderId }: ReminderInput): Promise<void> {
  const said = await records.sayReminder.executeWithOptions({ summary: 'say the reminder' }, [reminderId]);
  if (said) await deliverOn(said.channel, `reminder ${reminderId}`, { outboxId: said.outboxId });
}
