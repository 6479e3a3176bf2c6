import { expect, it } from 'vitest';
import { normalUrl, standsIn, urlsIn } from '../../src/domain/consent/taint.ts';
import * as evidence from '../../src/domain/text/evidence.ts';
import { withDocuments } from '../../src/domain/text/files.ts';
import * as foreign from '../../src/domain/text/foreign-text.ts';
import { lenientJson } from '../../src/domain/text/lenient-json.ts';
import { secretIn } from '../../src/domain/text/secrets.ts';
import * as storable from '../../src/domain/text/storable.ts';
import { takeAttachments } from '../../src/gateway/channels/shared/markdown.ts';
import { plainWords, readLine } from '../../src/gateway/channels/whatsapp/text/phone-text.ts';
import { cutText } from '../../src/gateway/channels/whatsapp/text/split.ts';
import { sanitiseText } from '../../src/gateway/intake/sanitise.ts';

/**
 * Whoever writes to us, or writes a page that is read, chooses these texts. A function whose steps grow with the square
 * of the text lets one message hold a process for minutes.
 */

const tolerant = (act: () => unknown): void => {
  try {
    act();
  } catch {}
};

const FUNCTIONS: Record<string, (text: string) => unknown> = {
  urlsIn: (text) => urlsIn(text, true),
  normalUrl,
  standsIn: (text) => standsIn(text, [text, `${text} x`]),
  'evidence.visible': evidence.visible,
  visibleLine: evidence.visibleLine,
  quotedEvidence: evidence.quotedEvidence,
  quotedIn: evidence.quotedIn,
  commandEvidence: evidence.commandEvidence,
  argumentsEvidence: (text) => evidence.argumentsEvidence({ text }),
  pageEnd: (text) => evidence.pageEnd(text, 0),
  note: (text) => foreign.note(text, text),
  oneLine: foreign.oneLine,
  saidBy: (text) => foreign.saidBy({ name: text, owner: false }, text),
  withDocuments: (text) =>
    withDocuments(text, [{ id: 'att_1', kind: 'document', name: text, text, picture: null }], text.length),
  'foreign.visible': foreign.visible,
  'foreign.inline': (text) => foreign.inline(text),
  blockQuote: foreign.blockQuote,
  codeFence: (text) => foreign.codeFence(text),
  lenientJson: (text) => tolerant(() => lenientJson(text)),
  secretIn: (text) => secretIn(text, ['a secret of ours']),
  storableText: storable.storableText,
  storableJson: storable.storableJson,
  prefix: (text) => storable.prefix(text, text.length - 2),
  suffix: (text) => storable.suffix(text, text.length - 2),
  wholePairs: storable.wholePairs,
  readLine,
  plainWords,
  cutText: (text) => cutText(text, 4000),
  sanitiseText: (text) => sanitiseText(text),
  takeAttachments: (text) => tolerant(() => takeAttachments(text)),
};

/** Each is repeated until the text is long enough, alone and behind a beginning that makes it something. */
const PIECES = [
  ...['a', ' ', '\n', ')', '*', '`', '"', '\\', '[', '{', '<', '\u200b', '\u0301', '👍', '\ud800'],
  ...[
    '*a* ',
    '`a` ',
    '`a``',
    '```\n',
    '\n\n',
    '> ',
    '- [ ] ',
    '![](',
    '[a](b)',
    '{"a":',
    'https://',
    'a.b ',
    'a; ',
    '\u001b[',
  ],
];
const BEGINNINGS = ['', 'https://a.b/'];

const [SHORT, LONG] = [6_000, 24_000];
/** A linear function takes less for the long text even on a slow machine; anything above is measured for both. */
const QUICK_MS = 60;
/** Four times the text takes four times as long, or sixteen times when the steps grow with the square. */
const MOST_GROWTH = 9;

/** CPU and not time, because other processes work as well; the least of several, because this one collects garbage. */
function cpuMs(act: (text: string) => unknown, text: string, times: number): number {
  const taken = Array.from({ length: times }, () => {
    const before = process.cpuUsage();
    act(text);
    return process.cpuUsage(before).user / 1000;
  });
  return Math.min(...taken);
}

it.each(Object.entries(FUNCTIONS))(
  '%s takes a time that grows no faster than the text',
  (_, act) => {
    const slow: string[] = [];
    for (const piece of PIECES)
      for (const begin of BEGINNINGS) {
        const text = (length: number) => begin + piece.repeat(Math.ceil(length / piece.length));
        if (cpuMs(act, text(LONG), 1) < QUICK_MS) continue;
        const [short, long] = [cpuMs(act, text(SHORT), 3), cpuMs(act, text(LONG), 2)];
        if (long > QUICK_MS && long / short > MOST_GROWTH)
          slow.push(`${JSON.stringify(begin + piece)}: ${short} ms, then ${long} ms`);
      }
    expect(slow).toEqual([]);
  },
  240_000,
);

it('an address with thousands of closing brackets behind it is tried with a few endings only', () => {
  const text = `https://a.b/${')'.repeat(3_900)} `.repeat(25);
  expect(cpuMs((hostile) => urlsIn(hostile, true), text, 3)).toBeLessThan(500);
});
