import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { asksForWhatsApp } from '../../../src/cli/chat/input/typed.ts';
import { clock, collapsed, type PastMessage, whenTold } from '../../../src/cli/chat/view/past.ts';
import { seenOf } from '../../../src/cli/chat/view/seen.ts';
import { looksLikeAnswer } from '../../../src/domain/chat/words/commands.ts';
import { shortHelp, thingsToTry } from '../../../src/domain/chat/words/help.ts';

const at = (day: number, hour: number, minute = 0): number => new Date(2026, 10, day, hour, minute).getTime();
const NOW = at(22, 9, 30);

test('a time is said as people say it', () => {
  expect(clock(at(22, 7), NOW)).toBe('07:00');
  expect(clock(at(21, 23, 10), NOW)).toBe('yesterday 23:10');
  expect(clock(at(17, 9, 5), NOW)).toBe('Tue 09:05');
  expect(clock(at(3, 9, 5), NOW)).toBe('3 Nov 09:05');
  expect(clock(new Date(2025, 2, 3, 9, 5).getTime(), NOW)).toBe('3 Mar 2025 09:05');
});

test('equal messages are told once, with how often and when they came', () => {
  const said: PastMessage[] = [
    { by: 'agent', text: 'backup failed', at: at(21, 23, 10) },
    { by: 'agent', text: 'something else', at: at(22, 1) },
    { by: 'agent', text: 'backup failed', at: at(22, 3) },
    { by: 'person', text: 'backup failed', at: at(22, 4) },
    { by: 'agent', text: 'backup failed', at: at(22, 7) },
  ];
  expect(collapsed(said).map((told) => `${whenTold(told, NOW)}: ${told.by} ${told.text}`)).toEqual([
    'yesterday 23:10 (3 times, last 07:00): agent backup failed',
    '01:00: agent something else',
    '04:00: person backup failed',
  ]);
});

describe('what a terminal has shown', () => {
  let home: string;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'fetch-seen-'));
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  test('is known to the next one, for the thread that it was', () => {
    const seen = seenOf(home, 'thr_1');
    expect(seen.before).toBeNull();
    seen.upTo(1_000);
    seen.upTo(5_000);
    seen.upTo(3_000);
    seen.save();
    expect(seenOf(home, 'thr_1').before).toBe(5_000);
    expect(seenOf(home, 'thr_2').before).toBeNull();
  });

  test('is not known where the file is broken, and nothing fails', () => {
    writeFileSync(join(home, 'chat-seen'), '{"thread":');
    expect(seenOf(home, 'thr_1').before).toBeNull();
    seenOf(join(home, 'nowhere'), 'thr_1').upTo(1);
  });
});

test('three things are worth trying, and help has the same ones', () => {
  for (const practice of [true, false])
    for (const tasks of [true, false]) {
      const things = thingsToTry({ practice, tasks });
      expect(things).toHaveLength(3);
      for (const thing of things) expect(shortHelp({ practice, tasks })).toContain(thing.replace(/`: .*/, '`'));
      expect(things.join(' ').includes('container')).toBe(tasks);
    }
});

test('WhatsApp is asked for by a whole message, and not where it answers a question', () => {
  for (const text of ['whatsapp', 'WhatsApp.', 'link whatsapp', 'pair', '/whatsapp'])
    expect(asksForWhatsApp(text, false)).toBe(true);
  for (const text of ['what is whatsapp', 'pair them', 'whatsapp them'])
    expect(asksForWhatsApp(text, false)).toBe(false);
  expect(asksForWhatsApp('whatsapp', true)).toBe(false);
  expect(asksForWhatsApp('/whatsapp', true)).toBe(true);
});

test.each([
  ['yes, but not the tests', true],
  ['not sure', false],
  ['ok later', true],
  ['do it!', true],
  ['Don’t', true],
  ['yes and then please write a page about the history of bread', false],
  ['what is the weather?', false],
  ['why do you need that?', false],
  ['node 24', false],
])('%j beside an approval looks like an answer: %s', (text, is) => expect(looksLikeAnswer(text)).toBe(is));
