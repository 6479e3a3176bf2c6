import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  momentInWords,
  readSchedule,
  scheduleInWords,
  scheduleWithNext,
} from '../../../src/domain/chat/words/schedule-words.ts';
import { parseSchedule } from '../../../src/domain/cron.ts';

const fields = (text: string) => readSchedule(text)?.schedule ?? null;

describe('words that say how often', () => {
  it.each([
    ['every day at 7', '0 7 * * *'],
    ['at 6pm every day', '0 18 * * *'],
    ['every weekday at 8:30', '30 8 * * MON-FRI'],
    ['each monday, wednesday and friday at 12 pm', '0 12 * * MON,WED,FRI'],
    ['every Tue', '0 9 * * TUE'],
    ['every weekend at noon', '0 12 * * SAT,SUN'],
    ['every 15 minutes', '*/15 * * * *'],
    ['every 6 hours', '0 */6 * * *'],
    ['hourly', '0 * * * *'],
    ['daily at midnight', '0 0 * * *'],
    ['every month on the 1st at 10:15', '15 10 1 * *'],
  ])('%s', (text, schedule) => {
    expect(fields(text)).toBe(schedule);
    expect(parseSchedule(schedule, 'Europe/Berlin', new Date())).toEqual({ ok: true, schedule });
  });

  it('leave what is to be done', () => {
    expect(readSchedule('Tell me the weather every day at 7.')?.what).toBe('Tell me the weather');
    expect(readSchedule('every friday at 17:00: write the report')?.what).toBe('write the report');
  });

  it('are refused where five fields cannot say them', () => {
    for (const text of [
      'every 7 minutes',
      'every 5 hours',
      'every day at 25',
      'every day at 13pm',
      'every hour at 9',
      'every month',
      'every everyday',
      'tomorrow at 9',
      'x'.repeat(1_000),
    ])
      expect([text, fields(text)]).toEqual([text, null]);
  });
});

describe('schedules in words', () => {
  it.each([
    ['* * * * *', 'every minute'],
    ['*/1 * * * *', 'every minute'],
    ['*/15 * * * *', 'every 15 minutes'],
    ['0 * * * *', 'every hour'],
    ['37 * * * *', 'every hour at :37'],
    ['0,30 * * * *', 'every hour at :00 and :30'],
    ['0 */6 * * *', 'every 6 hours'],
    ['5 */6 * * MON-FRI', 'every 6 hours at :05 on weekdays'],
    ['30 8 * * MON-FRI', 'every weekday at 8:30'],
    ['30 8 * * 1-5', 'every weekday at 8:30'],
    ['0 12 * * MON,WED,FRI', 'every Monday, Wednesday and Friday at 12:00'],
    ['0 0 * * 7', 'every Sunday at 0:00'],
    ['0 9,17 * * *', 'every day at 9:00 and 17:00'],
    ['15 10 1 * *', 'every month on the 1st at 10:15'],
    ['0 9 13 * FRI', 'every month on the 13th if it is a Friday at 9:00'],
    ['0 0 1 1 *', 'every year on the 1st of January at 0:00'],
    ['0 7 * JUN-AUG *', 'every day in June, July and August at 7:00'],
    ['*/10 8-17 * * MON-FRI', 'every 10 minutes of the hours 8 to 17 on weekdays'],
    ['0 8-17 * * *', 'every hour from 8 to 17'],
    ['0 9 22,23 * *', 'every month on the 22nd and 23rd at 9:00'],
    ['@every 2h/37m', 'every 2 hours'],
    ['@every 1h/5m MON,WED', 'every hour on Mondays and Wednesdays'],
    ['0 9 L * *', 'every month on the last day at 9:00'],
    ['30 8 * 3,6 5L', 'every March and June on the last Friday at 8:30'],
    ['0 9 1,L * MON#1', 'every month on the 1st and last day if it is the first Monday at 9:00'],
    ['*/10 9 * * 1,FRI#3', 'every 10 minutes of the hours 9 on every Monday and the third Friday of a month'],
  ])('%s', (schedule, words) => {
    expect(scheduleInWords(schedule)).toBe(words);
  });

  it('are read again as the same schedule', () => {
    for (const schedule of ['0 7 * * *', '30 8 * * MON-FRI', '*/15 * * * *', '0 */6 * * *', '0 * * * *', '15 10 1 * *'])
      expect(fields(scheduleInWords(schedule))).toBe(schedule);
  });

  it('say when they run next', () => {
    const daily = { schedule: '1 0 * * *', timeZone: 'Europe/Berlin', enabled: true };
    const evening = new Date('2026-11-24T22:59:00Z');
    expect(scheduleWithNext(daily, evening)).toBe('every day at 0:01, next on Wed 25 Nov at 00:01');
    expect(scheduleWithNext(daily, new Date('2026-11-24T23:00:00Z'))).toBe('every day at 0:01, next at 00:01');
    expect(scheduleWithNext({ ...daily, enabled: false }, evening)).toBe('every day at 0:01, switched off');
  });

  it('name the day, the year and the zone where they are not clear', () => {
    const moment = (at: string, zone = 'Europe/Berlin') =>
      momentInWords(new Date(at), zone, new Date('2026-10-24T09:00Z'));
    expect(moment('2026-10-24T12:05Z')).toBe('at 14:05');
    expect(moment('2026-10-24T12:05Z', 'UTC')).toBe('at 12:05 UTC');
    expect(moment('2027-10-24T12:05Z')).toBe('on Sun 24 Oct 2027 at 14:05');
    expect(moment('2026-10-25T01:30Z')).toBe('on Sun 25 Oct at 02:30 (the second of two, because clocks go back)');
  });

  it('hold for every schedule that can be written', () => {
    const field = (least: number, greatest: number) => {
      const value = fc.integer({ min: least, max: greatest });
      return fc.oneof(
        fc.constant('*'),
        value.map(String),
        fc.uniqueArray(value, { minLength: 2, maxLength: 4 }).map((list) => list.join(',')),
        fc.integer({ min: 1, max: greatest }).map((step) => `*/${step}`),
        fc.tuple(value, value).map(([one, other]) => `${Math.min(one, other)}-${Math.max(one, other)}`),
      );
    };
    const all = fc.tuple(field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 6));
    fc.assert(
      fc.property(all, (parts) => {
        expect(scheduleInWords(parts.join(' '))).toMatch(/^every [\w :,]+$/);
        expect(scheduleInWords(parts.join(' '))).not.toContain('undefined');
      }),
    );
  });
});
