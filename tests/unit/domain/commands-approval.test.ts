import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseApproval, parseCommand } from '../../../src/domain/chat/words/commands.ts';
import { holds } from '../../support/property.ts';

const allow = { decision: 'allow', remember: false, skip: false };
const deny = { decision: 'deny', remember: false, skip: false };
const all = { decision: 'allow', remember: true, skip: false };
const skip = { decision: 'deny', remember: false, skip: true };

test.each([
  ['yes', allow],
  ['Y', allow],
  ['👍🏽', allow],
  ['✅', allow],
  ['no', deny],
  ['N.', deny],
  ['👎', deny],
  ['yes all', all],
  ['Always!', { decision: 'allow', remember: false, skip: false, always: 'asked' }],
  ['Yes, all!', all],
  ['yes to all', all],
  ['👍🏼 all', all],
  ['skip', skip],
  ['Skip it.', skip],
  ['⏭️', skip],
])('%j answers an approval', (text, answer) => expect(parseApproval(text)).toEqual(answer));

test.each(['yes but not the tests', 'all', 'skip the tests and run it', 'no all', 'stop', 'status', '', '❤️', 'yesall'])(
  '%j decides nothing',
  (text) => expect(parseApproval(text)).toBeNull(),
);

test('to skip is no command: without an open question it is a message like any other', () => {
  expect(parseCommand('skip')).toBeNull();
  expect(parseCommand('yes all')).toBeNull();
});

test('nothing but the listed words allows anything', () => {
  const words = new Set([
    'yes',
    'y',
    'yes please',
    'yep',
    'ok',
    'okay',
    'allow',
    'approve',
    'yes all',
    'y all',
    'allow all',
    'always',
  ]);
  holds(
    fc.property(fc.string({ unit: 'grapheme-ascii', maxLength: 12 }), (text) => {
      const plain = text
        .trim()
        .toLowerCase()
        .replace(/[\s,]+/g, ' ')
        .replace(/[.!\s]+$/, '');
      if (!words.has(plain)) expect(parseApproval(text)?.decision).not.toBe('allow');
    }),
  );
});
