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
