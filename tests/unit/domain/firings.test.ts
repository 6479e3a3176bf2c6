import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeTime, firingNote, nextFirings } from '../../../src/domain/cron.ts';
import { firings, intervalFrom } from '../../../src/domain/firings.ts';
import { holds } from '../../support/property.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe('when clocks change', () => {
  const next = (schedule: string, zone: string, from: string, count: number) =>
    nextFirings(schedule, zone, new Date(from), count).map((at) => at.toISOString().slice(5, 16));

  it('a time that is left out is done at the next that exists, once', () => {
    const night = '2027-03-28T00:00:00Z';
    expect(next('30 2 * * *', 'Europe/Berlin', night, 2)).toEqual(['03-28T01:00', '03-29T00:30']);
    expect(next('0,30 2 * * *', 'Europe/Berlin', night, 2)).toEqual(['03-28T01:00', '03-29T00:00']);
    expect(next('0 */2 * * *', 'Europe/Berlin', night, 2)).toEqual(['03-28T01:00', '03-28T02:00']);
    expect(next('0 0 * * *', 'Asia/Beirut', '2027-03-27T12:00:00Z', 2)).toEqual(['03-27T22:00', '03-28T21:00']);
  });

  it('a pattern for every hour goes on with the hours that there are', () => {
    expect(next('15 * * * *', 'Europe/Berlin', '2027-03-28T00:00:00Z', 2)).toEqual(['03-28T00:15', '03-28T01:15']);
  });

  it('a fixed time in a repeated hour is done once, at the first', () => {
    expect(next('30 2 * * *', 'Europe/Berlin', '2027-10-30T12:00:00Z', 2)).toEqual(['10-31T00:30', '11-01T01:30']);
    expect(next('30 2 * * *', 'Europe/Berlin', '2027-10-31T00:45:00Z', 1)).toEqual(['11-01T01:30']);
    expect(next('30 1 * * *', 'America/New_York', '2027-11-06T12:00:00Z', 2)).toEqual(['11-07T05:30', '11-08T06:30']);
  });

  it('an interval runs through both hours', () => {
    expect(next('*/30 * * * *', 'Australia/Melbourne', '2027-04-03T14:30:00Z', 5)).toEqual([
      ...['04-03T15:00', '04-03T15:30', '04-03T16:00', '04-03T16:30', '04-03T17:00'],
    ]);
    expect(next('*/30 2 * * *', 'Australia/Melbourne', '2027-04-03T14:30:00Z', 5)).toEqual([
      ...['04-03T15:00', '04-03T15:30', '04-03T16:00', '04-03T16:30', '04-04T16:00'],
    ]);
  });

  it('the next run of a day is that of its clock, whenever it is looked for', () => {
    // at 22:37 of the evening before, and at 17:20
    for (const from of ['2026-11-27T03:37:00Z', '2026-11-26T22:20:00Z'])
      expect(next('25 6 * * *', 'America/New_York', from, 1)).toEqual(['11-27T11:25']);
  });

  it('a run just before the hour that is left out, which a stopped machine missed, is said to be late', () => {
    const at = (time: string) => new Date(`2027-03-14T${time}Z`);
    const schedule = { schedule: '30 1 * * *', timeZone: 'America/New_York' };
    expect(next(schedule.schedule, schedule.timeZone, '2027-03-14T06:15:00Z', 2)).toEqual([
      '03-14T06:30',
      '03-15T05:30',
    ]);
    expect(firingNote(schedule, at('06:15:00'), at('06:30:00'), at('07:30:00'))).toBe(
      'It was due on Sun 2027-03-14 01:30 (America/New_York).',
    );
  });

  it('a time that comes twice says which one it is', () => {
    const said = (at: string) => describeTime(new Date(at), 'Europe/Berlin');
    expect(said('2027-10-31T00:30:00Z')).toBe(
      'Sun 2027-10-31 02:30 (Europe/Berlin, the first of two, because clocks go back)',
    );
    expect(said('2027-10-31T01:30:00Z')).toContain('the second of two');
    expect(said('2027-10-31T02:00:00Z')).toBe('Sun 2027-10-31 03:00 (Europe/Berlin)');
  });
});

