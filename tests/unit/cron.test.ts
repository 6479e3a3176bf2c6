import { expect, test } from 'vitest';
import { describeTime, nextFirings, parseSchedule } from '../../src/domain/cron.ts';

const from = new Date('2026-11-21T00:00:00Z');
const parse = (text: string, zone = 'UTC') => parseSchedule(text, zone, from);

test.each([
  ['0 9 * * MON-FRI', '0 9 * * MON-FRI'],
  ['*/15,5  * * * *', '*/15,5 * * * *'],
  ['0 9 * * 7', '0 9 * * 7'],
  ['0 0 1 jan *', '0 0 1 JAN *'],
  ['@daily', '0 0 * * *'],
  ['0 0 29 2 *', '0 0 29 2 *'],
])('%s is a schedule', (text, schedule) => {
  expect(parse(text)).toEqual({ ok: true, schedule });
});

test.each([
  ['0 9 * * * *', /five fields/],
  ['0 0 31 2 *', /never fires/],
  ['5abc * * * *', /not a month or weekday name/],
  ['1.5 * * * *', /characters/],
  ['0 9 L * *', /not a month or weekday name/],
  ['0 9 ? * *', /characters/],
  ['60 * * * *', /./],
  ['@reboot', /not a known shorthand/],
  ['', /five fields/],
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
