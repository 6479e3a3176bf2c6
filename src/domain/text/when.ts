/** A moment as a person reads it: `14:05`, on another day `Thu 26 Nov 14:05`. Without a zone of theirs it says which one it is. */
export function clockTime(at: Date, timeZone: string, now: Date = new Date()): string {
  const day = (date: Date) => date.toLocaleDateString('en-GB', { timeZone, weekday: 'short', day: 'numeric', month: 'short' }).replace(',', '');
  const time = at.toLocaleTimeString('en-GB', { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  const zone = timeZone === 'UTC' ? ' UTC' : '';
  return day(at) === day(now) ? `${time}${zone}` : `${day(at)} ${time}${zone}`;
}
