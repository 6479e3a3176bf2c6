/** A moment as a person reads it: `14:05`, or `Thu 26 Nov 14:05` on another day. Names the zone when the person's own zone is unknown. */
export function clockTime(at: Date, timeZone: string, now: Date = new Date()): string {
  const day = (date: Date) => date.toLocaleDateString('en-GB', { timeZone, weekday: 'short', day: 'numeric', month: 'short' }).replace(',', '');
  const time = at.toLocaleTimeString('en-GB', { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  const zone = timeZone === 'UTC' ? ' UTC' : '';
  return day(at) === day(now) ? `${time}${zone}` : `${day(at)} ${time}${zone}`;
}

const HOUR_MS = 3_600_000;

/** An age in the unit that people use: minutes, hours, or days from two days on. */
export function ago(ms: number): string {
  if (ms >= 48 * HOUR_MS) return `${Math.floor(ms / (24 * HOUR_MS))} days ago`;
  return ms >= HOUR_MS ? `${Math.floor(ms / HOUR_MS)} h ago` : `${Math.max(0, Math.floor(ms / 60_000))} min ago`;
}
