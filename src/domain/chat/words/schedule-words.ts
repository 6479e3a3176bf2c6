import { isTooLong } from './commands.ts';

/** Words that say how often, as five fields: `every weekday at 8:30, tell me which day it is`. */

interface ScheduleInWords {
  schedule: string;
  /** what is to be done then; empty when nothing else was said */
  what: string;
}

const DAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'] as const;
const EVERY =
  /\b(?:(?:every|each) (day|weekday|weekend|hour|minute|month|\d{1,2} (?:hours|minutes))|(hourly|daily))(?![\w-])/i;
const EVERY_DAYS =
  /\b(?:every|each) ((?:sun|mon|tue|tues|wed|wednes|thu|thur|thurs|fri|sat|satur)(?:day)?s?(?:(?:, ?| and |, and )(?:sun|mon|tue|tues|wed|wednes|thu|thur|thurs|fri|sat|satur)(?:day)?s?){0,6})(?![\w-])/i;
/** a date and a time stand behind it, the time perhaps before it */
const ON_DATE = /^ on the (\d{1,2})(?:st|nd|rd|th)?(?![\w-])/i;
const AT_BEHIND = /^ at (noon|midnight|\d{1,2}(?::\d{2})?(?: ?[ap]m)?)(?![\w-])/i;
const AT_BEFORE = /\bat (noon|midnight|\d{1,2}(?::\d{2})?(?: ?[ap]m)?) $/i;

/** A day without a time means this hour of it. */
const MORNING = 9;

/** Null when the words say nothing of the kind, or what five fields cannot say. */
export function readSchedule(text: string): ScheduleInWords | null {
  const said = text.trim().replace(/\s+/g, ' ');
  if (isTooLong(said)) return null;
  const found = EVERY_DAYS.exec(said) ?? EVERY.exec(said);
  if (!found) return null;
  const [whole, every, ly] = found;
  const often = (every ?? (ly!.toLowerCase() === 'hourly' ? 'hour' : 'day')).toLowerCase();
  let before = said.slice(0, found.index);
  let after = said.slice(found.index + whole.length);
  const [ofDate = '', date] = ON_DATE.exec(after) ?? [];
  after = after.slice(ofDate.length);
  const [ofLate = '', late] = AT_BEHIND.exec(after) ?? [];
  after = after.slice(ofLate.length);
  const [ofEarly = '', early] = late === undefined ? (AT_BEFORE.exec(before) ?? []) : [];
  before = before.slice(0, before.length - ofEarly.length);
  const at = late ?? early;
  const time = clockOf(at);
  const schedule = time && fieldsOf(often, time, at, date);
  if (!schedule) return null;
  const parts = [before.replace(/[,:;] ?$/, ''), after.replace(/^ ?[,:;.]/, '')];
  const what = parts
    .map((part) => part.trim())
    .filter(Boolean)
    .join(' ');
  return { schedule, what };
}

interface Clock {
  hour: number;
  minute: number;
}

function clockOf(text: string | undefined): Clock | null {
  if (text === undefined) return { hour: MORNING, minute: 0 };
  const word = text.toLowerCase();
  if (word === 'noon' || word === 'midnight') return { hour: word === 'noon' ? 12 : 0, minute: 0 };
  const [, hours = '', minutes = '0', half] = /^(\d{1,2})(?::(\d{2}))?(?: ?([ap]m))?$/.exec(word) ?? [];
  const hour = half === undefined ? Number(hours) : (Number(hours) % 12) + (half === 'pm' ? 12 : 0);
  const isClock =
    hour < 24 && Number(minutes) < 60 && (half === undefined || (Number(hours) >= 1 && Number(hours) <= 12));
  return isClock ? { hour, minute: Number(minutes) } : null;
}

/** `at`: the time as it was said. */
function fieldsOf(
  often: string,
  { hour, minute }: Clock,
  at: string | undefined,
  date: string | undefined,
): string | null {
  if (often === 'month')
    return date !== undefined && Number(date) >= 1 && Number(date) <= 31
      ? `${minute} ${hour} ${Number(date)} * *`
      : null;
  if (date !== undefined) return null;
  const days = daysOf(often);
  if (days !== null) return `${minute} ${hour} * * ${days}`;
  // "every hour at 9" means nothing
  if (at !== undefined) return null;
  if (often === 'hour') return '0 * * * *';
  if (often === 'minute') return '* * * * *';
  const [count = '', unit] = often.split(' ');
  const every = Number(count);
  // other numbers do not divide their hour or day, so their last gap would be shorter
  if (unit === 'minutes') return every >= 1 && 60 % every === 0 ? `*/${every} * * * *` : null;
  return every >= 1 && 24 % every === 0 ? `0 */${every} * * *` : null;
}

function daysOf(often: string): string | null {
  if (often === 'day') return '*';
  if (often === 'weekday') return 'MON-FRI';
  if (often === 'weekend') return 'SAT,SUN';
  const named = often.split(/, and | and |, ?/).map((day) => DAYS.find((name) => day.toUpperCase().startsWith(name)));
  return named.every((day) => day !== undefined) ? [...new Set(named)].join(',') : null;
}
