import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeTime, firingNote, nextFirings } from '../../../src/domain/cron.ts';
import { firings } from '../../../src/domain/firings.ts';
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
