/** Units of time in milliseconds, as `Date` and timers count. */
export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/**
 * A moment as a person reads it: `14:05`, or `Thu 26 Nov 14:05` on another day. Names the zone when the person's own
 * zone is unknown.
 */
export function clockTime(at: Date, timeZone: string, now: Date = new Date()): string {
  const day = (date: Date) =>
    date.toLocaleDateString('en-GB', { timeZone, weekday: 'short', day: 'numeric', month: 'short' }).replace(',', '');
  const time = at.toLocaleTimeString('en-GB', { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  const zone = timeZone === 'UTC' ? ' UTC' : '';
  // their names repeat in other years
  const date = (moment: Date) => moment.toLocaleDateString('en-GB', { timeZone });
  return date(at) === date(now) ? `${time}${zone}` : `${day(at)} ${time}${zone}`;
}

/** A length of time in one unit: `90 s`, `45 min`, `4 h`, `2.5 h`. */
export function span(ms: number): string {
  if (ms < 120_000) return `${Math.round(ms / 1000)} s`;
  return ms < 2 * HOUR ? `${Math.round(ms / MINUTE)} min` : `${Math.round(ms / (HOUR / 10)) / 10} h`;
}

/** An age in the unit that people use: minutes, hours, or days from two days on. */
export function ago(ms: number): string {
  if (ms >= 2 * DAY) return `${Math.floor(ms / DAY)} days ago`;
  return ms >= HOUR ? `${Math.floor(ms / HOUR)} h ago` : `${Math.max(0, Math.floor(ms / MINUTE))} min ago`;
}

/** Clocks of time zones. `wall`: what a clock shows, in ms, as if it were UTC. Instants are ms since the epoch. */

/** A change of the clock: summer time, mostly. `before` and `after`: ms ahead of UTC. */
export interface ClockChange {
  at: number;
  before: number;
  after: number;
}

const WEEK = 7 * DAY;
/** One costs 50 µs to make. There are six hundred zones. */
const formats = new Map<string, Intl.DateTimeFormat>();

export function wallOf(at: number, timeZone: string): number {
  let format = formats.get(timeZone);
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    formats.set(timeZone, format);
  }
  const [month, day, year, hour, minute, second] = format.format(at).split(/\D+/).map(Number);
  return Date.UTC(year!, month! - 1, day, hour, minute, second) + (((at % SECOND) + SECOND) % SECOND);
}

export const offsetAt = (at: number, timeZone: string): number => wallOf(at, timeZone) - at;

/** The first change after `from`, until `to`. Two changes in one week that cancel each other are not seen. */
export function nextClockChange(timeZone: string, from: number, to: number): ClockChange | null {
  let start = from;
  const before = offsetAt(from, timeZone);
  while (start < to) {
    let end = Math.min(start + WEEK, to);
    if (offsetAt(end, timeZone) !== before) {
      while (end - start > 1) {
        const middle = Math.floor((start + end) / 2);
        if (offsetAt(middle, timeZone) === before) start = middle;
        else end = middle;
      }
      return { at: end, before, after: offsetAt(end, timeZone) };
    }
    start = end;
  }
  return null;
}

/**
 * The moment at which a clock shows this: the first of two, and the next that exists if it is left out. `shown`: how
 * often the clock shows it.
 */
export function momentOf(wall: number, timeZone: string): { at: number; shown: 0 | 1 | 2 } {
  const change = nextClockChange(timeZone, wall - DAY, wall + DAY);
  if (!change) return { at: wall - offsetAt(wall - DAY, timeZone), shown: 1 };
  const [early, late] = [wall - change.before, wall - change.after];
  if (early < change.at) return { at: early, shown: late >= change.at ? 2 : 1 };
  return late >= change.at ? { at: late, shown: 1 } : { at: change.at, shown: 0 };
}

/** Whether a clock shows the time of this moment twice, and which of the two it is. */
export function repeatedTime(at: number, timeZone: string): 'first' | 'second' | null {
  const { at: first, shown } = momentOf(wallOf(at, timeZone), timeZone);
  if (shown < 2) return null;
  return at < first + MINUTE ? 'first' : 'second';
}
