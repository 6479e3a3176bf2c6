import { Cron } from 'croner';
import { type ClockChange, DAY, HOUR, MINUTE, nextClockChange, offsetAt, SECOND } from './time.ts';

/**
 * Schedules that fire every so many hours: `@every 2h/37m` fires 37 minutes after each second hour since 1970 in UTC,
 * `@every 2h/37m MON,WED` only on these days of its time zone. Temporal has the same intervals. The hours are elapsed
 * ones, so a change of the clock neither doubles nor drops a firing.
 */

interface Interval {
  hours: number;
  /** minutes after the beginning of an interval */
  offset: number;
  /** days of the week on which it fires, Sunday is 0; empty: every day */
  days: number[];
}

export const WEEKDAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];
/** An interval of many weeks may miss its days for long. Then it counts as one that does not fire again. */
const MOST_LOOKED_AT = 2_000;

export const isInterval = (schedule: string): boolean => schedule.startsWith('@every ');

export const intervalText = ({ hours, offset, days }: Interval): string =>
  [`@every ${hours}h/${offset}m`, days.map((day) => WEEKDAYS[day]).join(',')].filter(Boolean).join(' ');

/** @throws for a text that `intervalText` did not write */
export function readInterval(schedule: string): Interval {
  const parts = /^@every (\d{1,6})h\/(\d{1,8})m(?: ([A-Z,]+))?$/.exec(schedule);
  if (!parts) throw new Error(`not an interval: ${schedule}`);
  return {
    hours: Number(parts[1]),
    offset: Number(parts[2]),
    days: parts[3] ? parts[3].split(',').map((day) => WEEKDAYS.indexOf(day)) : [],
  };
}

function* intervalFirings(schedule: string, timeZone: string, from: Date): Generator<Date, void> {
  const { hours, offset, days } = readInterval(schedule);
  const [every, phase] = [hours * HOUR, offset * MINUTE];
  const weekday = new Intl.DateTimeFormat('en-US', { timeZone, weekday: 'short' });
  let count = Math.floor((from.getTime() - phase) / every) + 1;
  for (let lookedAt = 0; lookedAt < MOST_LOOKED_AT; lookedAt += 1, count += 1) {
    const at = new Date(count * every + phase);
    if (days.length > 0 && !days.includes(WEEKDAYS.indexOf(weekday.format(at).toUpperCase()))) continue;
    yield at;
    lookedAt = 0;
  }
}

/**
 * When a schedule fires. A preview, a list and the Temporal Schedule all have it from here. Where clocks change:
 * - A time that the clock leaves out is done at the next that exists. A pattern for every hour has no such times: it
 *   goes on with the hours that there are.
 * - In a repeated hour, a fixed time is done at the first of two. A pattern with `*` or `/` in its minutes or hours runs
 *   through both.
 */
export function* firings(schedule: string, timeZone: string, from: Date): Generator<Date, void> {
  if (isInterval(schedule)) return yield* intervalFirings(schedule, timeZone, from);
  const pattern = wallPattern(schedule);
  const { everyHour, throughBoth } = kindOf(schedule);
  let at = from.getTime();
  let offset = offsetAt(at, timeZone);
  let change: ClockChange | null = null;
  /** no change comes from here on until the known one, or until here */
  let searched = at;
  const last = nextClockChange(timeZone, at - DAY, at);
  /** what the clock showed just before its last change: earlier times are repetitions */
  let shown = last ? last.at + last.before : Number.NEGATIVE_INFINITY;
  for (;;) {
    const wall = pattern.nextRun(new Date(at + offset))?.getTime();
    if (wall === undefined) return;
    if (!change && wall - offset > searched) {
      change = nextClockChange(timeZone, searched, wall - offset + SEARCH);
      searched = wall - offset + SEARCH;
    }
    if (!change || wall - offset < change.at) {
      at = wall - offset;
      if (throughBoth || wall >= shown) yield new Date(at);
      continue;
    }
    // the last time that the clock showed before: a match of the first one after it counts
    const { before, after }: ClockChange = change;
    at = change.at - SECOND;
    offset = after;
    shown = change.at + before;
    const leftOut = everyHour ? undefined : pattern.nextRun(new Date(shown - SECOND))?.getTime();
    if (leftOut !== undefined && leftOut < change.at + after) {
      at = change.at;
      yield new Date(at);
    }
    searched = change.at;
    change = null;
  }
}

/** The pattern as a clock shows it that never changes. @throws for a pattern that is none */
export const wallPattern = (schedule: string): Cron =>
  new Cron(schedule, { mode: '5-part', utcOffset: 0, domAndDow: true, paused: true });

const HOURS = 24;
/** ms. Changes are looked for this far ahead, so that frequent firings share a search. */
const SEARCH = 30 * DAY;

function kindOf(schedule: string): { everyHour: boolean; throughBoth: boolean } {
  const [minutes = '', hours = ''] = schedule.split(' ');
  const oneDay = wallPattern(`0 ${hours} * * *`).nextRuns(HOURS, new Date(-SECOND));
  const everyHour = oneDay.at(-1)!.getTime() < DAY;
  return { everyHour, throughBoth: everyHour || /[*/]/.test(`${minutes}${hours}`) };
}
