import { firings, intervalFrom, isOnce, momentOfOnce } from './firings.ts';
import { placedDays } from './placed-days.ts';
import { DAY, HOUR, MINUTE, repeatedTime, wallOf } from './time.ts';

/**
 * The grammar of schedules: five fields (minute hour day-of-month month weekday), which Temporal and croner must read
 * alike; `every 90 minutes` or milliseconds, from now on; a local time, once. Day of month and weekday must BOTH match
 * when both are given, unlike in crontab(5). `L`, `MON#2` and `5L` are days by their place in the month.
 */

type ParsedSchedule = { ok: true; schedule: string } | { ok: false; error: string };

const MACROS: Record<string, string> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};
const NAMES = /^(JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC|SUN|MON|TUE|WED|THU|FRI|SAT)$/;

/**
 * Checks a schedule and returns its canonical form. `from` is where the search for a firing starts, and where an
 * interval begins. A canonical form stays as it is.
 */
export function parseSchedule(text: string, timeZone: string, from: Date): ParsedSchedule {
  const trimmed = text.trim();
  const special = parseInterval(trimmed, from) ?? parseOnce(trimmed, timeZone, from);
  if (special) return special;
  const schedule = MACROS[trimmed.toLowerCase()] ?? trimmed.replace(/\s+/g, ' ').toUpperCase();
  const fields = schedule.split(' ');
  if (schedule.startsWith('@'))
    return refuse(`"${trimmed}" is not a known shorthand; use five fields or one of ${Object.keys(MACROS).join(', ')}`);
  if (fields.length === 6)
    return refuse(
      `a schedule has five fields (minute hour day-of-month month weekday) and no seconds; without its first field "${trimmed}" is "${fields.slice(1).join(' ')}"`,
    );
  if (fields.length !== 5)
    return refuse(
      `a schedule has five fields (minute hour day-of-month month weekday), "${trimmed}" has ${fields.length}`,
    );
  const empty = fields.find((field) => field.split(',').includes(''));
  if (empty !== undefined) return refuse(`"${empty}" has a comma with nothing beside it`);
  const placed = placedDays(schedule);
  const [minute = '', hour = '', date = '', month = '', weekday = ''] = fields;
  // W and ? are extensions of croner only
  for (const field of [minute, hour, placed?.dates ?? date, month, placed?.everyWeek ?? weekday]) {
    if (field === '' && placed) continue;
    if (!/^[0-9A-Z*,/-]+$/.test(field)) return refuse(`"${field}" has characters that a schedule cannot have`);
    const stranger = field.split(/[^A-Z]+/).find((word) => word && !NAMES.test(word));
    if (stranger) return refuse(`"${stranger}" in "${field}" is not a month or weekday name such as JAN or MON`);
  }
  if (!isTimeZone(timeZone)) return refuse(noZone(timeZone));
  try {
    if (next(schedule, timeZone, from)) return { ok: true, schedule };
  } catch (error) {
    return refuse((error as Error).message.replace(/^CronPattern: /, ''));
  }
  return refuse(`"${trimmed}" never fires: no date matches it`);
}

const noZone = (timeZone: string): string => `"${timeZone}" is not an IANA time zone such as Europe/Berlin`;

const UNITS: Record<string, number> = { m: MINUTE, h: HOUR, d: DAY };
/** Ten years, ms. */
const LONGEST_INTERVAL = 3_650 * DAY;

/** `every 90 minutes`, `every 2h`, or milliseconds; null for another text. */
function parseInterval(text: string, from: Date): ParsedSchedule | null {
  if (/^@every \d{1,9}s\/\d{1,9}s$/.test(text)) return { ok: true, schedule: text };
  const words = /^@?every (\d{1,6}) ?(m|h|d)[a-z]{0,6}$/i.exec(text);
  if (!words && !/^\d{1,15}$/.test(text)) return null;
  const ms = words ? Number(words[1]) * UNITS[words[2]!.toLowerCase()]! : Number(text);
  if (ms < MINUTE || ms > LONGEST_INTERVAL)
    return refuse(`"${text}" is not between a minute (60000 milliseconds) and ten years`);
  return { ok: true, schedule: intervalFrom(ms, from) };
}

/** Temporal fires nothing after 2100, by a clock of UTC, and says nothing of it. */
const LAST_YEAR = 2099;

/** `2026-11-30T09:00`, or with a space and seconds; null for another text. */
function parseOnce(text: string, timeZone: string, from: Date): ParsedSchedule | null {
  const time = /^(@at )?(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d)?(?:\.\d{1,9})?(Z|[+-]\d\d:?\d\d)?$/i.exec(text);
  if (!time) return null;
  const [, canonical, date, minutes, seconds = ':00', zone] = time;
  const wall = `${date}T${minutes}${seconds}`;
  if (zone) return refuse(`"${text}" has a time zone; give the local time alone, such as ${wall}`);
  // a date that does not exist would move to another day
  if (new Date(`${wall}Z`).toJSON()?.slice(0, wall.length) !== wall) return refuse(`"${text}" is not a date and time`);
  if (!isTimeZone(timeZone)) return refuse(noZone(timeZone));
  if (Number(date!.slice(0, 4)) > LAST_YEAR)
    return refuse(`"${text}" is too far away: the last year of a schedule is ${LAST_YEAR}`);
  const schedule = `@at ${wall}`;
  if (!canonical && momentOfOnce(schedule, timeZone).at <= from.getTime())
    return refuse(`"${text}" is over: it is ${describeTime(from, timeZone)} now`);
  return { ok: true, schedule };
}

