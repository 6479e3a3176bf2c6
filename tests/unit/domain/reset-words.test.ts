import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { LONGEST_WAIT_MS, waitInWords } from '../../../src/domain/model/reset-words.ts';
import { holds } from '../../support/property.ts';

/** A Sunday. */
const NOW = Date.UTC(2026, 10, 22, 8);
const opens = (text: string, zone?: string, now = NOW): string | null => {
  const wait = waitInWords(text, now, zone);
  return wait === undefined ? null : new Date(now + wait).toISOString().slice(0, 19);
};

describe('the time in a sentence', () => {
  test.each([
    // a clock, by the zone that it names
    ["You've hit your 5-hour limit · resets 9:45am (Europe/Berlin)", '2026-11-22T08:45:00'],
    ["You've hit your limit · resets 8pm (America/New_York)", '2026-11-23T01:00:00'],
    ['Your limit will reset at 3pm (America/Santiago).', '2026-11-22T18:00:00'],
    ['session limit · resets 3:45pm', '2026-11-22T15:45:00'],
    ['resets 3pm', '2026-11-22T15:00:00'],
    ['5-hour limit reached ∙ resets 2am', '2026-11-23T02:00:00'],
    ["You've hit your usage limit. Visit https://example.com or try again at 3:05 PM.", '2026-11-22T15:05:00'],
    ['Try again at 9:00 p.m. please', '2026-11-22T21:00:00'],
    ['resets 15:05', '2026-11-22T15:05:00'],
    ['resets 12am', '2026-11-23T00:00:00'],
    ['resets 12pm', '2026-11-22T12:00:00'],
    // a day
    ['resets Mon 12:00am', '2026-11-23T00:00:00'],
    ['resets Monday at 9am', '2026-11-23T09:00:00'],
    ['resets Sun 7am', '2026-11-29T07:00:00'],
    // a date
    ["You've hit your weekly limit · resets Nov 25, 7:05pm (Europe/Berlin)", '2026-11-25T18:05:00'],
    ['It resets Nov 25 at 7pm.', '2026-11-25T19:00:00'],
    ['or try again at Nov 28th, 2026 10:03 PM.', '2026-11-28T22:03:00'],
    ['resets Dec 1', '2026-12-01T00:00:00'],
    ['resets Dec 1, 12am (UTC)', '2026-12-01T00:00:00'],
    // durations
    ['Please try again in 15 hours 23 minutes', '2026-11-22T23:23:00'],
    ['Please try again in 58 hours.', '2026-11-24T18:00:00'],
    ['try again in 5 days 22 hours 11 minutes.', '2026-11-28T06:11:00'],
    ['Please wait for your limit to reset in 2 hours 5 minutes or switch', '2026-11-22T10:05:00'],
    ['It will reset in 2 days 3 hours. To continue', '2026-11-24T11:00:00'],
    ['Your quota will reset after 22h7m37s.', '2026-11-23T06:07:37'],
    // an epoch
    ['Claude AI usage limit reached|1795337131', '2026-11-22T08:45:31'],
    // no time, or none that can be true
    ['Try again later.', null],
    ['It will reset in less than a minute.', null],
    ['resets 13pm', null],
    ['resets 9:75am', null],
    ['resets Feb 30', null],
    ['try again at Apr 28th, 2026 10:03 PM', null],
    ['try again at Apr 28th, 2031 10:03 PM', null],
    ['resets Sep 3 at 10am', null],
    ['Claude AI usage limit reached|1755772800', null],
    ['the meeting is at 3pm', null],
    ['resets monthly', null],
  ])('"%s" is %s', (text, at) => {
    expect(opens(text)).toBe(at);
  });

  it('is read by the zone that is passed in, unless it names a known one', () => {
    expect(opens('try again at 3:05 PM', 'Asia/Tokyo')).toBe('2026-11-23T06:05:00');
    expect(opens('resets 3pm (Europe/Berlin)', 'Asia/Tokyo')).toBe('2026-11-22T14:00:00');
    expect(opens('resets 3pm (limit)', 'Asia/Tokyo')).toBe('2026-11-23T06:00:00');
    expect(opens('resets 3pm', 'No/Where')).toBe('2026-11-22T15:00:00');
  });

  it('is now when it is just past, and tomorrow when it is past for longer', () => {
    expect(waitInWords('resets 7:58am', NOW)).toBe(5_000);
    expect(waitInWords('resets 8am', NOW)).toBe(5_000);
    expect(opens('resets 7:57am')).toBe('2026-11-23T07:57:00');
    expect(waitInWords('resets Nov 22, 7:59am', NOW)).toBe(5_000);
    expect(waitInWords(`limit reached|${NOW / 1_000 - 60}`, NOW)).toBe(5_000);
  });

  it('is right when the clock changes before it', () => {
    const berlin = (text: string, now: string) => opens(`resets ${text} (Europe/Berlin)`, undefined, Date.parse(now));
    // an hour is left out: 9 o'clock of summer
    expect(berlin('9am', '2026-03-28T20:00:00Z')).toBe('2026-03-29T07:00:00');
    expect(berlin('2:30am', '2026-03-28T20:00:00Z')).toBe('2026-03-29T01:00:00');
    // an hour comes twice: 9 o'clock of winter; half past two for the first and for the second time
    expect(berlin('9am', '2026-10-24T20:00:00Z')).toBe('2026-10-25T08:00:00');
    expect(berlin('2:30am', '2026-10-24T20:00:00Z')).toBe('2026-10-25T00:30:00');
    expect(berlin('2:30am', '2026-10-25T00:45:00Z')).toBe('2026-10-25T01:30:00');
    expect(berlin('Mon 9am', '2026-10-23T20:00:00Z')).toBe('2026-10-26T08:00:00');
  });

  it('is the clock that a person in that zone sees', () => {
    const zones = fc.constantFrom(
      'UTC',
      'Europe/Berlin',
      'America/New_York',
      'Asia/Kolkata',
      'Australia/Sydney',
      'America/Los_Angeles',
      'Pacific/Chatham',
    );
    const span = { min: Date.UTC(2026, 0, 1), max: Date.UTC(2027, 11, 31) };
    holds(
      fc.property(zones, fc.integer(span), fc.nat(23), fc.nat(59), (zone, now, hour, minute) => {
        const said = (at: number) => `${at % 12 || 12}:${String(minute).padStart(2, '0')}${at % 24 < 12 ? 'am' : 'pm'}`;
        const wait = waitInWords(`resets ${said(hour)} (${zone})`, now)!;
        // 25 h on the day with an hour more
        expect(wait).toBeGreaterThan(0);
        expect(wait).toBeLessThanOrEqual(25 * 3_600_000);
        if (wait === 5_000) return;
        const clock = (at: number) =>
          new Date(at).toLocaleString('en-US', { timeZone: zone, hour: 'numeric', minute: '2-digit' });
        const shown = clock(now + wait)
          .replace(/\s/g, '')
          .toLowerCase();
        const hourIn = (at: number) =>
          Number(new Date(at).toLocaleString('en-GB', { timeZone: zone, hour: '2-digit' }));
        if (shown === said(hour)) return;
        // the zone leaves this clock out in spring: it is the next that exists, when the clock has just gone forward
        expect(hourIn(now + wait)).toBe((hour + 1) % 24);
        expect(hourIn(now + wait - 60_000)).toBe((hour + 23) % 24);
      }),
    );
  });

  it('lies ahead, within a month, whatever stands around it', () => {
    const forms = fc.constantFrom(
      'resets 9:45am (Europe/Berlin)',
      'try again at Apr 28th, 2026 10:03 PM',
      'resets Mon 12:00am',
      'in 58 hours',
      'limit reached|',
    );
    holds(
      fc.property(
        fc.string(),
        forms,
        fc.string({ maxLength: 200 }),
        fc.string({ maxLength: 20 }),
        (before, form, after, zone) => {
          const wait = waitInWords(`${before} ${form}${after}`, NOW, zone);
          if (wait !== undefined) expect(wait > 0 && wait <= LONGEST_WAIT_MS).toBe(true);
        },
      ),
    );
  });

  it.each([
    'resets 3pm ',
    'resets Feb 29 ',
    'resets Jun 1 ',
    'try again 1:',
    'resets (',
    'retry    ',
    'limit reached|',
    'resets at Nov 25, ',
    '1 ',
    'resets in 1 ',
  ])('is looked for in 100 kB of "%s" without delay', (piece) => {
    const text = piece.repeat(100_000 / piece.length);
    const started = performance.now();
    waitInWords(text, NOW);
    expect(performance.now() - started).toBeLessThan(1_000);
  });
});
