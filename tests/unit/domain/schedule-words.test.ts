import { describe, expect, it } from 'vitest';
import { readSchedule } from '../../../src/domain/chat/words/schedule-words.ts';
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
