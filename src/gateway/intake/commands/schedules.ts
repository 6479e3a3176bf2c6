import { parseScheduleRemoval } from '../../../domain/chat/words/tool-words.ts';
import { describeTime, nextFirings } from '../../../domain/cron.ts';
import { inputsText } from '../../../domain/routine-inputs.ts';
import { inline } from '../../../domain/text/foreign-text.ts';
import { zoneOf } from '../../../store/chats/preferences.ts';
import type { Tx } from '../../../store/postgres/database.ts';
import { type Cron, listCrons } from '../../../store/routines/crons.ts';
import { type Reminder, remindersOf, removeReminder } from '../../../store/routines/reminders.ts';
import { listRoutines } from '../../../store/routines/routines.ts';
import { command, saying } from './command.ts';
import { toolTurn } from './tools.ts';

/**
 * What a chat does by itself: schedules that run workflows, and reminders. The numbers of the list are those that can
 * be said.
 */

type Entry = { cron: Cron; routine: string } | { reminder: Reminder };

async function entriesOf(tx: Tx, chatId: string): Promise<Entry[]> {
  const routines = new Map((await listRoutines(tx, chatId)).map((routine) => [routine.id, routine.name]));
  const crons = await listCrons(tx, chatId);
  const reminders = await remindersOf(tx, chatId);
  return [
    ...crons.map((cron) => ({ cron, routine: routines.get(cron.routine_id) ?? cron.routine_id })),
    ...reminders.map((reminder) => ({ reminder })),
  ];
}

export const schedules = command({
  help: [
    '`schedules` lists what runs by itself and what you are to be reminded of; `schedules remove 2` ends one, by its number or name',
  ],
  parse: saying(
    'schedules',
    'reminders',
    'crons',
    '/schedule list',
    '/cron list',
    'list schedules',
    'list reminders',
    'show schedules',
    'show reminders',
    'my schedules',
    'my reminders',
  ),
  mayAnswer: true,
  run: async (_, { tx, config }) => {
    const entries = await entriesOf(tx.now, tx.chatId);
    if (entries.length === 0)
      return 'Nothing runs by itself in this chat. Say for example `every weekday at 8:30, tell me which day it is`, or `remind me to stretch in 20 minutes`.';
    const zone = await zoneOf(tx.now, tx.chatId, config);
    const lines = entries.map(
      (entry, index) => `${index + 1}. ${'cron' in entry ? cronText(entry) : reminderText(entry.reminder, zone)}`,
    );
    return [...lines, '`schedules remove 1` ends the first one.'].join('\n');
  },
});

function cronText({ cron, routine }: Extract<Entry, { cron: Cron }>): string {
  const next = cron.enabled ? nextFirings(cron.schedule, cron.time_zone, new Date(), 1)[0] : undefined;
  const when = next
    ? `next ${describeTime(next, cron.time_zone)}`
    : cron.enabled
      ? 'does not fire again'
      : 'switched off';
  if (cron.rrule !== null)
    return `${inline(cron.name, 80)}: automation, ${inline(cron.rrule, 100)} in ${cron.time_zone}; ${when}`;
  const gives = inputsText(cron.inputs);
  return `${cron.name}: ${routine}${gives && ` with ${gives}`}, ${cron.schedule} in ${cron.time_zone}; ${when}`;
}

const reminderText = ({ what, due_at }: Reminder, timeZone: string): string =>
  `reminder: ${inline(what, 80)}; ${describeTime(due_at, timeZone)}`;

export const removeSchedule = command({
  help: [],
  parse: parseScheduleRemoval,
  run: async (wanted, context) => {
    const { now, chatId } = context.tx;
    const entries = await entriesOf(now, chatId);
    const entry = entries.find((each) => namesOf(each).includes(wanted.toLowerCase())) ?? entries[Number(wanted) - 1];
    if (!entry) return `Nothing of the name ${wanted} runs by itself here. Say \`schedules\` to see what does.`;
    // a schedule is ended by its tool, which may have to ask; a reminder does nothing but speak
    if ('cron' in entry) return toolTurn(context, `schedules remove ${entry.cron.name}`);
    await removeReminder(now, entry.reminder.id);
    return `I will not remind you of this: ${inline(entry.reminder.what)}`;
  },
});

const namesOf = (entry: Entry): string[] =>
  ('cron' in entry ? [entry.cron.id, entry.cron.name] : [entry.reminder.id, entry.reminder.what]).map((name) =>
    name.toLowerCase(),
  );
