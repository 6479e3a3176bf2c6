import { nextFirings } from '../../cron.ts';
import { isInterval, isOnce, momentOfOnce, readInterval } from '../../firings.ts';
import { type PlacedDays, placedDays } from '../../placed-days.ts';
import { english, type Say } from '../../texts/say.ts';
import { DAY, HOUR, MINUTE, repeatedTime, SECOND } from '../../time.ts';
import { isTooLong } from './commands.ts';

/** Words that say how often, as five fields, and the way back: `every weekday at 8:30, tell me which day it is`. */

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

const DAY_NAMES = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const MONTH_NAMES = [
  ...['January', 'February', 'March', 'April', 'May', 'June'],
  ...['July', 'August', 'September', 'October', 'November', 'December'],
];
/** The least and the greatest value of each field. */
const RANGES = [[0, 59] as const, [0, 23] as const, [1, 31] as const, [1, 12] as const, [0, 7] as const];
/** With more times of a day the words name minutes and hours apart. */
const TIMES_NAMED = 4;

/**
 * A schedule for people, in the grammar of `parseSchedule`: `every weekday at 8:30`, `every 2 hours`. What is unusual is
 * said in English.
 */
export function scheduleInWords(schedule: string, say: Say = english): string {
  if (isOnce(schedule)) return onceInWords(schedule, say);
  return usualInWords(schedule, say) ?? inEnglish(schedule);
}

/** The schedules that people have most; null for every other one. */
function usualInWords(schedule: string, say: Say): string | null {
  const [, every, unit] = /^(?:\*(?:\/(\d+))? \*|0 \*(?:\/(\d+))?) \* \* \*$/.exec(schedule) ?? [];
  if (/^\*(?:\/\d+)? \* \* \* \*$/.test(schedule)) return say('every.minutes', { count: Number(every ?? 1) });
  if (/^0 \*(?:\/\d+)? \* \* \*$/.test(schedule)) return say('every.hours', { count: Number(unit ?? 1) });
  const [, minute, hour, weekdays] = /^(\d+) (\d+(?:,\d+){0,3}) \* \* ([A-Z0-7*,-]+)$/.exec(schedule) ?? [];
  if (minute === undefined) return null;
  const times = say.list(hour!.split(',').map((each) => `${Number(each)}:${pad(Number(minute))}`));
  const days = weekdays === '*' ? [] : [...new Set(valuesOf(weekdays!, 4).map((day) => day % 7))];
  if (days.length % 7 === 0) return say('every.day', { times });
  if (isWeekdays(days)) return say('every.weekday', { times });
  return say('every.days', { days: say.list(days.map((day) => dayName(day, say))), times });
}

/** 1 February 2026 was a Sunday. */
const dayName = (day: number, say: Say): string =>
  new Date(Date.UTC(2026, 1, 1 + day)).toLocaleDateString(say.locale, { weekday: 'long', timeZone: 'UTC' });

function inEnglish(schedule: string): string {
  if (isInterval(schedule)) {
    const { every, days } = readInterval(schedule);
    return intervalInWords(every) + (days.length > 0 ? ` on ${daysInWords(days)}` : '');
  }
  const placed = placedDays(schedule);
  const fields = schedule.split(' ');
  if (placed) fields.splice(2, 3, '*', fields[3] ?? '*', '*');
  const [minutes, hours, dates, months, weekdays] = fields.map(valuesOf);
  if (!minutes || !hours || dates === undefined || months === undefined || weekdays === undefined) return schedule;
  const [minute = '', hour = '', , , weekday = ''] = fields;
  const days = weekday === '*' ? null : [...new Set(weekdays.map((day) => day % 7))];
  const inMonths = fields[3] === '*' ? null : months.map((month) => MONTH_NAMES[month - 1]!);
  const onDates = fields[2] === '*' ? null : dates;
  const isFixed = !/[*/-]/.test(minute + hour) && minutes.length * hours.length <= TIMES_NAMED;
  if (isFixed) {
    const times = hours.flatMap((each) => minutes.map((past) => `${each}:${pad(past)}`));
    if (placed) return `every ${listed(inMonths ?? ['month'])} ${placedInWords(placed)} at ${listed(times)}`;
    return `every ${dayOfFixed(days, onDates, inMonths)} at ${listed(times)}`;
  }
  return [
    oftenInWords(minute, hour, minutes, hours),
    ...(days ? [`on ${daysInWords(days)}`] : []),
    ...(onDates ? [`on the ${listed(onDates.map(ordinal))}${days ? ' of a month' : ''}`] : []),
    ...(placed ? [`${placedInWords(placed)} of a month`] : []),
    ...(inMonths ? [`in ${listed(inMonths)}`] : []),
  ].join(' ');
}

