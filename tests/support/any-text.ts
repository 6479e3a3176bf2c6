import fc from 'fast-check';

/**
 * Texts that nobody types: any UTF-16 unit, NUL, halves of pairs, pairs, marks that belong to the character before, and
 * what looks like an escape.
 */
export const anyText = fc
  .array(
    fc.oneof(
      fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
      fc.constantFrom(
        '\0',
        '\ud83d',
        '\ude00',
        '😀',
        '👩‍👩‍👧',
        'e\u0301',
        '🇩🇪',
        '\\u0000',
        '\\ud83d',
        '\\',
        '"',
        "'",
        '\r\n',
        '\n',
        '\u202e',
        '\ufeff',
        '$1',
        '字',
      ),
      fc.string({ unit: 'grapheme', maxLength: 6 }),
    ),
    { maxLength: 60 },
  )
  .map((parts) => parts.join(''));
