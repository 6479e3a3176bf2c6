import { Cron } from 'croner';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { specOf } from '../../../src/adapters/schedule-spec.ts';
import { parseSchedule } from '../../../src/domain/cron.ts';
import { firings } from '../../../src/domain/firings.ts';
import { momentOf } from '../../../src/domain/time.ts';
import { holds } from '../../support/property.ts';

const YEAR = 365.25 * 86_400_000;
const from = new Date();

/** When Temporal fires: each calendar by itself, then the instants. `years` from now. */
function firingsOfSpec(schedule: string, zone: string, years: number): number[] {
  const { cronExpressions = [], intervals = [] } = specOf(schedule, zone, from);
  const end = from.getTime() + years * YEAR;
  const times = intervals.map(({ every }) => every as number);
  for (const expression of cronExpressions) {
    const [minute, hour, day, month, weekday, year] = expression.split(' ');
    const pattern = new Cron([minute, hour, day, month, weekday].join(' '), {
      mode: '5-part',
      utcOffset: 0,
      domAndDow: true,
      paused: true,
    });
    const inYears = year?.split(',').flatMap((part) => {
      const [first, last = first] = part.split('-').map(Number) as [number, number?];
      return Array.from({ length: last! - first + 1 }, (_, index) => first + index);
    });
    for (let at = pattern.nextRun(from); at && at.getTime() < end + YEAR; at = pattern.nextRun(at)) {
      if (inYears && !inYears.includes(at.getUTCFullYear())) continue;
      times.push(momentOf(at.getTime(), zone).at);
    }
  }
  return [...new Set(times)].filter((at) => at > from.getTime() + 86_400_000 && at < end).sort((a, b) => a - b);
}

function firingsOfPattern(schedule: string, zone: string, years: number): number[] {
  const times: number[] = [];
  for (const at of firings(schedule, zone, from)) {
    if (at.getTime() >= from.getTime() + years * YEAR) break;
    if (at.getTime() > from.getTime() + 86_400_000) times.push(at.getTime());
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
    minute: oneOf('0', '30', '5,50'),
    hour: oneOf('0', '2', '9', '3,14'),
    date: oneOf('*', '*', 'L', '1,L', '13', '8-14', 'L,29', '1-31/2'),
    month: oneOf('*', '*', 'FEB', '2,4', '*/3', '12'),
    weekdays: fc.array(fc.oneof(placed, placed, weekday), { maxLength: 3 }).map((days) => days.join() || '*'),
  })
  .map(({ minute, hour, date, month, weekdays }) => `${minute} ${hour} ${date} ${month} ${weekdays}`);

it('Temporal fires when the pattern does, for ten years', () => {
  holds(
    fc.property(schedules, (text) => {
      const parsed = parseSchedule(text, 'UTC', from);
      if (!parsed.ok) expect(parsed.error).toContain('never fires');
      else expect(firingsOfSpec(parsed.schedule, 'UTC', 10)).toEqual(firingsOfPattern(parsed.schedule, 'UTC', 10));
    }),
    { runs: 200 },
  );
});

it('the same where clocks change', () => {
  holds(
    fc.property(schedules, oneOf('Europe/Berlin', 'America/New_York', 'Africa/Cairo'), (text, zone) => {
      const parsed = parseSchedule(text, zone, from);
      if (!parsed.ok) expect(parsed.error).toContain('never fires');
      else expect(firingsOfSpec(parsed.schedule, zone, 2)).toEqual(firingsOfPattern(parsed.schedule, zone, 2));
    }),
    { runs: 30 },
  );
});

it('a schedule without such days is given to Temporal as it is written', () => {
  expect(specOf('0 9 * * MON-FRI', 'UTC', from)).toEqual({ cronExpressions: ['0 9 * * MON-FRI'], timezone: 'UTC' });
  expect(specOf('0 9 * * MON#2', 'UTC', from)).toEqual({
    cronExpressions: ['0 9 8,9,10,11,12,13,14 1,2,3,4,5,6,7,8,9,10,11,12 1'],
    timezone: 'UTC',
  });
});
