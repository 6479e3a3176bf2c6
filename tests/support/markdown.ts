import fc from 'fast-check';

/** Markdown together with what a reader of it sees: words as text (split at white space later), code as it is. */
export interface Sample {
  markdown: string;
  shown: Array<{ text: string } | { code: string }>;
}

/** What is seen of a text, in the form of plainWords: words, and each piece of code as one entry. */
export function wordsOf(shown: Sample['shown']): string[] {
  const out: string[] = [];
  let text = '';
  const flush = () => {
    out.push(...(text.match(/\S+/gu) ?? []));
    text = '';
  };
  for (const piece of shown) {
    if ('text' in piece) text += piece.text;
    else {
      flush();
      out.push(piece.code);
    }
  }
  flush();
  return out;
}

const join = (parts: readonly Sample[], glue: string): Sample => ({
  markdown: parts.map(({ markdown }) => markdown).join(glue),
  shown: parts.flatMap(({ shown }, i) => (i === 0 ? shown : [{ text: glue }, ...shown])),
});

const escaped = (text: string) => text.replace(/[!-/:-@[-`{-~]/g, '\\$&');
const backticks = (code: string, least: number) =>
  '`'.repeat((code.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length + 1), least));

const characters = [...'aBcxyz789éß字ж*_~`#>-+.!?[](){}<&\\|"\'/:@=$^%,;', '😀', '👍🏽'];
const word = fc.array(fc.constantFrom(...characters), { minLength: 1, maxLength: 8 }).map((chars): Sample => {
  const text = chars.join('');
  return { markdown: escaped(text), shown: [{ text }] };
});
const letters = fc.string({ unit: fc.constantFrom(...'abcé字7'), minLength: 1, maxLength: 5 });

const anyCode = fc.oneof(
  fc.string({ unit: fc.constantFrom(...'ab_* ~`\\<>#-\t'), minLength: 1, maxLength: 12 }),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 8 }).filter((code) => !/[\0\r\n]/.test(code)),
);
const inlineCode = anyCode.map((code): Sample => {
  const fence = backticks(code, 1);
  const pad = /^`|`$|^ .*[^ ].* $/s.test(code) ? ' ' : '';
  return { markdown: fence + pad + code + pad + fence, shown: [{ code }] };
});

const address = fc.constantFrom('https://a.example/b_c_d', 'http://x.example/*?q=_r_', 'https://e.example/(p)/~u/');

function phrase(depth: number, outer: string): fc.Arbitrary<Sample> {
  const simple: fc.Arbitrary<Sample>[] = [
    word,
    word,
    word,
    inlineCode,
    fc.tuple(letters, letters, letters).map(([a, b, c]): Sample => {
      const strong = outer.includes('**') ? a + b + c : `${a}**${b}**${c}`;
      // a cased letter or a digit in front: more likely a power than emphasis
      return { markdown: strong, shown: [{ text: /[abcé7]$/.test(a) ? strong : a + b + c }] };
    }),
    address.map((url): Sample => ({ markdown: `<${url}>`, shown: [{ text: url }] })),
  ];
  if (depth === 0) return fc.oneof(...simple);
  const emphasis = ['**', '_', '~~'].filter((mark) => !outer.includes(mark));
  const nested = emphasis.map((mark) =>
    fc
      .tuple(
        fc.constantFrom('', '(', '"'),
        inlineText(depth - 1, outer + mark),
        fc.constantFrom('', ')', '"', ',', '!'),
      )
      .map(
        ([before, inner, after]): Sample => ({
          markdown: escaped(before) + mark + inner.markdown + mark + escaped(after),
          shown: [{ text: before }, ...inner.shown, { text: after }],
        }),
      ),
  );
  const link = fc
    .tuple(fc.array(fc.oneof(word, inlineCode), { minLength: 1, maxLength: 3 }), address)
    .map(([parts, url]): Sample => {
      const inner = join(parts, ' ');
      return { markdown: `[${inner.markdown}](<${url}>)`, shown: [...inner.shown, { text: ` (${url})` }] };
    });
  const image = fc.tuple(word, address).map(
    ([alt, url]): Sample => ({
      markdown: `![${alt.markdown}](<${url}>)`,
      shown: [...alt.shown, { text: ` (${url})` }],
    }),
  );
  return fc.oneof(...simple, ...nested, link, image);
}

function inlineText(depth: number, outer = ''): fc.Arbitrary<Sample> {
  return fc.array(phrase(depth, outer), { minLength: 1, maxLength: 6 }).map((parts) => join(parts, ' '));
}

const indent = (markdown: string, first: string, rest: string) => first + markdown.replace(/\n/g, `\n${rest}`);

const paragraph = fc.array(inlineText(2), { minLength: 1, maxLength: 3 }).map((parts) => join(parts, '\n'));
const heading = fc
  .tuple(fc.integer({ min: 1, max: 6 }), inlineText(2))
  .map(([level, said]): Sample => ({ markdown: `${'#'.repeat(level)} ${said.markdown}`, shown: said.shown }));
const fenced = fc
  .array(fc.oneof(anyCode, fc.constantFrom('', '```', '    indented', '- x', '# y')), { minLength: 1, maxLength: 5 })
  .map((parts): Sample => {
    const code = parts.join('\n');
    const fence = backticks(code, 3);
    return { markdown: `${fence}js\n${code}\n${fence}`, shown: [{ code }] };
  });
const rule: Sample = { markdown: '***', shown: [{ text: '—————' }] };

/** Blocks with rules between them, because neighbouring lists would be read as one. */
const apart = (blocks: readonly Sample[]): Sample =>
  join(
    blocks.flatMap((said, i) => (i === 0 ? [said] : [rule, said])),
    '\n\n',
  );

function block(depth: number): fc.Arbitrary<Sample> {
  const flat = [paragraph, paragraph, heading, fenced, fc.constant(rule)];
  if (depth === 0) return fc.oneof(...flat);
  const item = fc
    .tuple(paragraph, fc.array(block(depth - 1), { maxLength: 2 }))
    .map(([first, rest]) => apart([first, ...rest]));
  const items = fc.array(item, { minLength: 1, maxLength: 3 });
  const bullets = fc.tuple(items, fc.constantFrom('- ', '- [ ] ', '- [x] ')).map(([parts, mark]) =>
    join(
      parts.map((said): Sample => ({ markdown: indent(said.markdown, mark, '  '), shown: said.shown })),
      '\n',
    ),
  );
  const numbers = fc.tuple(items, fc.integer({ min: 0, max: 90 })).map(([parts, start]) =>
    join(
      parts.map((said, i): Sample => {
        const mark = `${start + i}. `;
        return {
          markdown: indent(said.markdown, mark, ' '.repeat(mark.length)),
          shown: [{ text: mark }, ...said.shown],
        };
      }),
      '\n',
    ),
  );
  const quote = fc.array(block(depth - 1), { minLength: 1, maxLength: 2 }).map((parts): Sample => {
    const inner = apart(parts);
    return { markdown: indent(inner.markdown, '> ', '> '), shown: inner.shown };
  });
  return fc.oneof(...flat, bullets, numbers, quote);
}

/** Documents of everything that a model writes. */
export const documents: fc.Arbitrary<Sample> = fc.array(block(2), { minLength: 1, maxLength: 4 }).map(apart);