/** The next `count` firings after `from`; fewer when there are no more. */
export function nextFirings(schedule: string, timeZone: string, from: Date, count: number): Date[] {
  return firings(schedule, timeZone, from).take(count).toArray();
}

const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];

/** `Sat 2026-11-21 09:00 (Europe/Berlin)`; a time that the clock shows twice says which one it is. */
export function describeTime(at: Date, timeZone: string): string {
  // in each prompt: a formatter of its own would take longer than a query
  const wall = new Date(wallOf(at.getTime(), timeZone));
  const [day, time = ''] = wall.toISOString().split('T');
  const repeated = repeatedTime(at.getTime(), timeZone);
  const which = repeated ? `, the ${repeated} of two, because clocks go back` : '';
  return `${WEEKDAYS[wall.getUTCDay()]} ${day} ${time.slice(0, 5)} (${timeZone}${which})`;
}

export function isTimeZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    // Intl accepts offsets such as +02:00 as time zones, Temporal does not
    return /^[A-Za-z]/.test(zone);
  } catch {
    return false;
  }
}

const next = (schedule: string, timeZone: string, from: Date): Date | null =>
  nextFirings(schedule, timeZone, from, 1)[0] ?? null;
const refuse = (error: string): ParsedSchedule => ({ ok: false, error });

/**
 * How many firings are looked through to count the missed ones. A cron that was off for longer has missed "more than"
 * these.
 */
const MOST_MISSED = 2_000;

interface Missed {
  count: number;
  first: Date;
  last: Date;
}

/** Firings between `from` and `firing`, both excluded: those that did not run, when `from` is the last one that did. */
export function missedBetween(schedule: string, timeZone: string, from: Date, firing: Date): Missed | null {
  let missed: Missed | null = null;
  for (const at of firings(schedule, timeZone, from)) {
    if (at >= firing || missed?.count === MOST_MISSED) break;
    missed ??= { count: 0, first: at, last: at };
    missed.count += 1;
    missed.last = at;
  }
  return missed;
}

/** Whether a later firing is due already. Then that one runs, and says which others it stands for. */
export const isOvertaken = (schedule: string, timeZone: string, firing: Date, now: Date): boolean => {
  const after = next(schedule, timeZone, firing);
  return after !== null && after <= now;
};

/** A firing that is later than this says when it was due. */
const LATE_MS = 5 * MINUTE;

/** What a run tells about missed firings and its own delay; null when there is nothing to tell. */
export function firingNote(
  cron: { schedule: string; timeZone: string },
  from: Date,
  firing: Date,
  now: Date,
): string | null {
  const told: string[] = [];
  if (now.getTime() - firing.getTime() > LATE_MS) told.push(`It was due on ${describeTime(firing, cron.timeZone)}.`);
  const missed = missedBetween(cron.schedule, cron.timeZone, from, firing);
  if (missed?.count === 1)
    told.push(`The firing of ${describeTime(missed.first, cron.timeZone)} was missed and is done with this one.`);
  else if (missed) {
    const count = missed.count >= MOST_MISSED ? `More than ${MOST_MISSED}` : missed.count;
    told.push(
      `${count} firings from ${describeTime(missed.first, cron.timeZone)} to ${describeTime(missed.last, cron.timeZone)} were missed and are done with this one.`,
    );
  }
  return told.length > 0 ? told.join(' ') : null;
}

/** More firings than the densest allowed schedule has in a day, so that the shortest gap is among them. */
const LOOKED_AT = 300;

/** The shortest time between two firings, ms, on a clock that does not change. */
export function shortestGap(schedule: string, from: Date): number {
  const times = nextFirings(schedule, 'UTC', from, LOOKED_AT).map((at) => at.getTime());
  return times.slice(1).reduce((least, at, index) => Math.min(least, at - times[index]!), Number.POSITIVE_INFINITY);
}

/** A readable part of an id, from the schedule alone: `daily-0900`, `mon-fri-0730`, `every-5-min`. */
export function scheduleSlug(schedule: string): string {
  if (schedule.startsWith('@')) return isOnce(schedule) ? 'once' : 'every';
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = schedule.toLowerCase().split(' ');
  const isNumber = (field: string) => /^\d+$/.test(field);
  const at = isNumber(minute) && isNumber(hour) ? `${hour.padStart(2, '0')}${minute.padStart(2, '0')}` : '';
  const every = /^\*\/(\d+)$/.exec(minute)?.[1];
  const often =
    at || hour !== '*'
      ? at
      : every
        ? `every-${every}-min`
        : minute === '*'
          ? 'every-min'
          : isNumber(minute)
            ? 'hourly'
            : '';
  const days =
    weekday !== '*' ? weekday.replace(/[^a-z0-9]+/g, '-') : day !== '*' || month !== '*' ? 'dates' : at ? 'daily' : '';
  return [days, often].filter(Boolean).join('-').slice(0, 24) || 'cron';
}