/**
 * Around both changes of a year in five zones, written by hand: a half hour (Lord Howe), at midnight (Santiago), back
 * for Ramadan (Casablanca). Each line is the zone, the pattern, a moment before it, and the next firings, all in UTC.
 */
const AROUND_CHANGES: Array<[zone: string, schedule: string, from: string, firings: string]> = [
  // 15:30 UTC: from 02:00 to 02:30
  ['Australia/Lord_Howe', '0 2 * * *', '10-02T12:00', '10-02T15:30 10-03T15:00 10-04T15:00'],
  ['Australia/Lord_Howe', '15 2 * * *', '10-01T12:00', '10-01T15:45 10-02T15:30 10-03T15:15'],
  ['Australia/Lord_Howe', '30 2 * * *', '10-01T12:00', '10-01T16:00 10-02T15:30 10-03T15:30'],
  ['Australia/Lord_Howe', '0 * * * *', '10-02T14:00', '10-02T14:30 10-02T16:00 10-02T17:00'],
  ['Australia/Lord_Howe', '*/15 * * * *', '10-02T15:00', '10-02T15:15 10-02T15:30 10-02T15:45 10-02T16:00'],
  ['Australia/Lord_Howe', '@every 3600s/900s', '10-02T14:30', '10-02T15:15 10-02T16:15 10-02T17:15'],
  // 15:00 UTC: from 02:00 back to 01:30
  ['Australia/Lord_Howe', '45 1 * * *', '04-02T12:00', '04-02T14:45 04-03T14:45 04-04T15:15'],
  ['Australia/Lord_Howe', '15 1 * * *', '04-02T12:00', '04-02T14:15 04-03T14:15 04-04T14:45'],
  ['Australia/Lord_Howe', '0 * * * *', '04-03T13:30', '04-03T14:00 04-03T15:30 04-03T16:30'],
  ['Australia/Lord_Howe', '30 * * * *', '04-03T14:00', '04-03T14:30 04-03T15:00 04-03T16:00'],
  ['Australia/Lord_Howe', '*/15 1 * * *', '04-03T14:20', '04-03T14:30 04-03T14:45 04-03T15:00 04-03T15:15 04-04T14:30'],
  // 04:00 UTC: from 00:00 to 01:00
  ['America/Santiago', '0 0 * * *', '09-03T12:00', '09-04T04:00 09-05T04:00 09-06T03:00'],
  ['America/Santiago', '30 0 * * *', '09-03T12:00', '09-04T04:30 09-05T04:00 09-06T03:30'],
  ['America/Santiago', '0 0 * * SUN', '09-03T12:00', '09-05T04:00 09-12T03:00'],
  ['America/Santiago', '0 * * * *', '09-05T02:30', '09-05T03:00 09-05T04:00 09-05T05:00'],
  ['America/Santiago', '@every 3600s/900s', '09-05T03:00', '09-05T03:15 09-05T04:15'],
  // 03:00 UTC: from 00:00 back to 23:00 of the day before
  ['America/Santiago', '30 23 * * *', '04-03T12:00', '04-04T02:30 04-05T03:30 04-06T03:30'],
  ['America/Santiago', '30 23 * * SAT', '04-03T12:00', '04-04T02:30 04-11T03:30'],
  ['America/Santiago', '0 0 * * *', '04-02T12:00', '04-03T03:00 04-04T04:00 04-05T04:00'],
  ['America/Santiago', '*/30 23 * * *', '04-03T12:00', '04-04T02:00 04-04T02:30 04-04T03:00 04-04T03:30 04-05T03:00'],
  // 02:00 UTC: from 02:00 to 03:00
  ['Africa/Casablanca', '30 2 * * *', '04-04T12:00', '04-05T02:30 04-06T02:00 04-07T01:30'],
  ['Africa/Casablanca', '0 * * * *', '04-06T00:30', '04-06T01:00 04-06T02:00 04-06T03:00'],
  ['Africa/Casablanca', '@every 3600s/900s', '04-06T01:00', '04-06T01:15 04-06T02:15'],
  // 02:00 UTC: from 03:00 back to 02:00
  ['Africa/Casablanca', '30 2 * * *', '02-22T00:00', '02-22T01:30 02-23T01:30 02-24T02:30'],
  ['Africa/Casablanca', '*/30 2 * * *', '02-23T00:00', '02-23T01:00 02-23T01:30 02-23T02:00 02-23T02:30 02-24T02:00'],
  // 07:00 UTC: from 02:00 to 03:00
  ['America/New_York', '30 2 * * *', '03-12T12:00', '03-13T07:30 03-14T07:00 03-15T06:30'],
  ['America/New_York', '0 */2 * * *', '03-14T04:00', '03-14T05:00 03-14T07:00 03-14T08:00 03-14T10:00'],
  ['America/New_York', '@every 3600s/900s', '03-14T06:00', '03-14T06:15 03-14T07:15'],
  // 06:00 UTC: from 02:00 back to 01:00
  ['America/New_York', '30 1 * * *', '11-05T12:00', '11-06T05:30 11-07T05:30 11-08T06:30'],
  ['America/New_York', '*/30 1 * * *', '11-07T00:00', '11-07T05:00 11-07T05:30 11-07T06:00 11-07T06:30 11-08T06:00'],
  ['America/New_York', '0 9 * * MON-FRI', '11-05T12:00', '11-05T13:00 11-08T14:00'],
  // 01:00 UTC: from 02:00 to 03:00
  ['Europe/Berlin', '30 2 * * *', '03-26T12:00', '03-27T01:30 03-28T01:00 03-29T00:30'],
  ['Europe/Berlin', '*/20 * * * *', '03-28T00:30', '03-28T00:40 03-28T01:00 03-28T01:20'],
  ['Europe/Berlin', '@every 3600s/900s', '03-28T00:00', '03-28T00:15 03-28T01:15'],
  // 01:00 UTC: from 03:00 back to 02:00
  ['Europe/Berlin', '0 2 * * *', '10-29T12:00', '10-30T00:00 10-31T00:00 11-01T01:00'],
  ['Europe/Berlin', '0 2,3 * * *', '10-30T12:00', '10-31T00:00 10-31T02:00 11-01T01:00 11-01T02:00'],
  ['Europe/Berlin', '0 * * * *', '10-30T23:30', '10-31T00:00 10-31T01:00 10-31T02:00'],
];

