import { Cron } from 'croner';

/**
 * The grammar of schedules: five fields (minute hour day-of-month month weekday) as both the engine that fires them and
 * the library that explains them read it. Day of month and weekday must BOTH match when both are given, unlike in crontab(5).
 */

export type ParsedSchedule = { ok: true; schedule: string } | { ok: false; error: string };

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

/** Checks a schedule and gives its canonical five fields. `from` is where the search for a firing starts. */
export function parseSchedule(text: string, timeZone: string, from: Date): ParsedSchedule {
  const trimmed = text.trim();
  const schedule = MACROS[trimmed.toLowerCase()] ?? trimmed.replace(/\s+/g, ' ').toUpperCase();
  const fields = schedule.split(' ');
  if (schedule.startsWith('@')) return refuse(`"${trimmed}" is not a known shorthand; use five fields or one of ${Object.keys(MACROS).join(', ')}`);
  if (fields.length !== 5) return refuse(`a schedule has five fields (minute hour day-of-month month weekday), "${trimmed}" has ${fields.length}`);
  // L, W, # and ? are extensions of the explaining library only: the engine would refuse them after we had said yes
  for (const field of fields) {
    if (!/^[0-9A-Z*,/-]+$/.test(field)) return refuse(`"${field}" has characters that a schedule cannot have`);
    const stranger = field.split(/[^A-Z]+/).find((word) => word && !NAMES.test(word));
    if (stranger) return refuse(`"${stranger}" in "${field}" is not a month or weekday name such as JAN or MON`);
  }
  if (!isTimeZone(timeZone)) return refuse(`"${timeZone}" is not an IANA time zone such as Europe/Berlin`);
  try {
    if (!next(schedule, timeZone, from)) return refuse(`"${trimmed}" never fires: no date matches it`);
  } catch (error) {
    return refuse((error as Error).message.replace(/^CronPattern: /, ''));
  }
  return { ok: true, schedule };
}

/** The next `count` firings after `from`; fewer when there are no more. */
export function nextFirings(schedule: string, timeZone: string, from: Date, count: number): Date[] {
  return cron(schedule, timeZone).nextRuns(count, from);
}

/** `Sat 2026-11-21 09:00 (Europe/Berlin)` */
export function describeTime(at: Date, timeZone: string): string {
  const parts = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    weekday: 'short',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).formatToParts(at);
  const part = (type: string) => parts.find((entry) => entry.type === type)?.value ?? '';
  return `${part('weekday')} ${part('year')}-${part('month')}-${part('day')} ${part('hour')}:${part('minute')} (${timeZone})`;
}

export function isTimeZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    // offsets such as +02:00 are time zones to Intl, but not to the engine
    return /^[A-Za-z]/.test(zone);
  } catch {
    return false;
  }
}

const cron = (schedule: string, timeZone: string): Cron => new Cron(schedule, { mode: '5-part', timezone: timeZone, domAndDow: true, paused: true });
const next = (schedule: string, timeZone: string, from: Date): Date | null => cron(schedule, timeZone).nextRun(from);
const refuse = (error: string): ParsedSchedule => ({ ok: false, error });
