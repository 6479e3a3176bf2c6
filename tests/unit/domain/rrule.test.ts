import { expect, it, test } from 'vitest';
import { firingNote, isOvertaken, missedBetween, nextFirings, shortestGap } from '../../../src/domain/cron.ts';
import { intervalText, readInterval } from '../../../src/domain/firings.ts';
import { readRrule } from '../../../src/domain/rrule.ts';

const at = new Date('2026-11-21T09:37:12Z');
const schedule = (rule: string): string => {
  const read = readRrule(rule, at);
  if (!read.ok) throw new Error(read.error);
  return read.schedule;
};
const firings = (rule: string, zone: string, from: string, count: number) =>
  nextFirings(schedule(rule), zone, new Date(from), count).map((time) => time.toISOString().replace(':00.000Z', 'Z'));

test.each([
  ['freq=hourly', 'FREQ=HOURLY', '37 * * * *'],
  [' FREQ = HOURLY ;; INTERVAL = 3 ', 'FREQ = HOURLY ;; INTERVAL = 3', '@every 3h/37m'],
  ['FREQ=HOURLY;BYDAY=SA,mo', 'FREQ=HOURLY;BYDAY=SA,MO', '37 * * * MON,SAT'],
  [
    'FREQ=HOURLY;INTERVAL=26;BYDAY=SU',
    'FREQ=HOURLY;INTERVAL=26;BYDAY=SU',
    expect.stringMatching(/^@every 26h\/\d+m SUN$/),
  ],
  ['FREQ=WEEKLY;BYDAY=mo,mo;BYHOUR=09;BYMINUTE=05', 'FREQ=WEEKLY;BYDAY=MO,MO;BYHOUR=09;BYMINUTE=05', '5 9 * * MON'],
  [
    'FREQ=HOURLY;FREQ=WEEKLY;BYDAY=TU;BYHOUR=1;BYMINUTE=2',
    'FREQ=HOURLY;FREQ=WEEKLY;BYDAY=TU;BYHOUR=1;BYMINUTE=2',
    '2 1 * * TUE',
  ],
])('%s is a rule', (text, rrule, wanted) => {
  expect(readRrule(text, at)).toEqual({ ok: true, rrule, schedule: wanted });
});

test.each([
  ['FREQ=DAILY', "Unsupported RRULE FREQ 'DAILY'. Supported: HOURLY and WEEKLY"],
  ['FREQ=TOSTRING', "Unsupported RRULE FREQ 'TOSTRING'. Supported: HOURLY and WEEKLY"],
  ['FREQ=HOURLY;INTERVAL=0', 'INTERVAL must be >= 1'],
  ['FREQ=HOURLY;INTERVAL=100000', 'INTERVAL must be <= 99999'],
  ['FREQ=HOURLY;INTERVAL=-1', 'Failed to parse INTERVAL'],
  ['FREQ=HOURLY;COUNT=3', "Unsupported RRULE field 'COUNT' for HOURLY. Allowed: FREQ,INTERVAL,BYDAY"],
  ['FREQ=WEEKLY;BYDAY=MO;BYHOUR=1;BYMINUTE=60', 'BYMINUTE must be between 0 and 59'],
  [`FREQ=${'X'.repeat(100_000)}`, `Unsupported RRULE FREQ '${'X'.repeat(40)}'. Supported: HOURLY and WEEKLY`],
])('%.40s is refused with a reason', (text, error) => {
  expect(readRrule(text, at)).toEqual({ ok: false, error });
});

it('fires at the hour of its time zone on both sides of a change of the clock', () => {
  const rule = 'FREQ=WEEKLY;BYDAY=SA,SU,MO;BYHOUR=9;BYMINUTE=30';
  expect(firings(rule, 'Europe/Berlin', '2026-10-24T00:00:00Z', 3)).toEqual([
    '2026-10-24T07:30Z',
    '2026-10-25T08:30Z',
    '2026-10-26T08:30Z',
  ]);
  expect(firings(rule, 'Europe/Berlin', '2027-03-27T00:00:00Z', 3)).toEqual([
    '2027-03-27T08:30Z',
    '2027-03-28T07:30Z',
    '2027-03-29T07:30Z',
  ]);
});

it('fires after as many hours as it says, also when the clock changes meanwhile', () => {
  expect(firings('FREQ=HOURLY;INTERVAL=2', 'Europe/Berlin', '2026-10-24T23:00:00Z', 3)).toEqual([
    '2026-10-24T23:37Z',
    '2026-10-25T01:37Z',
    '2026-10-25T03:37Z',
  ]);
  expect(shortestGap(schedule('FREQ=HOURLY;INTERVAL=5'), at)).toBe(5 * 3_600_000);
});

it('fires only on its days, which are those of its time zone', () => {
  const days = (zone: string) => firings('FREQ=HOURLY;INTERVAL=5;BYDAY=SU', zone, '2026-11-21T00:00:00Z', 6);
  const weekday = (zone: string) => (time: string) =>
    new Intl.DateTimeFormat('en', { timeZone: zone, weekday: 'short' }).format(new Date(time));
  expect(new Set(days('Pacific/Auckland').map(weekday('Pacific/Auckland')))).toEqual(new Set(['Sun']));
  expect(days('Pacific/Auckland')).not.toEqual(days('America/New_York'));
});

it('counts what it missed like every schedule', () => {
  const every = schedule('FREQ=HOURLY;INTERVAL=2');
  const [from, firing] = [new Date('2026-11-21T09:37:00Z'), new Date('2026-11-21T17:37:00Z')];
  expect(missedBetween(every, 'UTC', from, firing)).toEqual({
    count: 3,
    first: new Date('2026-11-21T11:37:00Z'),
    last: new Date('2026-11-21T15:37:00Z'),
  });
  expect(isOvertaken(every, 'UTC', from, firing)).toBe(true);
  expect(firingNote({ schedule: every, timeZone: 'UTC' }, from, firing, firing)).toMatch(
    /^3 firings from .* were missed and are done with this one\.$/,
  );
});

it('an interval that never meets its day does not fire, and is found so at once', () => {
  // every 168 hours is always the same hour of the same weekday
  const never = intervalText({ hours: 168, offset: 0, days: [2] });
  expect(nextFirings(never, 'UTC', at, 3)).toEqual([]);
  expect(readInterval(never)).toEqual({ every: 168 * 3_600_000, phase: 0, days: [2] });
});
