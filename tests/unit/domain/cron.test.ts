import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  describeTime,
  firingNote,
  isOvertaken,
  missedBetween,
  nextFirings,
  parseSchedule,
  scheduleSlug,
  shortestGap,
} from '../../../src/domain/cron.ts';
import { holds } from '../../support/property.ts';

const from = new Date('2026-11-21T00:00:00Z');
const parse = (text: string, zone = 'UTC') => parseSchedule(text, zone, from);

test.each([
  ['0 9 * * MON-FRI', '0 9 * * MON-FRI'],
  ['*/15,5  * * * *', '*/15,5 * * * *'],
  ['0 9 * * 7', '0 9 * * 7'],
  ['0 0 1 jan *', '0 0 1 JAN *'],
  ['@daily', '0 0 * * *'],
  ['0 0 29 2 *', '0 0 29 2 *'],
  ['every 90 minutes', '@every 5400s/0s'],
  ['every 2h', '@every 7200s/0s'],
  ['@every 1 day', '@every 86400s/0s'],
  ['60000', '@every 60s/0s'],
  ['@every 5400s/30s', '@every 5400s/30s'],
  ['2026-11-21T09:30', '@at 2026-11-21T09:30:00'],
  ['2026-11-21 09:30:15', '@at 2026-11-21T09:30:15'],
  ['0 9 L * *', '0 9 L * *'],
  ['0 9 1,l feb *', '0 9 1,L FEB *'],
  ['0 9 * * mon#2,5L', '0 9 * * MON#2,5L'],
  ['0 9 * * fri#L', '0 9 * * FRI#L'],
  // what is stored stays a schedule when its time is over
  ['@at 2020-01-01T00:00:00', '@at 2020-01-01T00:00:00'],
  ['2099-12-31T23:59', '@at 2099-12-31T23:59:00'],
])('%s is a schedule', (text, schedule) => {
  expect(parse(text)).toEqual({ ok: true, schedule });
});

test.each([
  ['30 0 9 * * MON', /five fields .* and no seconds; .* is "0 9 \* \* MON"$/],
  ['0 0 31 2 *', /never fires/],
  ['5abc * * * *', /not a month or weekday name/],
  ['1.5 * * * *', /characters/],
  ['0 9 LW * *', /not a month or weekday name/],
  ['0 9 15W * *', /not a month or weekday name/],
  ['0 9 L-2 * *', /not a month or weekday name/],
  ['0 9 * * L', /not a month or weekday name/],
  ['0 L * * *', /not a month or weekday name/],
  ['0 9 * * MON#6', /characters/],
  ['0 9 * * MON-FRI#2', /characters/],
  ['0 9 L, * *', /comma/],
  ['0 0 13 * 5L', /never fires/],
  ['0 9 ? * *', /characters/],
  ['60 * * * *', /./],
  ['@reboot', /not a known shorthand/],
  ['', /five fields/],
  ['59999', /between a minute/],
  ['every 30 seconds', /five fields/],
  ['every 0 m', /between a minute/],
  ['every 999999 days', /between a minute/],
  ['2026-11-20T23:59', /is over: it is Sat 2026-11-21 00:00/],
  ['2026-11-21T09:30Z', /local time alone/],
  ['2026-11-21T09:30+02:00', /local time alone/],
  ['2026-02-30T09:00', /not a date/],
  ['2026-13-01T09:00', /not a date/],
  ['2100-01-01T00:00', /too far away: the last year of a schedule is 2099/],
  ['@at 9999-12-31T23:59:59', /too far away/],
  ['2026-11-21T25:00', /not a date/],
])('%s is refused with a reason', (text, reason) => {
  expect(parse(text)).toEqual({ ok: false, error: expect.stringMatching(reason) });
});

test('a time zone that the engine does not know is refused', () => {
  expect(parse('0 9 * * *', 'Mars/Olympus').ok).toBe(false);
  expect(parse('0 9 * * *', '+02:00').ok).toBe(false);
});

