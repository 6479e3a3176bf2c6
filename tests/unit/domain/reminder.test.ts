import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseRemind, readRemind } from '../../../src/domain/chat/words/reminder.ts';
import { holds } from '../../support/property.ts';

const BERLIN = 'Europe/Berlin';
/** 11:00 on a Monday in Berlin */
const NOW = new Date('2026-11-23T10:00:00Z');

/** Null: the message is for the model. */
const read = async (text: string, now = NOW, zone = BERLIN, language?: string) => {
  const asked = parseRemind(text);
  return asked && (await readRemind(asked, now, { timeZone: zone, language }));
};

describe('remind me', () => {
  it.each([
    ['remind me to call Ann in 20 minutes', 'call Ann', '2026-11-23T10:20:00Z'],
    ['Please remind me in 1.5 hours to stretch!', 'stretch', '2026-11-23T11:30:00Z'],
    ['remind me at 9:00 tomorrow to call Ann', 'call Ann', '2026-11-24T08:00:00Z'],
    ['/remind me to call Ann at 9am tomorrow.', 'call Ann', '2026-11-24T08:00:00Z'],
    ['remind me on Friday to pay the rent', 'pay the rent', '2026-11-27T08:00:00Z'],
    ['remind me in 2 days to look', 'look', '2026-11-25T10:00:00Z'],
    ['remind me tonight to lock the door', 'lock the door', '2026-11-23T21:00:00Z'],
    ['remind me to turn the heating on at 9', 'turn the heating on', '2026-11-24T08:00:00Z'],
    ['remind me to renew it on 2027-03-01', 'renew it', '2027-03-01T08:00:00Z'],
    ['/remind stretch in 20 minutes', 'stretch', '2026-11-23T10:20:00Z'],
    ['remind me in 5 minutes: tea', 'tea', '2026-11-23T10:05:00Z'],
    ['remind me to check the 5pm train tomorrow at 9', 'check the 5pm train', '2026-11-24T08:00:00Z'],
    ['remind me to call at 9am UTC tomorrow', 'call', '2026-11-24T09:00:00Z'],
    ['remind me that the train leaves at 17:30', 'the train leaves', '2026-11-23T16:30:00Z'],
    ['remind me to stretch in 3 seconds, please', 'stretch', '2026-11-23T10:00:03Z'],
  ])('%s', async (text, what, at) => expect(await read(text)).toEqual({ what, at: new Date(at) }));

  it.each([
    ['remind me', 'when'],
    ['remind me to stretch', 'when'],
    ['remind me to stretch at 25:00', 'when'],
    ['remind me in 5 minutes', 'what'],
    ['remind me at 9', 'what'],
    ['remind me to stretch yesterday', 'past'],
    ['remind me on 2020-01-01 to stretch', 'past'],
    ['remind me in 90 years to stretch', 'when'],
  ])('%s: there is a problem (%s)', async (text, problem) => expect(await read(text)).toEqual({ problem }));

  it.each([
    'remind me how this works',
    'remind me what we did on Friday',
    'remind me about the plan',
    'remind me that we use tabs',
    'remind me every day at 9 to stretch',
    'remind me to stretch each Monday',
    'remind me to book the 3pm slot',
    'remind me to stretch in 5 minutes and fix the failing test',
    'remind me in 900000 years to stretch',
    'reminder',
    'a page that can remind me to stretch at 9',
    'remind Ann to call at 9',
    `remind me to ${'stretch '.repeat(40)}at 9`,
    '',
  ])('is for the model: %s', async (text) => expect(await read(text)).toBeNull());

  it('knows the nights in which clocks change', async () => {
    // 02:30 does not exist on this day: the clock goes from 02:00 to 03:00
    expect(await read('remind me to look on 2027-03-28 at 02:30')).toMatchObject({
      at: new Date('2027-03-28T01:00:00Z'),
      leftOut: true,
    });
    // 02:30 comes twice on this day
    expect(await read('remind me to look on 2027-10-31 at 02:30')).toEqual({
      what: 'look',
      at: new Date('2027-10-31T00:30:00Z'),
    });
    expect(await read('remind me to look at 9:00 on 2027-03-28')).toMatchObject({
      at: new Date('2027-03-28T07:00:00Z'),
    });
    const night = new Date('2027-03-28T00:30:00Z');
    expect(await read('remind me to look in 2 hours', night)).toMatchObject({ at: new Date('2027-03-28T02:30:00Z') });
    expect(await read('remind me to look at 9:00', night)).toMatchObject({ at: new Date('2027-03-28T07:00:00Z') });
  });

  it.each([
    ['Europe/Berlin', undefined, '2026-12-05'],
    ['Europe/Berlin', 'en', '2026-12-05'],
    ['Europe/Berlin', 'en-US', '2027-05-12'],
    ['America/New_York', undefined, '2027-05-12'],
    ['US/Eastern', 'en', '2027-05-12'],
    ['America/New_York', 'de', '2026-12-05'],
    ['America/Sao_Paulo', undefined, '2026-12-05'],
    ['UTC', undefined, '2027-05-12'],
    ['UTC', 'ja', '2027-05-12'],
    ['UTC', 'en-GB', '2026-12-05'],
  ])('5/12 in %s, with answers in %s, is %s', async (zone, language, day) => {
    const found = await read('remind me to pay on 5/12 at 12:00', NOW, zone, language);
    expect(found).toMatchObject({ what: 'pay', at: expect.any(Date) });
    expect((found as { at: Date }).at.toISOString()).toContain(day);
  });

  it('knows 5.12. where the day comes first, and takes 9.30 for a time', async () => {
    expect(await read('remind me to pay on 5.12. at 9')).toEqual({ what: 'pay', at: new Date('2026-12-05T08:00:00Z') });
    expect(await read('remind me on 5.12. to pay')).toEqual({ what: 'pay', at: new Date('2026-12-05T08:00:00Z') });
    expect(await read('remind me at 9.30 tomorrow to pay')).toEqual({
      what: 'pay',
      at: new Date('2026-11-24T08:30:00Z'),
    });
  });

  it('in any zone, at any moment, comes when a clock there shows the time that was said', async () => {
    const zones = fc.constantFrom(
      'UTC',
      'Europe/Berlin',
      'America/New_York',
      'Asia/Kolkata',
      'Pacific/Auckland',
      'Pacific/Kiritimati',
      'America/St_Johns',
    );
    // between 04:00 and 22:59 no clock of these zones changes
    await holds(
      fc.asyncProperty(
        zones,
        fc.date({ min: NOW, max: new Date('2030-01-01'), noInvalidDate: true }),
        fc.integer({ min: 4, max: 22 }),
        fc.integer({ min: 0, max: 59 }),
        async (zone, now, hour, minute) => {
          const clock = `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`;
          const found = await read(`remind me to look at ${clock} tomorrow`, now, zone);
          if (!found || 'problem' in found) throw new Error(`nothing found at ${now.toISOString()}`);
          const shown = (at: Date, form: Intl.DateTimeFormatOptions) =>
            at.toLocaleString('en-GB', { timeZone: zone, hourCycle: 'h23', ...form });
          expect(shown(found.at, { hour: '2-digit', minute: '2-digit' })).toBe(clock);
          const [year, month, day] = shown(now, { year: 'numeric', month: 'numeric', day: 'numeric' })
            .split('/')
            .reverse()
            .map(Number);
          const tomorrow = new Date(Date.UTC(year!, month! - 1, day! + 1)).toLocaleDateString('en-GB', {
            timeZone: 'UTC',
          });
          expect(shown(found.at, { year: 'numeric', month: '2-digit', day: '2-digit' })).toBe(tomorrow);
        },
      ),
    );
  });

  it('is found in no random sentence', async () => {
    await holds(
      fc.asyncProperty(
        fc.array(fc.stringMatching(/^[a-z]{2,9}$/), { minLength: 1, maxLength: 8 }),
        async (sentence) => {
          expect(await read(sentence.join(' '))).toBeNull();
        },
      ),
    );
  });
});
