import { isTimeZone, nextFirings } from '../cron.ts';
import { DAY, HOUR, MINUTE } from '../time.ts';

/**
 * When a limit opens again, as sentences for people say it: a duration, a clock, a day, a date. The forms are those of
 * model providers and coding agents.
 */

/** The longest window of providers is a month, so anything beyond is a mistake. */
export const LONGEST_WAIT_MS = 32 * DAY;

/** A clock that is this little behind means now: the sentence took its time to get here. */
const JUST_PAST_MS = 2 * MINUTE;
const NOW_MS = 5_000;

/** Sentences are short. What comes later in a long text is not about the limit. */
const READ = 2_000;
const MOST_LEADS = 8;

/**
 * Milliseconds until the first plausible time that follows "try again", "resets" and the like. `zone` is for clocks
 * that name none.
 */
export function waitInWords(text: string, now: number, zone = 'UTC'): number | undefined {
  const read = text.slice(0, READ);
  // Claude Code, older versions: `Claude AI usage limit reached|1755772800`
  const stamp = /\blimit reached\|(\d{10})(?!\d)/i.exec(read)?.[1];
  if (stamp !== undefined) return plausible(ahead(Number(stamp) * 1_000, now));
  for (const lead of read.matchAll(/\b(?:try again|retry|resets?|available)/gi).take(MOST_LEADS)) {
    const said = read.slice(lead.index + lead[0].length, lead.index + lead[0].length + 120);
    const wait = plausible(durationIn(said) ?? instantIn(said, now) ?? clockIn(said, now, zone));
    if (wait !== undefined) return wait;
  }
  // "wait 20 seconds before the next request"
  const length = /\bwait (?:for )?(?:at least )?(\d[\w., ]{0,40})/i.exec(read)?.[1];
  return length === undefined ? undefined : plausible(duration(length));
}

/** Milliseconds until the next time that a clock in `zone` shows this. */
export const untilClock = (clock: string, now: number, zone: string): number | undefined =>
  plausible(clockIn(` at ${clock}`, now, zone, now + 1));

const plausible = (ms: number | undefined): number | undefined =>
  ms !== undefined && ms > 0 && ms <= LONGEST_WAIT_MS ? ms : undefined;

/** A time that is over by more than a little names no wait. */
function ahead(at: number, now: number): number | undefined {
  if (at > now) return at - now;
  return at >= now - JUST_PAST_MS ? NOW_MS : undefined;
}

/** "Please try again in 11.054s", "retry in 2h 15m", "reset after 22h7m37s", "in 5 days 22 hours 11 minutes". */
function durationIn(said: string): number | undefined {
  const text = /^[^.\d]{0,20}\b(?:in|after) {0,2}(?:about )?(\d[\w., ]{0,80})/i.exec(said)?.[1];
  return text === undefined ? undefined : duration(text);
}

/** "try again at 2026-11-26T23:53:59Z" */
function instantIn(said: string, now: number): number | undefined {
  const text = /^[^.\d]{0,20}(\d{4}-\d\d-\d\dT[\d:.]{5,15}(?:Z|[+-]\d\d:?\d\d))/.exec(said)?.[1];
  const at = Date.parse(text ?? '');
  return Number.isFinite(at) ? ahead(at, now) : undefined;
}