/** `once, on Mon 30 Nov 2026 at 09:00`: as a clock shows it. */
function onceInWords(schedule: string, say: Say): string {
  const wall = momentOfOnce(schedule, 'UTC').at;
  const day = { weekday: 'short', day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' } as const;
  const date = new Date(wall).toLocaleDateString(say.locale, day).replace(',', '');
  return say('every.once', { date, time: new Date(wall).toISOString().slice(11, 16) });
}

function intervalInWords(ms: number): string {
  const [unit, length] = UNITS.find(([, each]) => ms % each === 0) ?? ['second', SECOND];
  const count = ms / length;
  return count === 1 ? `every ${unit}` : `every ${count} ${unit}s`;
}

const UNITS = [['day', DAY] as const, ['hour', HOUR] as const, ['minute', MINUTE] as const];

/** The same with the next time: `every minute, next at 00:01`. */
export function scheduleWithNext(
  { schedule, timeZone, enabled }: { schedule: string; timeZone: string; enabled: boolean },
  now: Date,
  say: Say = english,
): string {
  const next = enabled ? nextFirings(schedule, timeZone, now, 1)[0] : undefined;
  const often = scheduleInWords(schedule, say);
  if (!next) return say(enabled ? 'every.over' : 'every.off', { often });
  return isOnce(schedule) ? often : say('every.next', { often, when: momentInWords(next, timeZone, now, say) });
}

/**
 * A moment to come: `at 14:05`, `on Thu 26 Nov at 14:05`, with the year where it is another. UTC is named, because it is
 * seldom the person's own zone.
 */
export function momentInWords(at: Date, timeZone: string, now: Date, say: Say = english): string {
  const part = (when: Date, shown: Intl.DateTimeFormatOptions) =>
    when.toLocaleString(say.locale, { timeZone, ...shown });
  const day: Intl.DateTimeFormatOptions = { weekday: 'short', day: 'numeric', month: 'short' };
  const year = { year: 'numeric' } as const;
  const isThisYear = part(at, year) === part(now, year);
  // English has no comma in it
  const date = `${part(at, day).replace(',', '')}${isThisYear ? '' : ` ${part(at, year)}`}`;
  const isToday = isThisYear && date === part(now, day).replace(',', '');
  const clock = part(at, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  const time = timeZone === 'UTC' ? `${clock} UTC` : clock;
  const repeated = repeatedTime(at.getTime(), timeZone);
  const which = repeated ? ` ${say(repeated === 'first' ? 'moment.first' : 'moment.second')}` : '';
  return `${isToday ? say('moment.at', { time }) : say('moment.on', { date, time })}${which}`;
}

/** The values of a field, ascending. */
function valuesOf(field: string, at: number): number[] {
  const [least, greatest] = RANGES[at]!;
  const values = field.split(',').flatMap((part) => {
    const [range = '', every = '1'] = part.split('/');
    const [from = '', to] = range.split('-').map((end) => numberOf(end));
    const first = range === '*' ? least : Number(from);
    const last =
      range === '*' ? Math.min(greatest, at === 4 ? 6 : greatest) : (to ?? (part.includes('/') ? greatest : first));
    const found: number[] = [];
    for (let value = first; value <= Number(last); value += Math.max(1, Number(every))) found.push(value);
    return found;
  });
  return [...new Set(values)].sort((one, other) => one - other);
}

function numberOf(text: string): number {
  const day = DAYS.indexOf(text as (typeof DAYS)[number]);
  if (day >= 0) return day;
  const month = MONTH_NAMES.findIndex((name) => name.slice(0, 3).toUpperCase() === text);
  return month >= 0 ? month + 1 : Number(text);
}

function dayOfFixed(days: number[] | null, dates: number[] | null, months: string[] | null): string {
  const names = days?.map((day) => DAY_NAMES[day]!) ?? [];
  if (dates) {
    const date = `on the ${listed(dates.map(ordinal))}${months ? ` of ${listed(months)}` : ''}`;
    return `${months ? 'year' : 'month'} ${date}${days ? ` if it is a ${listed(names, 'or')}` : ''}`;
  }
  const day = !days || days.length === 7 ? 'day' : isWeekdays(days) ? 'weekday' : listed(names);
  return months ? `${day} in ${listed(months)}` : day;
}

/** `on the 1st and last day if it is a Friday`, `on the second Monday and the last Friday` */
function placedInWords({ lastDate, dates, weekdays, everyWeek }: PlacedDays): string {
  const onDates = [
    ...(dates && dates !== '*' ? valuesOf(dates, 2).map(ordinal) : []),
    ...(lastDate ? ['last day'] : []),
  ];
  const plain = everyWeek && everyWeek !== '*' ? valuesOf(everyWeek, 4).map((day) => DAY_NAMES[day % 7]!) : [];
  const placed = weekdays.map(({ day, nth }) => `the ${nth === 'last' ? nth : NTH[nth - 1]} ${DAY_NAMES[day]}`);
  if (onDates.length === 0) return `on ${listed([...plain.map((day) => `every ${day}`), ...placed])}`;
  const days = [...plain.map((day) => `a ${day}`), ...placed];
  return `on the ${listed(onDates)}${days.length > 0 ? ` if it is ${listed(days, 'or')}` : ''}`;
}

const NTH = ['first', 'second', 'third', 'fourth', 'fifth'];

function oftenInWords(minute: string, hour: string, minutes: number[], hours: number[]): string {
  const step = /^\*(?:\/(\d+))?$/.exec(minute);
  const hourStep = /^\*(?:\/(\d+))?$/.exec(hour);
  const everyHour = hourStep ? (Number(hourStep[1] ?? 1) === 1 ? 'every hour' : `every ${hourStep[1]} hours`) : null;
  if (step) {
    const often = Number(step[1] ?? 1) === 1 ? 'every minute' : `every ${step[1]} minutes`;
    if (everyHour === 'every hour') return often;
    return `${often} of the hours ${spanOf(hours)}`;
  }
  const past = minutes.length === 1 && minutes[0] === 0 ? '' : ` at ${listed(minutes.map((each) => `:${pad(each)}`))}`;
  return everyHour ? `${everyHour}${past}` : `every hour${past} from ${spanOf(hours)}`;
}

/** `8 to 17` for hours without a gap. */
const spanOf = (hours: number[]): string =>
  hours.length > 2 && hours.at(-1)! - hours[0]! === hours.length - 1
    ? `${hours[0]} to ${hours.at(-1)}`
    : listed(hours.map(String));

const isWeekdays = (days: readonly number[]): boolean => days.length === 5 && !days.includes(0) && !days.includes(6);

const daysInWords = (days: readonly number[]): string =>
  isWeekdays(days) ? 'weekdays' : listed(days.map((day) => `${DAY_NAMES[day]}s`));

const ordinal = (date: number): string => {
  const end = { one: 'st', two: 'nd', few: 'rd' }[ordinals.select(date) as 'one'] ?? 'th';
  return `${date}${end}`;
};
const ordinals = new Intl.PluralRules('en', { type: 'ordinal' });

const pad = (value: number): string => String(value).padStart(2, '0');

const listed = (parts: readonly string[], word = 'and'): string =>
  parts.length < 2 ? (parts[0] ?? '') : `${parts.slice(0, -1).join(', ')} ${word} ${parts.at(-1)}`;
