import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { parseSignOff, signedOff } from '../../../src/domain/chat/words/sign-off.ts';
import { holds } from '../../support/property.ts';

const ADA = { name: 'Ada Lovelace', email: 'ada@example.com' };

describe('the words that say who the commits are by', () => {
  test.each([
    ['sign as Ada Lovelace <ada@example.com>', { as: ADA }],
    ['Sign off as "Ada Lovelace" <ada@example.com>.', { as: ADA }],
    ['/sign as Ada Lovelace <ada@example.com>', { as: ADA }],
    ['sign as me', { as: 'me' }],
    ['sign as myself.', { as: 'me' }],
    ['sign as Fetch', { as: null }],
    ['sign', 'who'],
    ['sign off', 'who'],
  ])('"%s"', (text, meant) => expect(parseSignOff(text)).toEqual(meant));

  test.each(['sign as Ada', 'sign the contract', 'sign as many as you can', 'please sign as me', 'design', ''])(
    'are not in "%s"',
    (text) => expect(parseSignOff(text)).toBeNull(),
  );

  test.each([
    'sign as Ada <ada>',
    'sign as <ada@example.com>',
    'sign as Ada ada@example.com',
    'sign as Ada <a b@example.com>',
    'sign as Ada <ada@x@y>',
  ])('say what is wrong in "%s"', (text) => expect(parseSignOff(text)).toEqual({ problem: 'sign.form' }));

  it('give nothing that could break out of a commit, whatever is written', () =>
    holds(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 60 }),
        fc.string({ unit: 'binary', maxLength: 60 }),
        (name, email) => {
          const order = parseSignOff(`sign as ${name} <${email}>`);
          if (order === null || order === 'who' || 'problem' in order || order.as === null || order.as === 'me') return;
          expect(`${order.as.name}${order.as.email}`).not.toMatch(/[<>\r\n\0]/);
        },
      ),
    ));
});

describe('a message that a person signs off', () => {
  test.each([
    ['Add a page', 'Add a page\n\nSigned-off-by: Ada Lovelace <ada@example.com>'],
    ['Fix: a colon', 'Fix: a colon\n\nSigned-off-by: Ada Lovelace <ada@example.com>'],
    [
      'Add a page\n\nFetch-Task: tsk_1\n',
      'Add a page\n\nFetch-Task: tsk_1\nSigned-off-by: Ada Lovelace <ada@example.com>',
    ],
    [
      'Add a page\n\nIt shows the time.',
      'Add a page\n\nIt shows the time.\n\nSigned-off-by: Ada Lovelace <ada@example.com>',
    ],
  ])('%j', (message, signed) => {
    expect(signedOff(message, ADA)).toBe(signed);
    const trailers = execFileSync('git', ['interpret-trailers', '--parse'], { input: `${signed}\n`, encoding: 'utf8' });
    expect(trailers).toContain('Signed-off-by: Ada Lovelace <ada@example.com>');
  });

  it('is as it was without a person', () => expect(signedOff('Add a page', null)).toBe('Add a page'));
});