it.each(AROUND_CHANGES)('%s: %s after %s', (zone, schedule, from, expected) => {
  // the clocks of Morocco do not change after 2026
  const year = zone === 'Africa/Casablanca' ? 2025 : 2027;
  const wanted = expected.split(' ');
  const found = nextFirings(schedule, zone, new Date(`${year}-${from}:00Z`), wanted.length);
  expect(found.map((at) => at.toISOString().slice(5, 16))).toEqual(wanted);
});

/** A field with the numbers that it means, so that no parser of ours is asked. */
const field = (first: number, last: number) =>
  fc.oneof(
    fc.constant({ text: '*', has: (_: number) => true }),
    fc
      .integer({ min: 2, max: Math.min(12, last - first) })
      .map((step) => ({ text: `*/${step}`, has: (n: number) => (n - first) % step === 0 })),
    fc
      .uniqueArray(fc.integer({ min: first, max: last }), { minLength: 1, maxLength: 4 })
      .map((list) => ({ text: list.join(), has: (n: number) => list.includes(n) })),
    fc
      .tuple(fc.integer({ min: first, max: last }), fc.integer({ min: first, max: last }))
      .map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const)
      .map(([a, b]) => ({ text: `${a}-${b}`, has: (n: number) => a <= n && n <= b })),
  );
const everyDay = fc.constant({ text: '*', has: (_: number) => true });
const pattern = fc.tuple(
  field(0, 59),
  fc.oneof(field(0, 23), field(0, 3)),
  fc.oneof({ weight: 3, arbitrary: everyDay }, { weight: 1, arbitrary: field(1, 28) }),
  fc.oneof({ weight: 3, arbitrary: everyDay }, { weight: 1, arbitrary: field(1, 12) }),
  fc.oneof({ weight: 3, arbitrary: everyDay }, { weight: 1, arbitrary: field(0, 6) }),
);

