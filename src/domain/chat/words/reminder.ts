import type { ParsedResult } from 'chrono-node/en';
import { DAY, momentOf, wallOf } from '../../time.ts';
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

/** The request in `remind me …`. The times are those of the person's clock. */

/**
 * The part of a whole message that follows `remind me`; null when it is about something else. `certain`: nothing else
 * can be meant.
 */
interface Remind {
  rest: string;
  certain: boolean;
}

/**
 * `leftOut`: the clock never shows the time that was said, because it goes forward then; `at` is the next that exists.
 */
type Reminder = { what: string; at: Date; leftOut?: true } | { problem: 'what' | 'when' | 'past' };

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
  const clock = new Date(wallOf(now.getTime(), timeZone));
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
  const moment = momentSaid(time, now, clock, timeZone);
  const at = new Date(moment.at);
  if (at <= now) return { problem: 'past' };
  return moment.at - now.getTime() < LONGEST_MS
    ? { what, at, ...(moment.shown === 0 && { leftOut: true }) }
    : { problem: 'when' };
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

function momentSaid(time: ParsedResult, now: Date, clock: Date, timeZone: string): ReturnType<typeof momentOf> {
  const { start, text } = time;
  const shown = start.date();
  const kinds = time.tags();
  // "in two hours" is two hours, also in the night in which clocks change
  if (kinds.has('result/relativeDateAndTime'))
    return { at: now.getTime() + shown.getTime() - clock.getTime(), shown: 1 };
  // "9am UTC" names its own zone
  if (start.isCertain('timezoneOffset')) return { at: shown.getTime(), shown: 1 };
  if (!start.isCertain('hour') && !kinds.has('result/relativeDate') && !PART_OF_DAY.test(text))
    shown.setUTCHours(MORNING, 0, 0, 0);
  return momentOf(shown.getTime(), timeZone);
}
