import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { takeAttachments } from '../../../../../src/gateway/channels/shared/markdown.ts';
import { plainWords, toWhatsApp } from '../../../../../src/gateway/channels/whatsapp/text/markup.ts';
import { NEUTRAL } from '../../../../../src/gateway/channels/whatsapp/text/phone-text.ts';
import { documents, wordsOf } from '../../../../support/markdown.ts';
import { holds } from '../../../../support/property.ts';

/** The invisible shield, made visible. */
const visible = (markdown: string) => toWhatsApp(markdown).replaceAll(NEUTRAL, '¦');

describe('markdown on a phone', () => {
  it.each([
    ['headings are bold lines', '# One\n\ntext\n\n### Two **x**', '*One*\n\ntext\n\n*Two x*'],
    ['emphasis is translated', '**b** __b__ *i* _i_ ~~s~~', '*b* *b* _i_ _i_ ~s~'],
    [
      'and nested',
      '**_both_** and **bold with *italic* in it** and ~~**gone**~~',
      '*_both_* and *bold with _italic_ in it* and ~*gone*~',
    ],
    ['and beside punctuation', '(**a**), "*b*": **c**!', '(*a*), "_b_": *c*!'],
    ['but not inside a word, where a phone would show the asterisks', '字**重点**字 and **API**s', '字重点字 and APIs'],
    ['arithmetic is no emphasis', '2*3*4 = x**2 + y**2, ~5 and 10~', '2*3*4 = x¦*¦¦*¦2 + y¦*¦¦*¦2, ¦~¦5 and 10¦~¦'],
    ['nor across code or line ends', '**run `x` now\nplease**', '*run* `x` *now*\n*please*'],
    ['bold in bold is bold once', '**a __b__ c**', '*a b c*'],
    ['names with underscores stay', 'snake_case_name and a_b', 'snake_case_name and a_b'],
    ['so do names of Python', 'see __init__.py and self.__dict__', 'see ¦_¦¦_¦init¦_¦¦_¦.py and self.¦_¦¦_¦dict¦_¦¦_¦'],
    ['lone delimiters need nothing', '2 * 3 * 4, ~5, _x, 3*4', '2 * 3 * 4, ~5, _x, 3*4'],
    [
      'a pair that is no emphasis is shielded',
      '\\*not bold\\* and \\_not italic\\_ and \\`not code\\`',
      '¦*¦not bold¦*¦ and ¦_¦not italic¦_¦ and ¦`¦not code¦`¦',
    ],
    ['links show their address', '[docs](https://x.example/a_b)', 'docs (https://x.example/a_b)'],
    [
      'once',
      '<https://x.example> [x.example](https://x.example/) [](https://y.example)',
      'https://x.example x.example https://y.example',
    ],
    ['also by reference', '[docs][1]\n\n[1]: https://x.example', 'docs (https://x.example)'],
    ['an address that nothing refers to is shown', '[1]: https://x.example', '[1] https://x.example'],
    [
      'images are their text and address',
      '![a cat](https://x.example/c.png) ![](https://x.example/d.png)',
      'a cat (https://x.example/c.png) https://x.example/d.png',
    ],
    ['lists keep their shape', '- a\n- b\n  - c\n    1. d', '- a\n- b\n  ◦ c\n    1. d'],
    ['numbers start where they start', '7. a\n8. b', '7. a\n8. b'],
    ['tasks have boxes', '- [ ] a\n- [x] b', '☐ a\n☑ b'],
    ['quotes are quotes', '> a\n>\n> b', '> a\n> b'],
    ['rules are lines', 'a\n\n---\n\nb', 'a\n\n—————\n\nb'],
    ['html is text', 'a <b>c</b><br>d\n\n<div>e</div>', 'a <b>c</b>\nd\n\n<div>e</div>'],
    ['footnotes have their labels', 'a[^1]\n\n[^1]: b', 'a[1]\n\n[1] b'],
    ['lines stay lines', 'a\nb  \nc', 'a\nb\nc'],
    ['what is no list is none', '\\- a\n\n\\> b\n\n\\* c', '¦- a\n\n¦> b\n\n¦* c'],
  ])('%s', (_, markdown, expected) => expect(visible(markdown)).toBe(expected));

  it('defect 15: code is never altered', () => {
    expect(toWhatsApp('`a_b *c*` and `` x`y ``')).toBe('`a_b *c*` and ```x`y```');
    expect(toWhatsApp('```ts\n  **a**  \n\n\n\t# b\n- c\n```')).toBe('```\n  **a**  \n\n\n\t# b\n- c\n```');
    expect(toWhatsApp('~~~\n```\nx\n```\n~~~')).toBe('````\n```\nx\n```\n````');
    expect(toWhatsApp('```\nunclosed *a*')).toBe('```\nunclosed *a*\n```');
    expect(toWhatsApp('- item\n  ```\n  a\n    b\n  ```\n- next')).toBe('- item\n```\na\n  b\n```\n- next');
    expect(toWhatsApp('> ```\n> a\n> ```')).toBe('```\na\n```');
    expect(toWhatsApp('```sh title="run.sh"\nls\n```')).toBe('title="run.sh"\n```\nls\n```');
  });

  describe('a diff without a fence is code', () => {
    const diff =
      'diff --git a/x.md b/x.md\nindex 1f2e3d4..5a6b7c8 100644\n--- a/x.md\n+++ b/x.md\n@@ -1,4 +1,4 @@\n # **Title**\n-- old_item_\n+- new *item*\n \n \tlast';
    it.each([
      [
        'from git, with words around it',
        `Here it is:\n\n${diff}\n\n- **done**`,
        `Here it is:\n\n\`\`\`\n${diff}\n\`\`\`\n\n- *done*`,
      ],
      ['without a line between', `Here:\n${diff}\nAnd **more**`, `Here:\n\n\`\`\`\n${diff}\n\`\`\`\n\nAnd *more*`],
      [
        'whose empty line lost its space',
        `${diff.replace('\n \n', '\n\n')}\n- a`,
        `\`\`\`\n${diff.replace('\n \n', '\n\n')}\n- a\n\`\`\``,
      ],
      ['with two files', `${diff}\n\n${diff}`, `\`\`\`\n${diff}\n\n${diff}\n\`\`\``],
      ['of names and lines alone', '--- a/x\n+++ b/x\n-a *b*\n+a *c*', '```\n--- a/x\n+++ b/x\n-a *b*\n+a *c*\n```'],
      ['of one hunk alone', '@@ -1 +1 @@\n-a\n+b', '```\n@@ -1 +1 @@\n-a\n+b\n```'],
      ['with fences in it', '@@ -1 +1,2 @@\n-```\n+````\n+x', '`````\n@@ -1 +1,2 @@\n-```\n+````\n+x\n`````'],
      ['and one in a fence stays as it is', `\`\`\`diff\n${diff}\n\`\`\``, `\`\`\`\n${diff}\n\`\`\``],
      ['and a rule with plus signs is none', 'a\n\n---\n\n+ b', 'a\n\n—————\n\n- b'],
    ])('%s', (_, markdown, expected) => expect(toWhatsApp(markdown)).toBe(expected));
  });

  it('a narrow table is aligned, a wide one becomes rows of names and values', () => {
    expect(toWhatsApp('| Name | Price |\n|---|---:|\n| Apple | 1 |\n| `kiwi` | 10 |')).toBe(
      '```\nName   Price\n-----  -----\nApple      1\nkiwi      10\n```',
    );
    expect(
      toWhatsApp(
        '| Name | What it does |\n|---|---|\n| **a** | [builds](https://x.example) all of the project |\n| b | |',
      ),
    ).toBe(
      '*Name*: *a*\n*What it does*: builds (https://x.example) all of the project\n\n*Name*: b\n*What it does*: –',
    );
    expect(toWhatsApp('| 名 | 値 |\n|---|---|\n| あ | 1 |')).toBe('*名*: あ\n*値*: 1');
    expect(toWhatsApp('| only | head |\n|---|---|')).toBe('*only* | *head*');
  });

  it('characters that make a text look like another one are removed, and end with the code that contains them', () => {
    expect(toWhatsApp('a\u202eb\u2066c&#8238;d\u0007e\u009b')).toBe('abcde');
    expect(toWhatsApp('[x](https://a.example/\u202egpj.exe)')).toBe('x (https://a.example/gpj.exe)');
    expect(toWhatsApp('`a\u202eb\u2067c` d')).toBe('`a\u202eb\u2067c`\u2069\u202c d');
    expect(toWhatsApp('a \ud800 b').isWellFormed()).toBe(true);
  });

  it('a phone shows every word of what was said, and code byte for byte', () => {
    holds(
      fc.property(documents, ({ markdown, shown }) => {
        expect(plainWords(toWhatsApp(markdown))).toEqual(wordsOf(shown));
      }),
      { runs: 200 },
    );
  });

  it('any input has an answer', () => {
    const soup = fc.array(
      fc.constantFrom(
        '*',
        '**',
        '_',
        '~~',
        '`',
        '```',
        '\n',
        '\n\n',
        ' ',
        '> ',
        '- ',
        '1. ',
        '| ',
        '|-',
        '[',
        '](',
        ')',
        '![',
        '<',
        '>',
        '\\',
        '&#0;',
        'a',
        'b c',
        '[^1]',
        ':',
        '\t',
        '    ',
        '#',
      ),
      { maxLength: 60 },
    );
    holds(
      fc.property(
        fc.oneof(
          soup.map((parts) => parts.join('')),
          fc.string({ unit: 'binary' }),
        ),
        (markdown) => {
          const letters = (text: string) => text.replace(/[^abc]/g, '');
          const output = toWhatsApp(markdown);
          expect(output.isWellFormed()).toBe(true);
          // the language of a fence is dropped, also of one in a list or a quote
          if (!/[[|#&<]/.test(markdown) && !/^[\s>*+\-\d.)]*(?:`{3,}|~{3,}).*\S/m.test(markdown))
            expect(letters(output)).toBe(letters(markdown));
        },
      ),
      { runs: 400 },
    );
  });

  it('what is nested deeper than anybody writes is shown as it was written', () => {
    expect(toWhatsApp(`${'> '.repeat(60)}deep **down**`)).toBe(`${'> '.repeat(60)}deep **down**`);
    expect(toWhatsApp('-'.repeat(200))).toBe('—————');
    expect(toWhatsApp('> > - **three** deep')).toContain('*three* deep');
  });

  it('hostile input costs no more than a moment', () => {
    const started = performance.now();
    const stair = Array.from({ length: 300 }, (_, step) => `${' '.repeat(2 * step)}- x`).join('\n');
    for (const markdown of [
      '> '.repeat(1_500),
      '>'.repeat(5_000),
      '- '.repeat(5_000),
      '1. '.repeat(3_000),
      stair,
      '[['.repeat(3_900),
      '*a _b '.repeat(30_000),
      '`'.repeat(50_000),
      '![a]('.repeat(2_000),
    ])
      takeAttachments(`${toWhatsApp(markdown)}${markdown}attachment:`);
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});
