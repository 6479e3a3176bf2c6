import { startReminder } from '../../../adapters/workflows.ts';
import { parseRemind, type Reminder, readRemind } from '../../../domain/chat/words/reminder.ts';
import { describeTime } from '../../../domain/cron.ts';
import { chosenIn } from '../../../store/chats/preferences.ts';
import { insertReminder, remindersOf } from '../../../store/routines/reminders.ts';
import { command } from './command.ts';

/** Most reminders of a chat that wait. */
const MOST = 100;

const EXAMPLES =
  'Say for example `remind me to stretch in 20 minutes`, `remind me to call Ann at 9:00 tomorrow` or `remind me on Friday to pay the rent`.';

const PROBLEMS: Record<Extract<Reminder, { problem: string }>['problem'], string> = {
  what: 'What shall I remind you of?',
  when: 'I did not find a time in that.',
  past: 'That time is over.',
};

export const remind = command({
  help: ['`remind me to stretch in 20 minutes` or `remind me at 9:00 tomorrow to call Ann` says it then, once'],
  parse: parseRemind,
  run: async (asked, { tx, config, shared, owned, afterwards }) => {
    const { language, timeZone: zone = config.FETCH_TIME_ZONE } = (await chosenIn(tx.now, tx.chatId)).preferences;
    const read = await readRemind(asked, tx.at, { timeZone: zone, language });
    if (read === null) return null;
    if ('problem' in read)
      return `${PROBLEMS[read.problem]} ${EXAMPLES}${read.problem === 'what' ? '' : ` Here it is ${describeTime(tx.at, zone)}.`}`;
    const waiting = (await remindersOf(tx.now, tx.chatId)).length;
    if (waiting >= MOST)
      return `${waiting} reminders wait in this chat, and no more than ${MOST} are allowed. \`schedules\` lists them.`;
    // in a group, what somebody else wants to be told is not the owner's word
    const sources = shared && !owned ? [{ kind: 'member' as const, label: 'a reminder' }] : [];
    const reminder = await insertReminder(tx.now, { chatId: tx.chatId, what: read.what, dueAt: read.at, sources });
    afterwards((temporal) => startReminder(temporal, reminder));
    const moved = read.leftOut ? ' (clocks go forward over the time that you said)' : '';
    return `I will remind you on ${describeTime(read.at, zone)}${moved}: ${read.what}`;
  },
});
