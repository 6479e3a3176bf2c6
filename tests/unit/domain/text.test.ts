import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { partsOf } from '../../../src/activities/turn/context/compact.ts';
import { type DialogueMessage, toModelMessages } from '../../../src/domain/chat/context/context.ts';
import { InternalFilter, withoutInternal } from '../../../src/domain/text/internal.ts';
import {
  betweenPairs,
  cut,
  prefix,
  storableJson,
  storableText,
  suffix,
  wholePairs,
} from '../../../src/domain/text/storable.ts';
import { sanitiseText } from '../../../src/gateway/intake/sanitise.ts';
import { excerpt } from '../../../src/tools/interaction.ts';
import { anyText } from '../../support/any-text.ts';
import { holds } from '../../support/property.ts';

const readers = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

describe('any text', () => {
  it('is storable without NUL and halves of pairs, and otherwise unchanged', () => {
    holds(
      fc.property(anyText, (text) => {
        const stored = storableText(text);
        expect(stored.isWellFormed()).toBe(true);
        expect(stored).not.toContain('\0');
        expect(storableText(stored)).toBe(stored);
        if (text.isWellFormed() && !text.includes('\0')) expect(stored).toBe(text);
        expect(stored).toBe(text.replaceAll('\0', '').toWellFormed());
      }),
    );
  });

  it('is the same in JSON, as a value and as a key, and a text that looks like an escape stays', () => {
    holds(
      fc.property(anyText, anyText, fc.jsonValue(), (key, text, other) => {
        const stored = JSON.parse(storableJson({ [key]: [text, { deep: text }], other, at: new Date(0) })) as Record<
          string,
          unknown
        >;
        expect(storableJson({ [key]: [text], other })).not.toMatch(/(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/);
        expect(stored.at).toBe('1970-01-01T00:00:00.000Z');
        const name = storableText(key);
        if (name !== 'other' && name !== 'at')
          expect(stored[name]).toEqual([storableText(text), { deep: storableText(text) }]);
      }),
    );
    for (const text of ['\\u0000', '\\\\ud83d', 'C:\\u0000\\d800'])
      expect(JSON.parse(storableJson([text]))).toEqual([text]);
  });

  it('is cut to its length between two characters as a reader sees them', () => {
    holds(
      fc.property(anyText, fc.integer({ min: 0, max: 120 }), (given, length) => {
        const text = storableText(given);
        const begin = prefix(text, length);
        expect(text.startsWith(begin)).toBe(true);
        expect(begin.length).toBeLessThanOrEqual(length);
        expect(begin.isWellFormed()).toBe(true);
        expect(cut(text, length + 3).isWellFormed()).toBe(true);
        expect(suffix(text, length).isWellFormed()).toBe(true);
        expect(text.endsWith(suffix(text, length))).toBe(true);
        const places = [...readers.segment(text)].map(({ index }) => index);
        const longest = Math.max(0, ...places.map((at, n) => (places[n + 1] ?? text.length) - at));
        if (longest <= Math.min(32, length) && length < text.length) expect(places).toContain(begin.length);
      }),
      { runs: 500 },
    );
    expect(cut(`${'x'.repeat(276)}👩‍👩‍👧 and more`, 280)).toBe(`${'x'.repeat(276)}...`);
    expect(prefix(`e${'\u0301'.repeat(500)}`, 100)).toHaveLength(100);
  });

  it('is read on page by page without losing or repeating anything, whatever the size of a page', () => {
    holds(
      fc.property(anyText, fc.integer({ min: 1, max: 50 }), (given, limit) => {
        const text = storableText(given);
        let read = '';
        for (let offset = 0; offset < text.length; ) {
          const { output, metadata } = excerpt(text, { offset, limit, of: 'It' });
          read += output.slice(0, (metadata!.end as number) - offset);
          expect(metadata!.end as number).toBeGreaterThan(offset);
          offset = metadata!.end as number;
        }
        expect(read).toBe(text);
      }),
    );
  });

  it('that comes in pieces is shown without halves, and whole in the end', () => {
    holds(
      fc.property(anyText, fc.array(fc.nat(50)), (given, cuts) => {
        const text = storableText(given);
        const places = [...new Set(cuts.map((at) => Math.min(at, text.length)))].sort((a, b) => a - b);
        let [shown, pending] = ['', ''];
        for (const [n, at] of [...places, text.length].entries()) {
          pending += text.slice(places[n - 1] ?? 0, at);
          const whole = wholePairs(pending);
          expect(whole.isWellFormed()).toBe(true);
          shown += whole;
          pending = pending.slice(whole.length);
        }
        expect(shown + pending).toBe(text);
      }),
    );
    expect(betweenPairs('a😀', 2)).toBe(1);
  });

  it('is cleaned in time that people do not notice, however many marks of flags it has', () => {
    const started = performance.now();
    expect(sanitiseText('\u{e0041}'.repeat(200_000))).toBe('');
    expect(sanitiseText(`🏴${'\u{e0067}'.repeat(5)}\u{e007f}`)).toBe(`🏴${'\u{e0067}'.repeat(5)}\u{e007f}`);
    expect(performance.now() - started).toBeLessThan(1_000);
  });
});

describe('what is too long for one request', () => {
  it('is summed up in parts that hold every word of it', () => {
    holds(
      fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 3_000 }), { maxLength: 20 }), (lines) => {
        const parts = partsOf(lines, 1_000);
        for (const part of parts) expect(part.length).toBeLessThanOrEqual(1_000);
        expect(parts.join('').replaceAll('\n', '')).toBe(lines.join('').replaceAll('\n', ''));
      }),
    );
  });

  it('is a message whose beginning is shown, with how to read on', () => {
    const said: DialogueMessage = {
      id: 'msg_1',
      ord: 1,
      role: 'user',
      content: `${'x'.repeat(99)}😀 and more`,
      call_ids: [],
      tokens: 30,
    };
    const [, shown] = toModelMessages('s', null, [said], new Map(), new Map(), { message: 100, output: 8000 });
    expect(shown!.content).toBe(
      `${'x'.repeat(99)}\n[cut at 99 of 110 characters of this message; read on with read_output {"callId":"msg_1","offset":99}]`,
    );
    expect(toModelMessages('s', null, [said], new Map(), new Map(), { message: 200, output: 8000 })[1]!.content).toBe(
      said.content,
    );
  });
});

it.each([
  ['It rains. <internal>as before</internal>', 'It rains.'],
  ['<internal>nothing new</internal>', ''],
  ['a<internal>b</internal>c<internal>d', 'ac'],
  ['</internal> stays', '</internal> stays'],
  ['plain', 'plain'],
])('%j without what is internal', (text, kept) => {
  expect(withoutInternal(text)).toBe(kept);
});

it('an answer in parts shows the same as the whole, however it is cut', () => {
  const piece = fc.constantFrom('<internal>', '</internal>', 'It rains. ', '<', '</', 'int', '\n', '<internal');
  holds(
    fc.property(fc.array(piece, { maxLength: 12 }), fc.array(fc.nat(60), { maxLength: 8 }), (pieces, cuts) => {
      const text = pieces.join('');
      const filter = new InternalFilter();
      const places = [0, ...cuts.filter((at) => at < text.length).sort((a, b) => a - b), text.length];
      const shown = places.slice(1).map((end, at) => filter.add(text.slice(places[at], end)));
      expect((shown.join('') + filter.end()).trim()).toBe(withoutInternal(text));
    }),
    { runs: 500 },
  );
});
