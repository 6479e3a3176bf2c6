import { Cron } from 'croner';
import { placedDays } from './placed-days.ts';
import { type ClockChange, DAY, HOUR, MINUTE, momentOf, nextClockChange, offsetAt, SECOND } from './time.ts';

/**
 * Schedules that fire every so often: `@every 2h/37m` fires 37 minutes after each second hour since 1970 in UTC,
 * `@every 2h/37m MON,WED` only on these days of its time zone, and `@every 90s/30s` counts in seconds. Temporal has the
 * same intervals. They are elapsed time, so a change of the clock neither doubles nor drops a firing.
 */

interface Interval {
  every: number;
  /** ms after the beginning of an interval */
  phase: number;
  /** days of the week on which it fires, Sunday is 0; empty: every day */
  days: number[];
}

export const WEEKDAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];
/** An interval of many weeks may miss its days for long. Then it counts as one that does not fire again. */
const MOST_LOOKED_AT = 2_000;

export const isInterval = (schedule: string): boolean => schedule.startsWith('@every ');

/** Of so many hours. `offset`: minutes after the beginning of an interval. */
export const intervalText = ({ hours, offset, days }: { hours: number; offset: number; days: number[] }): string =>
  [`@every ${hours}h/${offset}m`, days.map((day) => WEEKDAYS[day]).join(',')].filter(Boolean).join(' ');

/** The interval that begins at a moment. Temporal counts in seconds. */
export function intervalFrom(everyMs: number, at: Date): string {
  const every = Math.round(everyMs / SECOND);
  return `@every ${every}s/${Math.floor(at.getTime() / SECOND) % every}s`;
}

/** @throws for a text that neither of both wrote */
export function readInterval(schedule: string): Interval {
  const parts = /^@every (\d{1,9})([hs])\/(\d{1,9})([ms])(?: ([A-Z,]+))?$/.exec(schedule);
  if (!parts) throw new Error(`not an interval: ${schedule}`);
  return {
    every: Number(parts[1]) * (parts[2] === 'h' ? HOUR : SECOND),
    phase: Number(parts[3]) * (parts[4] === 'm' ? MINUTE : SECOND),
    days: parts[5] ? parts[5].split(',').map((day) => WEEKDAYS.indexOf(day)) : [],
  };
}

/** `@at 2026-11-30T09:00:00`: once, at this local time. */
export const isOnce = (schedule: string): boolean => schedule.startsWith('@at ');

/** The moment of a schedule that fires once, and how often the clock shows its time. */
export const momentOfOnce = (schedule: string, timeZone: string) =>
  momentOf(Date.parse(`${schedule.slice('@at '.length)}Z`), timeZone);

function* intervalFirings(schedule: string, timeZone: string, from: Date): Generator<Date, void> {
  const { every, phase, days } = readInterval(schedule);
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
  if (isOnce(schedule)) {
    const { at } = momentOfOnce(schedule, timeZone);
    if (at > from.getTime()) yield new Date(at);
    return;
  }
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

const croner = (pattern: string): Cron =>
  new Cron(pattern, { mode: '5-part', utcOffset: 0, domAndDow: true, paused: true });

interface WallPattern {
  nextRun(from: Date): Date | null;
  match(at: Date): boolean;
}

/** The pattern as a clock shows it that never changes. @throws for a pattern that is none */
export function wallPattern(schedule: string): WallPattern {
  const all = singlePlaces(schedule).map(croner);
  const live = new Set(all);
  return {
    nextRun: (from) => {
      let first: Date | null = null;
      for (const pattern of live) {
        const next = nextOf(pattern, from);
        if (!next) live.delete(pattern);
        else if (!first || next < first) first = next;
      }
      return first;
    },
    match: (at) => all.some((pattern) => pattern.match(at)),
  };
}

/** croner looks for a date that cannot be, such as a 13th that is a last Friday, until its stack is full. */
function nextOf(pattern: Cron, from: Date): Date | null {
  try {
    return pattern.nextRun(from);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** croner 10 leaves out the first of March 2027 in `TUE,MON#1`, so each weekday is looked for by itself. */
function singlePlaces(schedule: string): string[] {
  if (!placedDays(schedule)?.weekdays.length) return [schedule];
  const [minute, hour, date, month, weekdays = ''] = schedule.split(' ');
  return weekdays.split(',').map((weekday) => [minute, hour, date, month, weekday].join(' '));
}

const HOURS = 24;
/** ms. Changes are looked for this far ahead, so that frequent firings share a search. */
const SEARCH = 30 * DAY;

function kindOf(schedule: string): { everyHour: boolean; throughBoth: boolean } {
  const [minutes = '', hours = ''] = schedule.split(' ');
  const oneDay = croner(`0 ${hours} * * *`).nextRuns(HOURS, new Date(-SECOND));
  const everyHour = oneDay.at(-1)!.getTime() < DAY;
  return { everyHour, throughBoth: everyHour || /[*/]/.test(`${minutes}${hours}`) };
}
