import type { ScheduleSpec } from '@temporalio/client';
import { firings, isInterval, isOnce, momentOfOnce, readInterval, wallPattern } from '../domain/firings.ts';
import { placedDays } from '../domain/placed-days.ts';
import { type ClockChange, DAY, HOUR, nextClockChange, SECOND, wallOf } from '../domain/time.ts';

/**
 * Temporal's calendars leave out a time that does not exist, and take either of two. So the hours of a clock change are
 * taken out of the calendars, and each firing in them is an instant of its own.
 */

/** Changes of the next years. Each start of the gateway looks further. */
const YEARS_AHEAD = 3;
/** ms. In Cairo, where clocks go back at midnight, Temporal also takes an hour before the repeated one for another. */
const MARGIN = 2 * HOUR;
/** Years that Temporal's calendars know. */
const [FIRST_YEAR, LAST_YEAR] = [2000, 2100];

/** `since`: firings from then on may still be caught up. */
export function specOf(schedule: string, timeZone: string, since: Date): ScheduleSpec {
  if (isInterval(schedule)) return { ...intervalSpec(schedule), timezone: timeZone };
  // as an interval, an instant comes once, and again after fifty years
  if (isOnce(schedule)) return { intervals: [{ every: momentOfOnce(schedule, timeZone).at }], timezone: timeZone };
  const changes = changesFor(schedule, timeZone, since);
  const hours = changes.flatMap((change) => change.hours);
  const calendars = calendarsOf(schedule);
  if (hours.length === 0) return { cronExpressions: calendars.map(written), timezone: timeZone };
  return {
    cronExpressions: calendars.flatMap((calendar) => calendarsWithout(calendar, hours)),
    intervals: changes.flatMap((change) => instantsOfChange(schedule, timeZone, change)),
    timezone: timeZone,
  };
}

/** Instants that a spec of `specOf` has besides its calendars. */
export const instantsOf = ({ intervals = [] }: ScheduleSpec): string => intervals.map(({ every }) => every).join();

/** An interval cannot have days of the week, so all others are left out. */
function intervalSpec(schedule: string): ScheduleSpec {
  const { every, phase, days } = readInterval(schedule);
  const others = days.length === 0 ? [] : DAY_NAMES.filter((_, day) => !days.includes(day));
  return {
    intervals: [{ every, offset: phase }],
    ...(others.length > 0 && { skip: [{ dayOfWeek: others, hour: '*', minute: '*', second: '*' }] }),
  };
}

const DAY_NAMES = ['SUNDAY', 'MONDAY', 'TUESDAY', 'WEDNESDAY', 'THURSDAY', 'FRIDAY', 'SATURDAY'] as const;

/** `hours`: those that it leaves out or repeats and some around them, if a schedule has times in them, as clocks show them. */
interface Change {
  at: number;
  hours: number[];
}

function changesFor(schedule: string, timeZone: string, since: Date): Change[] {
  const [minute, hour, day, month, weekday] = schedule.split(' ');
  const pattern = wallPattern(schedule);
  const onAnyWeekday = wallPattern(`${minute} ${hour} ${day} ${month} *`);
  const changes: Change[] = [];
  const end = Date.now() + YEARS_AHEAD * 365 * DAY;
  let change = nextClockChange(timeZone, since.getTime() - DAY, end);
  for (; change; change = nextClockChange(timeZone, change.at, end)) {
    // Temporal takes a day without a midnight for the one before it, where a schedule names weekdays
    const lost = weekday === '*' ? null : dayWithoutMidnight(change);
    const [among, hoursAmong] = lost === null ? [pattern, hoursOf(change)] : [onAnyWeekday, lost];
    const hours = hoursAmong.filter(
      (each) => (among.nextRun(new Date(each - SECOND))?.getTime() ?? Number.POSITIVE_INFINITY) < each + HOUR,
    );
    if (hours.length > 0) changes.push({ at: change.at, hours });
  }
  return changes;
}

function hoursOf({ at, before, after }: ClockChange): number[] {
  const first = Math.floor((at + Math.min(before, after) - MARGIN) / HOUR);
  const end = Math.ceil((at + Math.max(before, after) + MARGIN) / HOUR);
  return Array.from({ length: end - first }, (_, index) => (first + index) * HOUR);
}

/** The hours of a day whose midnight the clock leaves out, and those around the change; null for another change. */
function dayWithoutMidnight(change: ClockChange): number[] | null {
  const { at, before, after } = change;
  const midnight = Math.ceil((at + before) / DAY) * DAY;
  if (midnight >= at + after) return null;
  const day = Array.from({ length: DAY / HOUR }, (_, hour) => midnight + hour * HOUR);
  return [...new Set([...hoursOf(change), ...day])].sort((one, other) => one - other);
}

/** Calendars are in local time, and these are not. */
function instantsOfChange(schedule: string, timeZone: string, { at, hours }: Change): { every: number }[] {
  const instants: { every: number }[] = [];
  for (const firing of firings(schedule, timeZone, new Date(at - DAY))) {
    const every = firing.getTime();
    if (every > at + DAY) break;
    if (every === at || hours.includes(Math.floor(wallOf(every, timeZone) / HOUR) * HOUR)) instants.push({ every });
  }
  return instants;
}

/** Fields that Temporal knows: no `L`, and no `#`. */
interface Calendar {
  minute: string;
  hour: string;
  day: string;
  month: string;
  weekday: string;
  /** null: every year */
  years: readonly number[] | null;
}

