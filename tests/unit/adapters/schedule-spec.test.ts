import fc from 'fast-check';
import { expect, it } from 'vitest';
import { specOf } from '../../../src/adapters/schedule-spec.ts';
import { parseSchedule } from '../../../src/domain/cron.ts';
import { firings } from '../../../src/domain/firings.ts';
import { momentOf } from '../../../src/domain/time.ts';
import { holds, PROPERTY_MS } from '../../support/property.ts';

const DAY = 86_400_000;
const YEAR = 365.25 * DAY;
const from = new Date();

const NAMES = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', '', 'JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL'];
const numberOf = (text: string): number => {
  const at = NAMES.indexOf(text);
  return at < 0 ? Number(text) : at > 7 ? at - 7 : at;
};

/** A field of Temporal's cron: lists, ranges and steps. Days and months begin at 1. */
function matches(field: string, value: number): boolean {
  return field.split(',').some((part) => {
    const [range = '', step = '1'] = part.split('/');
    const [first = 0, last = first] = range === '*' ? [1, 9_999] : range.split('-').map(numberOf);
    return range === '*' && step === '1'
      ? true
      : value >= first && value <= last && (value - first) % Number(step) === 0;
  });
}

/** When Temporal fires: each calendar by itself, then the instants. `years` from now. */
function firingsOfSpec(schedule: string, zone: string, years: number): number[] {
  const { cronExpressions = [], intervals = [] } = specOf(schedule, zone, from);
  const [start, end] = [from.getTime() + DAY, from.getTime() + years * YEAR];
  const times = intervals.map(({ every }) => every as number);
  for (const expression of cronExpressions) {
    const [minutes, hours, dates, months, weekdays, inYears = '*'] = expression.split(' ') as string[];
    for (let day = Math.floor(start / DAY - 1) * DAY; day < end + DAY; day += DAY) {
      const date = new Date(day);
      const isDay =
        matches(inYears!, date.getUTCFullYear()) &&
        matches(months!, date.getUTCMonth() + 1) &&
        matches(dates!, date.getUTCDate()) &&
        (matches(weekdays!, date.getUTCDay()) || (date.getUTCDay() === 0 && matches(weekdays!, 7)));
      if (!isDay) continue;
      for (const hour of hours!.split(','))
        for (const minute of minutes!.split(','))
          times.push(momentOf(day + Number(hour) * 3_600_000 + Number(minute) * 60_000, zone).at);
    }
  }
  return [...new Set(times)].filter((at) => at > start && at < end).sort((a, b) => a - b);
}

function firingsOfPattern(schedule: string, zone: string, years: number): number[] {
  const times: number[] = [];
  for (const at of firings(schedule, zone, from)) {
    if (at.getTime() >= from.getTime() + years * YEAR) break;
    if (at.getTime() > from.getTime() + DAY) times.push(at.getTime());
  }
  return times;
}

const oneOf = <T>(...values: T[]) => fc.constantFrom(...values);
const weekday = oneOf('0', '1', '2', '3', '4', '5', '6', '7', 'SUN', 'MON', 'WED', 'FRI');
const placed = fc
  .tuple(weekday, oneOf('#1', '#2', '#3', '#4', '#5', '#L', 'L'))
  .map(([day, place]) => `${day}${place}`);
const schedules = fc
  .record({
    minute: oneOf('0', '30'),
    hour: oneOf('0', '2', '9', '2,14'),
    date: oneOf('*', '*', 'L', '1,L', '13', '8-14', 'L,29', '1-31/2'),
    month: oneOf('*', '*', 'FEB', '2,4', '*/3', '12'),
    weekdays: fc.array(fc.oneof(placed, placed, weekday), { maxLength: 3 }).map((days) => days.join() || '*'),
  })
  .map(({ minute, hour, date, month, weekdays }) => `${minute} ${hour} ${date} ${month} ${weekdays}`);

it(
  'Temporal fires when the pattern does, for ten years',
  () => {
    holds(
      fc.property(schedules, (text) => {
        const parsed = parseSchedule(text, 'UTC', from);
        if (!parsed.ok) expect(parsed.error).toContain('never fires');
        else expect(firingsOfSpec(parsed.schedule, 'UTC', 10)).toEqual(firingsOfPattern(parsed.schedule, 'UTC', 10));
      }),
      {
        runs: 50,
        soak: 2_000,
        examples: [['0 0 * * 6#1,2,MON#1'], ['0 0 * * 5#1,7#4,SUN#L'], ['0 0 7 * MON#1,MON#2']],
      },
    );
  },
  PROPERTY_MS,
);

it(
  'the same where clocks change',
  () => {
    holds(
      fc.property(schedules, oneOf('Europe/Berlin', 'America/New_York', 'Africa/Cairo'), (text, zone) => {
        const parsed = parseSchedule(text, zone, from);
        if (!parsed.ok) expect(parsed.error).toContain('never fires');
        else expect(firingsOfSpec(parsed.schedule, zone, 2)).toEqual(firingsOfPattern(parsed.schedule, zone, 2));
      }),
      { runs: 8, soak: 300 },
    );
  },
  PROPERTY_MS,
);

it('a schedule without such days is given to Temporal as it is written', () => {
  expect(specOf('0 9 * * MON-FRI', 'UTC', from)).toEqual({ cronExpressions: ['0 9 * * MON-FRI'], timezone: 'UTC' });
  expect(specOf('0 9 * * MON#2', 'UTC', from)).toEqual({
    cronExpressions: ['0 9 8,9,10,11,12,13,14 1,2,3,4,5,6,7,8,9,10,11,12 1'],
    timezone: 'UTC',
  });
});
