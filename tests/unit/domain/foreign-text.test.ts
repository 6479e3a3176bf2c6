import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { blockQuote, codeFence, inline, visible } from '../../../src/domain/text/foreign-text.ts';
import { endedCallItem } from '../../../src/store/turns/steps/calls.ts';
import { holds } from '../../support/property.ts';

/** What a terminal obeys, what hides, and what looks like our own lines, in any order. */
const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '\u001b[2J',
        '\u001b]0;title\u0007',
        '\u009b1A',
        '\r',
        '\n',
        '\u2028',
        '\u202e',
        '\u2066',
        '\u0000',
        '```',
        '\ud800',
        '› yes\n',
        'ok',
      ),
      fc.string({ unit: 'binary' }),
    ),
  )
  .map((parts) => parts.join(''));

const FORBIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/;

describe('text of others', () => {
  it('holds nothing that a terminal obeys or a person cannot see', () => {
    holds(
      fc.property(hostile, (text) => {
        const shown = visible(text);
        expect(shown).not.toMatch(FORBIDDEN);
        expect(shown.isWellFormed()).toBe(true);
      }),
    );
  });

  it('has a mark on every line of a quotation', () => {
    holds(
      fc.property(hostile, (text) => {
        for (const line of blockQuote(text).split('\n')) expect(line).toMatch(/^>/);
      }),
    );
  });

  it('cannot close the fence that it stands in', () => {
    holds(
      fc.property(hostile, (text) => {
        const lines = codeFence(text).split('\n');
        expect(lines.slice(1, -1).some((line) => line.includes(lines[0]!))).toBe(false);
        expect(lines.at(-1)).toBe(lines[0]);
      }),
    );
  });

  it('stays on one line, and short, inside of a sentence', () => {
    holds(
      fc.property(hostile, fc.integer({ min: 1, max: 80 }), (text, most) => {
        const line = inline(text, most);
        expect(line).not.toMatch(/[\n\r]/);
        expect(line.length).toBeLessThanOrEqual(most);
        expect(line.isWellFormed()).toBe(true);
      }),
    );
  });

  it('is shown so in the item of a tool call, with everything that goes beside it', () => {
    holds(
      fc.property(hostile, (text) => {
        const item = {
          id: 'i',
          turn_id: 't',
          thread_id: 'h',
          kind: 'tool_call',
          status: 'in_progress',
          summary: '',
          detail: null,
          metadata: null,
        } as const;
        const open = { ...item, started_at: null, ended_at: null };
        const { summary, detail, metadata } = endedCallItem(open, 'web_fetch', {
          ok: true,
          output: text,
          metadata: { title: text, lines: [{ text }] },
        });
        expect(JSON.stringify([summary, detail, metadata])).not.toMatch(/\\u00[0189]/);
        expect(`${summary}${detail}${(metadata as { title: string }).title}`).not.toMatch(FORBIDDEN);
      }),
    );
  });

  it('loses nothing that people write', () => {
    for (const text of ['naïve façade', '👩‍👩‍👧 family', 'کتاب‌ها', '1\t2\n3']) expect(visible(text)).toBe(text);
    expect(visible('\u001b[31mred\u001b[0m')).toBe('red');
    // bytes that are hidden behind an emoji
    expect(visible(`☺\ufe0f${'\u{e0158}\u200b\u{e0159}'.repeat(50)} ok`)).toBe('☺\ufe0f ok');
    for (const text of ['☺\ufe0f☹\ufe0e', '葛\u{e0100}城']) expect(visible(text)).toBe(text);
  });
});
