import { startReminder } from '../../../adapters/workflows.ts';
import { parseRemind, readRemind } from '../../../domain/chat/words/reminder.ts';
import { momentInWords, scheduleWithNext } from '../../../domain/chat/words/schedule-words.ts';
import { parseScheduleRemoval } from '../../../domain/chat/words/tool-words.ts';
import { describeTime } from '../../../domain/cron.ts';
import { inputsText } from '../../../domain/routine-inputs.ts';
import { inline } from '../../../domain/text/foreign-text.ts';
import type { Say } from '../../../domain/texts/say.ts';
import { chosenIn, zoneOf } from '../../../store/chats/preferences.ts';
import type { Tx } from '../../../store/postgres/database.ts';
import { type Cron, listCrons } from '../../../store/routines/crons.ts';
import { insertReminder, type Reminder, remindersOf, removeReminder } from '../../../store/routines/reminders.ts';
import { listRoutines } from '../../../store/routines/routines.ts';
import { type CommandContext, command, saying } from './command.ts';
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
    ...crons.map((cron) => ({ cron, routine: routines.get(cron.routine_id) ?? cron.name })),
    ...reminders.map((reminder) => ({ reminder })),
  ];
}

export const schedules = command({
  topic: 'schedules',
  help: ['helps.schedules'],
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
  mayAnswer: 'question',
  run: async (_, context) => listOf(await entriesOf(context.tx.now, context.tx.chatId), context),
});

async function listOf(entries: readonly Entry[], { tx, config, say }: CommandContext): Promise<string> {
  if (entries.length === 0) return say('schedules.none');
  const zone = await zoneOf(tx.now, tx.chatId, config);
  const lines = entries.map(
    (entry, index) =>
      `${index + 1}. ${'cron' in entry ? cronText(entry, say) : reminderText(entry.reminder, zone, say)}`,
  );
  return [...lines, say('schedules.remove')].join('\n');
}

function cronText({ cron, routine }: Extract<Entry, { cron: Cron }>, say: Say): string {
  const { name, schedule, time_zone: timeZone, enabled } = cron;
  const gives = inputsText(cron.inputs);
  // people often give a schedule and its routine one name
  const runs = cron.rrule !== null || routine === name ? '' : ` (${routine})`;
  const words = scheduleWithNext({ schedule, timeZone, enabled }, new Date(), say);
  return `${inline(name, 80)}${runs}${gives && ` with ${gives}`}: ${words}`;
}

const reminderText = ({ what, due_at }: Reminder, timeZone: string, say: Say): string =>
  say('reminder.entry', { what: inline(what, 80), when: momentInWords(due_at, timeZone, new Date(), say) });

export const removeSchedule = command({
  help: [],
  parse: parseScheduleRemoval,
  run: async (wanted, context) => {
    const { say } = context;
    const { now, chatId } = context.tx;
    const entries = await entriesOf(now, chatId);
    const entry = entries.find((each) => namesOf(each).includes(wanted.toLowerCase())) ?? entries[Number(wanted) - 1];
    if (!entry) return say('schedules.unknown', { name: wanted });
    // a schedule is ended by its tool, which may have to ask; a reminder does nothing but speak
    if ('cron' in entry) return toolTurn(context, `schedules remove ${entry.cron.name}`);
    await removeReminder(now, entry.reminder.id);
    return say('reminder.gone', { what: inline(entry.reminder.what) });
  },
});

/** Ends the only schedule. Where there are several, the list shows how to end one. */
export const stopSchedule = command({
  help: [],
  parse: saying('stop schedule', 'stop the schedule', 'stop my schedule', 'end the schedule'),
  run: async (_, context) => {
    const entries = await entriesOf(context.tx.now, context.tx.chatId);
    const crons = entries.flatMap((entry) => ('cron' in entry ? [entry.cron] : []));
    const [only, second] = crons;
    return only && !second ? toolTurn(context, `schedules remove ${only.name}`) : await listOf(entries, context);
  },
});

const namesOf = (entry: Entry): string[] =>
  ('cron' in entry ? [entry.cron.id, entry.cron.name] : [entry.reminder.id, entry.reminder.what]).map((name) =>
    name.toLowerCase(),
  );

/** Most reminders of a chat that wait. */
const MOST_REMINDERS = 100;

export const remind = command({
  topic: 'schedules',
  help: ['helps.remind'],
  parse: parseRemind,
  run: async (asked, { tx, config, say, shared, owned, afterwards }) => {
    const { language, timeZone: zone = config.FETCH_TIME_ZONE } = (await chosenIn(tx.now, tx.chatId)).preferences;
    const read = await readRemind(asked, tx.at, { timeZone: zone, language });
    if (read === null) return null;
    if ('problem' in read) {
      const here = read.problem === 'what' ? [] : [say('reminder.here', { time: describeTime(tx.at, zone) })];
      return [say(`reminder.${read.problem}`), say('reminder.examples'), ...here].join(' ');
    }
    const waiting = (await remindersOf(tx.now, tx.chatId)).length;
    if (waiting >= MOST_REMINDERS) return say('reminder.most', { count: waiting, most: MOST_REMINDERS });
    // in a group, what somebody else wants to be told is not the owner's word
    const sources = shared && !owned ? [{ kind: 'member' as const, label: 'a reminder' }] : [];
    const reminder = await insertReminder(tx.now, { chatId: tx.chatId, what: read.what, dueAt: read.at, sources });
    afterwards((temporal) => startReminder(temporal, reminder));
    const when = [momentInWords(read.at, zone, tx.at, say), ...(read.leftOut ? [say('reminder.moved')] : [])].join(' ');
    return say('reminder.will', { when, what: read.what });
  },
});
