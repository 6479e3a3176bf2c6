import type { ParsedResult } from 'chrono-node/en';
import { DAY } from '../../time.ts';
import { isTooLong } from './commands.ts';

/**
 * Whether 12/11 is the twelfth of November. A person's language says so, and where that leaves it open, their time zone
 * does.
 */

/** Where people write the month first. */
const MONTH_FIRST = ['US', 'CA', 'PH'];
let zones: ReadonlySet<string> | undefined;

function isDayFirst(language: string | undefined, timeZone: string): boolean {
  const tag = language === undefined ? undefined : new Intl.Locale(language);
  // English without a country is written in both orders
  if (tag && (tag.language !== 'en' || tag.region !== undefined)) {
    const order = new Intl.DateTimeFormat(tag, { day: 'numeric', month: 'numeric' })
      .formatToParts()
      .map(({ type }) => type);
    return order.indexOf('day') < order.indexOf('month');
  }
  // a place: `UTC` and `Etc/GMT+5` are none
  if (!timeZone.includes('/') || timeZone.startsWith('Etc/')) return false;
  zones ??= new Set(MONTH_FIRST.flatMap((region) => new Intl.Locale(`und-${region}`).getTimeZones?.() ?? []));
  // `US/Eastern` is another name of `America/New_York`
  return !zones.has(new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone);
}

/** What `remind me …` asks for. The times are those of the person's clock. */

/**
 * The part of a whole message that follows `remind me`; null when it is about something else. `certain`: nothing else
 * can be meant.
 */
interface Remind {
  rest: string;
  certain: boolean;
}

export type Reminder = { what: string; at: Date } | { problem: 'what' | 'when' | 'past' };

/** How a person reads clocks and dates. */
interface Clock {
  timeZone: string;
  language?: string | undefined;
}

/** `12.11.`, which the library does not know without a year. The second point tells it from the time `9.30`. */
const DOTTED = /\b(\d{1,2})\.(\d{1,2})\.(?= |$)/g;

/** Words that say how often: a schedule, which the model makes. */
const OFTEN = /\b(?:every|each|daily|weekly|monthly|hourly)\b/i;

/** Ten years. A later time is a mistake, or not even a date. */
const LONGEST_MS = 10 * 365 * DAY;

export function parseRemind(text: string): Remind | null {
  if (isTooLong(text)) return null;
  const [, slash, rest = ''] =
    /^(\/?)(?:please )?remind(?: me\b)?(?![\w-])(.*)$/i.exec(text.trim().replace(/\s+/g, ' ')) ?? [];
  if (slash === undefined || OFTEN.test(rest)) return null;
  const bare = rest
    .replace(/[.!?]$/, '')
    .replace(/,? please$/i, '')
    .trim();
  return { rest: bare, certain: slash === '/' || bare === '' || /^to\b/i.test(bare) };
}

/** What is to be said and when; null when the words are about something else, such as "remind me how this works". */
export async function readRemind(
  { rest: said, certain }: Remind,
  now: Date,
  { timeZone, language }: Clock,
): Promise<Reminder | null> {
  // loaded when somebody wants to be reminded: it takes 30 ms and more than a megabyte
  const english = await import('chrono-node/en');
  const dayFirst = isDayFirst(language, timeZone);
  const rest = dayFirst ? said.replace(DOTTED, '$1/$2') : said;
  // the library counts in the local time of the process, so it is given the person's clock as if it were UTC
  const clock = wallOf(now, timeZone);
  const times = (dayFirst ? english.GB : english).parse(rest, { instant: clock, timezone: 0 }, { forwardDate: true });
  const time =
    times.find((each) => (certain || SAYING.test(rest)) && isLast(each, rest)) ??
    times.find((each) => isFirst(each, rest));
  if (!time) return certain && times.length === 0 ? { problem: 'when' } : null;
  const what = `${withoutJoint(rest.slice(0, time.index), time.text)} ${rest.slice(time.index + time.text.length)}`
    .trim()
    .replace(/^[:,] ?/, '')
    .replace(/^(?:to|about|of|that)(?: |$)/i, '');
  if (what === '') return { problem: 'what' };
  const at = instantOf(time, now, clock, timeZone);
  if (at <= now) return { problem: 'past' };
  return at.getTime() - now.getTime() < LONGEST_MS ? { what, at } : { problem: 'when' };
}

/** What is to be said has a word before it, where the time stands behind it: "what we did on Friday" is a question. */
const SAYING = /^(?:about|of|that)\b/i;
const isLast = ({ index, text }: ParsedResult, rest: string): boolean => index + text.length === rest.length;

const JOINT = /(?:^| )(?:on|at|in|by) $/i;
const isFirst = ({ index }: ParsedResult, rest: string): boolean =>
  index === 0 || (index <= 3 && JOINT.test(rest.slice(0, index)));

/** "on" before a date belongs to the date, unless the date has a word of its own: "turn the heating on at 9". */
const withoutJoint = (before: string, time: string): string =>
  /^(?:on|at|in|by)\b/i.test(time) ? before : before.replace(JOINT, '');

/** A day without a time means this hour of it. */
const MORNING = 9;
const PART_OF_DAY = /night|evening|afternoon|morning/i;

function instantOf(time: ParsedResult, now: Date, clock: Date, timeZone: string): Date {
  const { start, text } = time;
  const shown = start.date();
  const kinds = time.tags();
  // "in two hours" is two hours, also in the night in which clocks change
  if (kinds.has('result/relativeDateAndTime')) return new Date(now.getTime() + shown.getTime() - clock.getTime());
  // "9am UTC" names its own zone
  if (start.isCertain('timezoneOffset')) return shown;
  if (!start.isCertain('hour') && !kinds.has('result/relativeDate') && !PART_OF_DAY.test(text))
    shown.setUTCHours(MORNING, 0, 0, 0);
  return fromWall(shown, timeZone);
}

/** What a clock in this zone shows, as if it were UTC. */
function wallOf(at: Date, timeZone: string): Date {
  const parts = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  }).formatToParts(at);
  const [year, month, day, hour, minute, second] = (['year', 'month', 'day', 'hour', 'minute', 'second'] as const).map(
    (type) => Number(parts.find((part) => part.type === type)?.value),
  );
  return new Date(Date.UTC(year!, month! - 1, day, hour, minute, second, at.getUTCMilliseconds()));
}

/**
 * The moment at which a clock in this zone shows this. A time that the change of clocks leaves out is the same time
 * after it.
 */
function fromWall(wall: Date, timeZone: string): Date {
  const ahead = (at: number): number => wallOf(new Date(at), timeZone).getTime() - at;
  const first = wall.getTime() - ahead(wall.getTime());
  const second = wall.getTime() - ahead(first);
  return new Date(ahead(second) === ahead(first) ? second : Math.max(first, second));
}
