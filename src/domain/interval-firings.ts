import { HOUR, MINUTE } from './time.ts';

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

export function* intervalFirings(schedule: string, timeZone: string, from: Date): Generator<Date, void> {
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
