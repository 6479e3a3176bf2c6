import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { rowsOf, widthOf, wrap } from '../../../src/cli/chat/screen/layout.ts';
import { holds } from '../../support/property.ts';

const character = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom('a', 'b', 'word', ' ', ' ', '  ', 'long-long-long-word', '- ', '12. ', '\n'),
  },
  fc.constantFrom('😀', '👨‍👩‍👧', '👍🏽', '🇩🇪', '漢', '字仮名', 'é', 'e\u0301', '❤️', 'ﾊ', '한글', '\t', '…'),
  fc.string({ unit: 'grapheme', maxLength: 4 }).map((text) => text.replace(/[\p{Cc}\p{Cf}]/gu, 'x')),
  fc.constantFrom('\x1b[1m', '\x1b[22m', '\x1b[36m'),
);
const text = fc.array(character, { maxLength: 60 }).map((parts) => parts.join(''));
const width = fc.integer({ min: 19, max: 100 });
const wordsOf = (from: string) => from.replace(/\x1b\[\d*m/g, '').replace(/\s+/g, '');

describe('a text that is wrapped', () => {
  it('loses no word, has no line wider than the terminal and breaks no character that a person sees', () =>
    holds(
      fc.property(text, width, (whole, columns) => {
        const wrapped = wrap(whole, columns);
        expect(wordsOf(wrapped)).toBe(wordsOf(whole));
        for (const line of wrapped.split('\n')) expect(widthOf(line)).toBeLessThanOrEqual(columns);
        for (const seen of ['👨‍👩‍👧', '👍🏽', '🇩🇪', 'e\u0301'])
          expect(wrapped.split(seen).length).toBe(whole.split(seen).length);
      }),
      { runs: 500 },
    ));

  it('breaks at a space wherever the word fits on a line', () =>
    holds(
      fc.property(
        fc.array(fc.stringMatching(/^[a-z]{1,8}$/), { minLength: 1, maxLength: 40 }),
        fc.integer({ min: 8, max: 60 }),
        (words, columns) => {
          expect(
            wrap(words.join(' '), columns)
              .split('\n')
              .flatMap((line) => line.split(' ')),
          ).toEqual(words);
        },
      ),
    ));

  test('breaks between the characters of a script that has no spaces, and leaves no bullet alone', () => {
    expect(wrap('- 漢字かな交じり文はたいてい', 18)).toBe('- 漢字かな交じり文\n  はたいてい');
  });

  test('keeps the rows of a point below its first word', () => {
    expect(wrap('- one two three four five', 18)).toBe('- one two three\n  four five');
    expect(wrap('10. one two three four', 20)).toBe('10. one two three\n    four');
    expect(wrap('  │ one two three four', 20)).toBe('  │ one two three\n    four');
  });
});

test('the rows of what is typed hold all of it, in order', () =>
  holds(
    fc.property(text, width, (whole, columns) => {
      const line = whole.replaceAll('\n', ' ');
      const rows = rowsOf(line, columns);
      expect(rows.map(({ start, end }) => line.slice(start, end)).join('')).toBe(line);
      for (const { start, end } of rows) expect(widthOf(line.slice(start, end))).toBeLessThanOrEqual(columns);
    }),
  ));