/** The sixth field of Temporal's cron is the year. */
const written = ({ minute, hour, day, month, weekday, years }: Calendar): string =>
  [minute, hour, day, month, weekday, ...(years ? [years.join()] : [])].join(' ');

const ALL_YEARS = Array.from({ length: LAST_YEAR - FIRST_YEAR + 1 }, (_, index) => FIRST_YEAR + index);
const isLeap = (year: number): boolean => new Date(Date.UTC(year, 1, 29)).getUTCMonth() === 1;

interface Length {
  last: number;
  months: number[];
  years: number[] | null;
}

/** Months by their last day. February has two. */
const LENGTHS: readonly Length[] = [
  { last: 31, months: [1, 3, 5, 7, 8, 10, 12], years: null },
  { last: 30, months: [4, 6, 9, 11], years: null },
  { last: 28, months: [2], years: ALL_YEARS.filter((year) => !isLeap(year)) },
  { last: 29, months: [2], years: ALL_YEARS.filter(isLeap) },
];
/** For days that are counted from the first of a month. A calendar never matches a date that does not exist. */
const ANY_LENGTH: readonly Length[] = [{ last: 31, months: LENGTHS.flatMap(({ months }) => months), years: null }];

/** The calendars of a schedule. Days by their place in the month become dates, for each length of a month. */
function calendarsOf(schedule: string): Calendar[] {
  const [minute, hour, day, month, weekday] = schedule.split(' ') as [string, string, string, string, string];
  const placed = placedDays(schedule);
  if (!placed) return [{ minute, hour, day, month, weekday, years: null }];
  const months = numbersOf(`* * * ${month} *`, 1, 12, (number) => Date.UTC(2024, number - 1));
  const fromTheEnd = placed.lastDate || placed.weekdays.some(({ nth }) => nth === 'last');
  return (fromTheEnd ? LENGTHS : ANY_LENGTH).flatMap(({ last, months: ofLength, years }) => {
    const inMonths = months.filter((number) => ofLength.includes(number));
    if (inMonths.length === 0) return [];
    const dates = placed.dates
      ? numbersOf(`* * ${placed.dates} * *`, 1, last, (number) => Date.UTC(2024, 0, number))
      : [];
    if (placed.lastDate && !dates.includes(last)) dates.push(last);
    const add = (days: readonly number[], on: string): Calendar[] =>
      days.length > 0 ? [{ minute, hour, day: days.join(), month: inMonths.join(), weekday: on, years }] : [];
    return [
      ...(placed.everyWeek ? add(dates, placed.everyWeek) : []),
      ...placed.weekdays.flatMap(({ day: on, nth }) => {
        const first = nth === 'last' ? last - 6 : 7 * nth - 6;
        return add(
          dates.filter((date) => date >= first && date < first + 7),
          String(on),
        );
      }),
    ];
  });
}

/** A calendar without these hours. */
function calendarsWithout(calendar: Calendar, hours: readonly number[]): string[] {
  const all = {
    month: numbersOf(`* * * ${calendar.month} *`, 1, 12, (number) => Date.UTC(2024, number - 1)),
    day: numbersOf(`* * ${calendar.day} * *`, 1, 31, (number) => Date.UTC(2024, 0, number)),
    hour: numbersOf(`* ${calendar.hour} * * *`, 0, 23, (number) => Date.UTC(2024, 0, 1, number)),
  };
  const calendars: string[] = [];
  const add = (at: { hour?: string; day?: string; month?: string; year: string }) =>
    calendars.push(`${written({ ...calendar, ...at, years: null })} ${at.year}`);
  const years = Map.groupBy(hours, (wall) => String(new Date(wall).getUTCFullYear()));
  const others = yearsWithout([...years.keys()].map(Number), calendar.years);
  if (others) add({ year: others });
  for (const [year, ofYear] of years) {
    if (calendar.years && !calendar.years.includes(Number(year))) continue;
    const months = Map.groupBy(ofYear, (wall) => new Date(wall).getUTCMonth() + 1);
    const otherMonths = listWithout(all.month, months);
    if (otherMonths) add({ month: otherMonths, year });
    for (const [number, ofMonth] of months) {
      if (!all.month.includes(number)) continue;
      const days = Map.groupBy(ofMonth, (wall) => new Date(wall).getUTCDate());
      const otherDays = listWithout(all.day, days);
      if (otherDays) add({ day: otherDays, month: String(number), year });
      for (const [date, ofDay] of days) {
        if (!all.day.includes(date)) continue;
        const otherHours = listWithout(all.hour, new Set(ofDay.map((wall) => new Date(wall).getUTCHours())));
        if (otherHours) add({ hour: otherHours, day: String(date), month: String(number), year });
      }
    }
  }
  return calendars;
}

/** The numbers that a pattern has in one of its fields. */
function numbersOf(pattern: string, first: number, last: number, timeOf: (number: number) => number): number[] {
  const cron = wallPattern(pattern);
  const numbers = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  return numbers.filter((number) => cron.match(new Date(timeOf(number))));
}

const listWithout = (numbers: readonly number[], out: { has(number: number): boolean }): string =>
  numbers.filter((number) => !out.has(number)).join();

/** `among`: null for all that Temporal knows */
function yearsWithout(out: readonly number[], among: readonly number[] | null): string {
  if (among) return listWithout(among, new Set(out));
  const [first, last] = [Math.min(...out), Math.max(...out)];
  const between = Array.from({ length: last - first }, (_, index) => first + index).filter(
    (year) => !out.includes(year),
  );
  return [`${FIRST_YEAR}-${first - 1}`, ...between, `${last + 1}-${LAST_YEAR}`].join();
}
