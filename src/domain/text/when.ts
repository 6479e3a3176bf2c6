/** A moment as a person reads it: `14:05`, or `Thu 26 Nov 14:05` on another day. Names the zone when the person's own zone is unknown. */
export function clockTime(at: Date, timeZone: string, now: Date = new Date()): string {
  const day = (date: Date) => date.toLocaleDateString('en-GB', { timeZone, weekday: 'short', day: 'numeric', month: 'short' }).replace(',', '');
  const time = at.toLocaleTimeString('en-GB', { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  const zone = timeZone === 'UTC' ? ' UTC' : '';
  // their names repeat in other years
  const date = (moment: Date) => moment.toLocaleDateString('en-GB', { timeZone });
  return date(at) === date(now) ? `${time}${zone}` : `${day(at)} ${time}${zone}`;
}

const HOUR_MS = 3_600_000;

/** A length of time in one unit: `90 s`, `45 min`, `4 h`, `2.5 h`. */
export function span(ms: number): string {
  if (ms < 120_000) return `${Math.round(ms / 1000)} s`;
  return ms < 2 * HOUR_MS ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / (HOUR_MS / 10)) / 10} h`;
}

/** An age in the unit that people use: minutes, hours, or days from two days on. */
export function ago(ms: number): string {
  if (ms >= 48 * HOUR_MS) return `${Math.floor(ms / (24 * HOUR_MS))} days ago`;
  return ms >= HOUR_MS ? `${Math.floor(ms / HOUR_MS)} h ago` : `${Math.max(0, Math.floor(ms / 60_000))} min ago`;
}