const WEEKDAY = /^(sun|mon|tue|wed|thu|fri|sat)(?:day|s|sday|nesday|r|rs|rsday|urday)?(?![a-z]),? ?/i;
const DATE =
  /^(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.? (\d{1,2})(?:st|nd|rd|th)?(?![\d:])(?:,? (\d{4})(?!\d))?,? ?/i;
/** `3pm`, `9:45am`, `3:05 PM`; on a clock of 24 hours `15:05` */
const CLOCK = /^(?:at )?(\d{1,2})(?:(?::(\d\d))?(?::\d\d)? ?([ap])\.?m\b|:(\d\d)(?!\d))/i;
const ZONE = /^\.? ?(?:\(([A-Za-z][\w+/-]{1,60})\)|(UTC|GMT)\b)/;

/** "resets 3pm", "resets Mon 12:00am", "reset at 9:45am (Europe/Berlin)", "try again at Apr 28th, 2026 10:03 PM". */
function clockIn(said: string, now: number, zone: string, from = now - JUST_PAST_MS): number | undefined {
  let rest = said.replace(/^:? {1,2}(?:at |on )?/i, '');
  const take = (pattern: RegExp) => {
    const found = pattern.exec(rest);
    rest = rest.slice(found?.[0].length ?? 0);
    return found;
  };
  const weekday = take(WEEKDAY)?.[1];
  const [, month, day, year] = take(DATE) ?? [];
  const clock = take(CLOCK);
  if (!weekday && !month && !clock) return undefined;
  const time = clock ? timeOf(clock) : { hour: 0, minute: 0 };
  if (!time || (month && !isDate(month, Number(day)))) return undefined;
  const [, inBrackets = '', bare = ''] = ZONE.exec(rest) ?? [];
  const where = [inBrackets || bare, zone].find(isTimeZone) ?? 'UTC';
  // a date says more than the name of its day
  const schedule = `${time.minute} ${time.hour} ${day ?? '*'} ${month?.toUpperCase() ?? '*'} ${month ? '*' : (weekday?.toUpperCase() ?? '*')}`;
  const at = nextOf(schedule, where, from, year === undefined ? undefined : Number(year));
  return at === undefined ? undefined : ahead(at, now);
}

function timeOf([, hours = '', minutes = '00', half, of24]: string[]): { hour: number; minute: number } | null {
  const said = Number(hours);
  const minute = Number(of24 ?? minutes);
  if (minute > 59 || said > (half ? 12 : 23) || (half && said === 0)) return null;
  return { hour: half ? (said % 12) + (half.toLowerCase() === 'p' ? 12 : 0) : said, minute };
}

/** Whether some year has this date. */
const isDate = (month: string, day: number): boolean => new Date(`${month} ${day} 2024 UTC`).getUTCDate() === day;

/** The next time, from `from` on, that fits the schedule. */
function nextOf(schedule: string, zone: string, from: number, year: number | undefined): number | undefined {
  // begins early: the hour that a clock shows twice in autumn is listed by its first time only
  const begin = year === undefined ? from - 26 * HOUR : Date.UTC(year, 0, 1) - 26 * HOUR;
  const listed = nextFirings(schedule, zone, new Date(begin), 4).map((at) => at.getTime());
  const shown = (at: number, format: Intl.DateTimeFormatOptions) =>
    new Date(at).toLocaleString('en-GB', { timeZone: zone, ...format });
  const clock = (at: number) => shown(at, { hour: '2-digit', minute: '2-digit' });
  const all = listed.flatMap((at) => (clock(at) === clock(at + HOUR) ? [at, at + HOUR] : [at]));
  return all.find((at) => at >= from && (year === undefined || shown(at, { year: 'numeric' }) === String(year)));
}

const UNITS: Record<string, number> = { ms: 1, s: 1_000, m: MINUTE, h: HOUR, d: DAY };

/**
 * `1m30.5s`, `6m0s`, `12ms`, `2 hours 5 minutes`: the sum of these, up to the first thing that is no duration. A bare
 * number is seconds.
 */
export function duration(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[\d.]+$/.test(text)) return seconds(text);
  let sum: number | undefined;
  const piece =
    /[\s,]{0,3}(?:and )?(\d{1,9}(?:\.\d{1,9})?) {0,2}(ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)(?![a-z])/iy;
  for (let found = piece.exec(text); found; found = piece.exec(text)) {
    const unit = found[2]!.toLowerCase();
    sum = (sum ?? 0) + Number(found[1]) * UNITS[unit === 'ms' || unit.startsWith('milli') ? 'ms' : unit[0]!]!;
  }
  return sum;
}

/** Seconds as milliseconds; undefined for anything but a number. */
export function seconds(text: string | undefined): number | undefined {
  const value = text !== undefined && /^[\d.]+$/.test(text) ? Number(text) : Number.NaN;
  return Number.isFinite(value) ? value * 1_000 : undefined;
}
