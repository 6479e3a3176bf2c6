import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Inline } from '../../../src/page/shared/text/inline.ts';
import { inlineOf } from '../../../src/page/shared/text/inline.ts';
import { attachmentIn, type Block, markdownOf, safeAddress } from '../../../src/page/shared/text/markdown.ts';

const textOf = (inline: Inline[]): string =>
  inline
    .map((each) =>
      typeof each === 'string' ? each : 'children' in each ? textOf(each.children) : 'text' in each ? each.text : '\n',
    )
    .join('');

describe('Markdown of an answer', () => {
  it('has headings, lists in lists, tasks, quotes, code and tables', () => {
    const blocks = markdownOf(
      [
        '# Title',
        'Text **bold** and *thin*',
        '',
        '- one',
        '  - two',
        '- [x] done',
        '',
        '3. three',
        '',
        '> quoted',
        '',
        '```ts',
        'a < b',
        '```',
        '',
        '| a | b |',
        '|---|---|',
        '| 1 | 2 |',
        '',
        '---',
      ].join('\n'),
    );
    expect(blocks.map(({ type }) => type)).toEqual([
      'heading',
      'paragraph',
      'list',
      'list',
      'quote',
      'code',
      'table',
      'rule',
    ]);
    const [, , list, numbered, , code, table] = blocks as [
      Block,
      Block,
      Extract<Block, { type: 'list' }>,
      Extract<Block, { type: 'list' }>,
      Block,
      Block,
      Extract<Block, { type: 'table' }>,
    ];
    expect(list.items.map(({ checked, children }) => [checked, children.length])).toEqual([
      [null, 2],
      [true, 1],
    ]);
    expect(numbered.start).toBe(3);
    expect(code).toEqual({ type: 'code', text: 'a < b', language: 'ts' });
    expect(table.rows).toEqual([[['1'], ['2']]]);
  });

  it.each<[string, Inline[]]>([
    ['**a *b* c**', [{ type: 'strong', children: ['a ', { type: 'em', children: ['b'] }, ' c'] }]],
    ['snake_case_name', ['snake_case_name']],
    ['2 * 3 * 4', ['2 * 3 * 4']],
    ['``a ` b``', [{ type: 'code', text: 'a ` b' }]],
    ['\\*not\\*', ['*not*']],
    [
      'see https://a.example/x_(y). Then',
      ['see ', { type: 'link', href: 'https://a.example/x_(y)', children: ['https://a.example/x_(y)'] }, '. Then'],
    ],
    ['[a](https://b.example)', [{ type: 'link', href: 'https://b.example', children: ['a'] }]],
    ['![p](attachment:att_1)', [{ type: 'image', href: 'attachment:att_1', text: 'p' }]],
    ['<b>x</b>', ['<b>x</b>']],
    ['~~old~~', [{ type: 'del', children: ['old'] }]],
  ])('reads %s', (text, expected) => expect(inlineOf(text)).toEqual(expected));

  it('loses no letter of any text', () => {
    const letters = (text: string): string => text.replace(/[^a-z]/g, '');
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', 'b', ' ', '*', '_', '`', '~', '[', ']', '(', ')', '!', '<', '\\') }),
        (text) => {
          // the target of a link is not part of its words
          fc.pre(!text.includes(']('));
          expect(letters(textOf(inlineOf(text)))).toBe(letters(text));
        },
      ),
    );
  });

  it.each([
    ['quotes', '>'.repeat(50_000)],
    ['lists', '- '.repeat(50_000)],
    ['stars', '**a '.repeat(50_000)],
    ['brackets', '['.repeat(100_000)],
    ['brackets with an end', `${'['.repeat(100_000)}](x)`],
    ['ticks', '`a``b'.repeat(30_000)],
    ['underlines', ' _a'.repeat(50_000)],
    ['addresses', 'https://'.repeat(20_000)],
    ['cells', `|${'a|'.repeat(30_000)}\n|${'-|'.repeat(30_000)}`],
    ['a stair', Array.from({ length: 2_000 }, (_, at) => `${' '.repeat(at)}- x`).join('\n')],
    ['lines', '- a\n\n'.repeat(30_000)],
  ])('reads hostile %s in a moment', (_, text) => {
    const began = performance.now();
    markdownOf(text);
    expect(performance.now() - began).toBeLessThan(1_500);
  });

  it.each([
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'data:text/html,x',
    '//evil.example',
    'vbscript:x',
    '/v1/threads',
    'https://',
    ' https://a.example',
  ])('makes no link to %s', (href) => expect(safeAddress(href)).toBeNull());

  it('knows files of the thread by their plain ids only', () => {
    expect(attachmentIn('attachment:att_12')).toBe('att_12');
    expect(attachmentIn('attachment:../../threads')).toBeNull();
  });
});
