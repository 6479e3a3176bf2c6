import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { BrowserAnswer } from '../../../src/adapters/kennel/browser/browsers.ts';
import { openedOutcome } from '../../../src/tools/browser/open.ts';
import { pageIn, pageOutcome } from '../../../src/tools/browser/page.ts';

const done = (result: Record<string, unknown>) => ({ success: true, error: null, result });
const failed = (error: string) => ({ success: false, error, result: null });
const reading = (snapshot: string, url = 'https://shop.example/') => [
  done({ url }),
  done({ title: 'Shop' }),
  done({ snapshot, refs: { e1: {} } }),
];
const answer = (answers: BrowserAnswer['answers'], rest: Partial<BrowserAnswer> = {}): BrowserAnswer => ({
  answers,
  refused: [],
  fresh: false,
  ...rest,
});
const outputOf = (snapshot: string) => {
  const all = answer(reading(snapshot));
  return pageOutcome(pageIn(all)!, all).output;
};

it('numbers elements as the contract does, and leaves the words of the page as they are', () => {
  expect(outputOf('- link "ref=e5 it" [ref=e12, url=https://shop.example/?ref=e7]')).toContain(
    '- link "ref=e5 it" [ref=12, url=https://shop.example/?ref=e7]',
  );
});

it('gives a page of any length in a bounded text, whose first part has its head and its tail', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 300 }), { maxLength: 2_000 }), (lines) => {
      const tree = [
        '- heading "HEAD" [ref=e1]',
        ...lines.map((line) => `- text ${line.replaceAll('\n', ' ')}`),
        '- heading "TAIL" [ref=e2]',
      ].join('\n');
      const output = outputOf(tree);
      expect(output.length).toBeLessThan(110_000);
      expect(output.isWellFormed()).toBe(true);
      expect(output.slice(0, 8_000)).toContain('"HEAD"');
      expect(output.slice(0, 8_000)).toContain('"TAIL"');
    }),
    { numRuns: 60 },
  );
});

it('hides nothing that moves the cursor or turns the direction of reading', () => {
  expect(outputOf('- text \u001b[2Jgone \u202eback')).toContain('- text gone back');
});

it.each([
  [
    [failed('Navigation failed: net::ERR_TUNNEL_CONNECTION_FAILED'), ...reading('', 'chrome-error://chromewebdata/')],
    'its name does not exist, or no server answers there.',
  ],
  [
    [failed('Navigation failed: net::ERR_CERT_DATE_INVALID'), ...reading('', 'chrome-error://chromewebdata/')],
    'its certificate is not valid (ERR_CERT_DATE_INVALID).',
  ],
  [
    [failed('net::ERR_BLOCKED_BY_ADMINISTRATOR'), ...reading('', 'about:blank')],
    'the browser opens only pages of the web.',
  ],
  [[failed('something new'), failed('a'), failed('b'), failed('c')], 'something new'],
])('says why a page was not opened', (answers, why) => {
  expect(openedOutcome('https://shop.example/x', answer(answers))).toMatchObject({
    ok: false,
    output: `shop.example could not be opened: ${why}`,
  });
});

it('names the rule of a person and the private address that closed a page', () => {
  const nothing = [failed('net::ERR_TUNNEL_CONNECTION_FAILED'), ...reading('', 'chrome-error://chromewebdata/')];
  const outcome = (words: string, port = 443) =>
    openedOutcome('https://shop.example/', answer(nothing, { refused: [{ host: 'shop.example', port, words }] }));
  expect(outcome('The person has not allowed it.').output).toBe('The person has not allowed it.');
  expect(outcome('not public', 8443).output).toMatch(/^shop\.example could not be opened/);
});

it('does not take a page for refused because one of its parts was', () => {
  const all = answer(reading('- heading "Shop" [ref=e1]'), {
    refused: [{ host: 'shop.example', port: 8080, words: 'not public' }],
  });
  expect(pageOutcome(pageIn(all)!, all)).toMatchObject({
    ok: true,
    output: expect.stringContaining('The page also asked for shop.example:8080, which was refused.'),
  });
});
