import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { plainWords, toWhatsApp } from '../../../../../src/gateway/channels/whatsapp/text/markup.ts';
import { fencedBlocks } from '../../../../../src/gateway/channels/whatsapp/text/phone-text.ts';
import { asFile, formatReply, splitText } from '../../../../../src/gateway/channels/whatsapp/text/split.ts';
import { documents } from '../../../../support/markdown.ts';
import { holds } from '../../../../support/property.ts';

/**
 * Where each part ends in the text, with the fences that were put around a cut taken off; null when that does not give
 * the text.
 */
function offsets(text: string, parts: readonly string[], at = 0): number[] | null {
  const [part, ...rest] = parts;
  if (part === undefined) return at === text.length ? [] : null;
  const fence = fencedBlocks(text).find(({ codeStart, codeEnd }) => at > codeStart && at < codeEnd)?.fence;
  const body = fence && part.startsWith(`${fence}\n`) ? part.slice(fence.length + 1) : part;
  const closing = /\n?`{3,}$/.exec(body)?.[0] ?? '';
  // a fence at the end may be the text's own, or ours with or without a line end before it
  for (const ours of new Set([closing, closing.replace('\n', ''), ''])) {
    const end = at + body.length - ours.length;
    if (end <= at || text.slice(at, end) !== body.slice(0, body.length - ours.length)) continue;
    const others = offsets(text, rest, end);
    if (others) return [end, ...others];
  }
  return null;
}

describe('a long text', () => {
  const sentence = 'Some words that say a little. ';

  it('stays one message up to the limit', () => {
    expect(splitText('x'.repeat(4000))).toHaveLength(1);
    expect(splitText('')).toEqual([]);
    expect(asFile('x'.repeat(4000), 4000)).toBe(false);
    expect(asFile('x'.repeat(4001), 4000)).toBe(true);
    expect(asFile('x'.repeat(4001), 0)).toBe(false);
  });

  it('is cut at a paragraph, else at a line, else at a sentence, else at a word, else between characters', () => {
    expect(
      splitText(`${'a '.repeat(30)}\n\n${'b '.repeat(5)}\n${'c '.repeat(30)}`, 100).map((part) => part.length),
    ).toEqual([62, 71]);
    expect(splitText(`${'a '.repeat(30)}\n${'b. '.repeat(20)}`, 100)[0]).toBe(`${'a '.repeat(30)}\n`);
    expect(splitText(sentence.repeat(5), 100)[0]).toBe(sentence.repeat(3));
    expect(splitText('word '.repeat(50), 99)[0]).toBe('word '.repeat(19));
    expect(splitText('x'.repeat(100), 40).map((part) => part.length)).toEqual([40, 40, 20]);
  });

  it('is not cut inside emphasis or code of a line while there is another place', () => {
    const [first] = splitText(`${sentence.repeat(2)}*This is bold. And this is bold. And this too.* ${sentence}`, 100);
    expect(first).toBe(sentence.repeat(2));
    expect(splitText(`${'word '.repeat(15)}\`git commit --amend --no-edit\` and`, 100)[0]).toBe('word '.repeat(15));
    expect(splitText(`*${'word '.repeat(60)}*`, 100)[0]).toHaveLength(96);
  });

  it('closes and opens a fenced block again where it is cut, with the fence that it had', () => {
    const code = Array.from({ length: 12 }, (_, i) => `line ${i} of the code`).join('\n');
    const parts = splitText(`Look:\n\n\`\`\`\`\n${code}\n\`\`\`\`\n\nDone.`, 120);
    expect(parts.length).toBeGreaterThan(2);
    const seen = parts.map((part) =>
      fencedBlocks(part).map(({ codeStart, codeEnd, end, fence }) => ({
        code: part.slice(codeStart, codeEnd),
        closed: part.slice(codeEnd, end).endsWith(fence),
      })),
    );
    expect(seen.flat().every(({ closed }) => closed)).toBe(true);
    expect(
      seen
        .flat()
        .map((piece) => piece.code)
        .join('\n'),
    ).toBe(code);
  });

  it('defect 15: loses no character, keeps to the limit and cuts no character in two, whatever it contains', () => {
    const pieces = [
      'word ',
      'Sentence. ',
      '\n',
      '\n\n',
      '\n```\n',
      '\n````\n',
      '`',
      '```',
      '*',
      '_',
      ' ',
      '😀',
      '👩‍👩‍👧',
      'e\u0301',
      ' \u0301',
      '🇩🇪🇫🇷',
      '字',
      '。',
      'x'.repeat(50),
      '     ',
    ];
    holds(
      fc.property(
        fc.array(fc.constantFrom(...pieces), { maxLength: 80 }),
        fc.integer({ min: 32, max: 200 }),
        (chosen, limit) => {
          const text = chosen.join('');
          const parts = splitText(text, limit);
          for (const part of parts) expect(part.length).toBeLessThanOrEqual(limit);
          const boundaries = new Set([...new Intl.Segmenter().segment(text)].map(({ index }) => index));
          const cuts = offsets(text, parts);
          expect(cuts).not.toBeNull();
          for (const cut of cuts!.slice(0, -1)) expect(boundaries).toContain(cut);
        },
      ),
      { runs: 400 },
    );
  });

  it('loses no character of any text at all', () => {
    holds(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), fc.integer({ min: 1, max: 60 }), (text, limit) => {
        const parts = splitText(text, limit);
        expect(offsets(text, parts)).not.toBeNull();
        expect(parts.every((part) => part.isWellFormed())).toBe(true);
      }),
      { runs: 200 },
    );
  });

  it('is read as the same words in its parts as in the whole', () => {
    holds(
      fc.property(documents, fc.integer({ min: 300, max: 600 }), ({ markdown }, limit) => {
        const text = toWhatsApp(markdown);
        const shown = (words: string[]) => words.join('').replace(/\s/g, '');
        expect(shown(splitText(text, limit).flatMap(plainWords))).toBe(shown(plainWords(text)));
      }),
      { runs: 60 },
    );
  });

  it('never begins a part with words that a phone would take for the mark of a list or quote', () => {
    const shown = (words: string[]) => words.join('').replace(/\s/g, '');
    for (const mark of ['-', '*', '◦', '☐', '☑', '>', '> -', '☐x']) {
      const text = `${'word '.repeat(20)}${mark} words ${'word '.repeat(20)}`;
      for (let limit = 60; limit < 140; limit++)
        expect(shown(splitText(text, limit).flatMap(plainWords))).toBe(shown(plainWords(text)));
    }
    // found by the property above at its 1,577th run with the seed 1965401907
    const found = toWhatsApp(
      '- _**`a`**\\)_ ![aaa😀](<https://a.example/b_c_d>)\n  \n  ***\n  \n  10. ~~![😀aaaaa\\`a](<https://a.example/b_c_d>) ![aaaa](<https://e.example/(p)/~u/>) <https://a.example/b_c_d> [`` aaa` ``](<http://x.example/*?q=_r_>) <https://e.example/(p)/~u/>~~\n  11. <https://a.example/b_c_d>\n      aaa**aaaaa**a <http://x.example/*?q=_r_>\n      [`\u000e`](<https://a.example/b_c_d>) ~~**<https://a.example/b_c_d> a**\\) <http://x.example/*?q=_r_> `aaaaaaaa` \\(_`𐀀𐀀𐀀𐀀` a**aa**aaa a**aaaaa**aaaaa a `𐀀𐀀𐀀𐀀𐀀𐀀𐀀`_\\! \\- \\(**<https://e.example/(p)/~u/>**\\)~~\\, [`𐀀𐀀𐀀`](<https://e.example/(p)/~u/>)\n  12. ![a](<https://a.example/b_c_d>)\n- ~~a~~',
    );
    expect(shown(splitText(found, 300).flatMap(plainWords))).toBe(shown(plainWords(found)));
  });

  it('is cut in time that people do not notice, even as one line', () => {
    const started = performance.now();
    expect(splitText(`*${'word. '.repeat(20_000)}*`).length).toBeGreaterThan(29);
    expect(performance.now() - started).toBeLessThan(2_000);
  });
});

describe('a formatted reply', () => {
  it('counts what was done to it', () => {
    expect(formatReply('plain', 4000)).toEqual({
      parts: ['plain'],
      counters: { normalizedCount: 0, chunkedCount: 0, fallbackSplitCount: 0 },
    });
    expect(formatReply('**bold**', 4000)).toEqual({
      parts: ['*bold*'],
      counters: { normalizedCount: 1, chunkedCount: 0, fallbackSplitCount: 0 },
    });
    expect(formatReply(`${'a '.repeat(30)}\n\n${'b '.repeat(30)}`, 70).counters).toEqual({
      normalizedCount: 1,
      chunkedCount: 1,
      fallbackSplitCount: 0,
    });
    expect(formatReply('a '.repeat(60), 70).counters).toMatchObject({ chunkedCount: 1, fallbackSplitCount: 1 });
  });

  it('of nothing has no messages', () => {
    expect(formatReply(' \n\n ', 4000).parts).toEqual([]);
  });
});