test('day of month and weekday must both match', () => {
  expect(nextFirings('0 0 13 * 5', 'UTC', from, 1)[0]?.toISOString()).toBe('2027-08-13T00:00:00.000Z');
});

test('a firing is told in its own time zone', () => {
  const [next] = nextFirings('0 9 * * *', 'Europe/Berlin', from, 1);
  expect(describeTime(next!, 'Europe/Berlin')).toBe('Sat 2026-11-21 09:00 (Europe/Berlin)');
});

test.each([
  ['*/5 * * * *', 5],
  ['*/1 * * * *', 1],
  ['0,58 * * * *', 2],
  ['3-59/7 9-17 * * MON', 4],
  ['0 9,9 1 * *', 28 * 24 * 60],
  ['59 23 * * *', 24 * 60],
])('%s leaves at least %i minutes between two firings', (schedule, minutes) => {
  expect(shortestGap(schedule, from)).toBe(minutes * 60_000);
});

test.each([
  ['0 9 * * MON-FRI', 'mon-fri-0900'],
  ['30 7 * * *', 'daily-0730'],
  ['*/10 * * * *', 'every-10-min'],
  ['0 * * * *', 'hourly'],
  ['0 0 1 1 *', 'dates-0000'],
  ['*/15 9-17 * * *', 'cron'],
])('%s is called %s in ids', (schedule, slug) => {
  expect(scheduleSlug(schedule)).toBe(slug);
});

const MINUTE = 60_000;
/** minutes for which nothing runs and for which it runs, one after the other */
const life = fc.array(fc.tuple(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 1, max: 200 })), {
  minLength: 1,
  maxLength: 3,
});

test('every firing runs or is told by exactly one that runs, whatever was off in between', () => {
  holds(
    fc.property(
      fc.constantFrom('*/40 * * * *', '0 * * * *', '0,5 3,12 * * *', '15 7 * * *'),
      life,
      (schedule, periods) => {
        let now = from;
        let lastRan = from;
        let told = 0;
        let ran = 0;
        const due: Date[] = [];
        for (const [off, on] of periods) {
          const back = new Date(now.getTime() + off * MINUTE);
          const end = new Date(back.getTime() + on * MINUTE);
          for (
            let at = nextFirings(schedule, 'UTC', now, 1)[0]!;
            at <= end;
            at = nextFirings(schedule, 'UTC', at, 1)[0]!
          ) {
            due.push(at);
            const handledAt = at < back ? back : at;
            if (isOvertaken(schedule, 'UTC', at, handledAt)) continue;
            told += missedBetween(schedule, 'UTC', lastRan, at)?.count ?? 0;
            ran += 1;
            lastRan = at;
          }
          now = end;
        }
        expect(told + ran).toBe(due.filter((at) => at <= lastRan).length);
        // those after the last that ran are still to come: a later one is due
        expect(due.filter((at) => at > lastRan)).toEqual([]);
      },
    ),
  );
});

test('a run says when it was due and what it stands for, and nothing when it is in time', () => {
  const at = (time: string) => new Date(`2026-11-21T${time}:00Z`);
  const hourly = { schedule: '0 * * * *', timeZone: 'UTC' };
  expect(firingNote(hourly, at('06:00'), at('07:00'), at('07:00'))).toBeNull();
  expect(firingNote(hourly, at('06:00'), at('07:00'), at('09:00'))).toBe('It was due on Sat 2026-11-21 07:00 (UTC).');
  expect(firingNote(hourly, at('05:00'), at('07:00'), at('07:00'))).toBe(
    'The firing of Sat 2026-11-21 06:00 (UTC) was missed and is done with this one.',
  );
  expect(firingNote(hourly, at('00:00'), at('07:00'), at('07:00'))).toBe(
    '6 firings from Sat 2026-11-21 01:00 (UTC) to Sat 2026-11-21 06:00 (UTC) were missed and are done with this one.',
  );
});