/** What the tz database of the engine says, minute by minute, without any code of ours. */
function clockOf(zone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' });
  return (at) => Date.parse(`${format.format(at).replace(' ', 'T')}Z`);
}

function changesIn(clock: (at: number) => number, from: number, to: number): number[] {
  const ahead = (at: number) => clock(at) - at;
  const changes: number[] = [];
  for (let day = from; day < to; day += DAY) {
    if (ahead(day) === ahead(day + DAY)) continue;
    let at = day;
    while (ahead(at) === ahead(day)) at += 15 * MINUTE;
    changes.push(at);
  }
  return changes;
}

it('every firing around every clock change of ten years is that of a clock which is looked at each minute', () => {
  const from = Date.UTC(2026, 0, 1);
  holds(
    fc.property(fc.constantFrom(...Intl.supportedValuesOf('timeZone')), pattern, (zone, fields) => {
      const [minute, hour, day, month, weekday] = fields;
      const schedule = fields.map(({ text }) => text).join(' ');
      const clock = clockOf(zone);
      const fits = (wall: number) => {
        const shown = new Date(wall);
        return (
          minute.has(shown.getUTCMinutes()) &&
          hour.has(shown.getUTCHours()) &&
          day.has(shown.getUTCDate()) &&
          month.has(shown.getUTCMonth() + 1) &&
          weekday.has(shown.getUTCDay())
        );
      };
      const everyHour = Array.from({ length: 24 }, (_, number) => number).every(hour.has);
      const interval = everyHour || /[*/]/.test(`${minute.text}${hour.text}`);
      for (const change of changesIn(clock, from, from + 3_652 * DAY)) {
        const expected: number[] = [];
        let latest = Number.NEGATIVE_INFINITY;
        for (let at = change - 5 * HOUR; at < change + 5 * HOUR; at += MINUTE) {
          const wall = clock(at);
          const leftOut = (): boolean => {
            for (let gone = latest + MINUTE; gone < wall; gone += MINUTE) if (fits(gone)) return true;
            return false;
          };
          if (fits(wall) ? interval || wall > latest : at === change && !everyHour && leftOut()) expected.push(at);
          latest = Math.max(latest, wall);
        }
        const ours: number[] = [];
        for (const at of firings(schedule, zone, new Date(change - 5 * HOUR - 1))) {
          if (at.getTime() >= change + 5 * HOUR) break;
          ours.push(at.getTime());
        }
        const told = (times: number[]) => times.map((at) => new Date(at).toISOString());
        expect({ zone, schedule, firings: told(ours) }).toEqual({ zone, schedule, firings: told(expected) });
      }
    }),
    { runs: 30, soak: 100_000 },
  );
}, 600_000);

describe('what is not a pattern', () => {
  const at = (schedule: string, zone: string, from: string, count: number) =>
    nextFirings(schedule, zone, new Date(from), count).map((each) => each.toISOString());

  it('fires once: at the next time that exists, and at the first of two', () => {
    expect(at('@at 2027-03-28T02:30:00', 'Europe/Berlin', '2026-01-01T00:00:00Z', 3)).toEqual([
      '2027-03-28T01:00:00.000Z',
    ]);
    expect(at('@at 2027-10-31T02:30:00', 'Europe/Berlin', '2026-01-01T00:00:00Z', 3)).toEqual([
      '2027-10-31T00:30:00.000Z',
    ]);
    expect(at('@at 2027-10-31T02:30:00', 'Europe/Berlin', '2027-10-31T00:30:00Z', 3)).toEqual([]);
  });

  it('an interval begins when it was made, and no clock moves it', () => {
    const made = new Date('2027-03-28T00:10:20Z');
    const schedule = intervalFrom(90 * MINUTE, made);
    expect(at(schedule, 'Europe/Berlin', made.toISOString(), 2)).toEqual([
      '2027-03-28T01:40:20.000Z',
      '2027-03-28T03:10:20.000Z',
    ]);
  });
});
