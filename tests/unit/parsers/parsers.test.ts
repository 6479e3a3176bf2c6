import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { anyText } from '../../support/any-text.ts';
import { holds } from '../../support/property.ts';
import { ELSEWHERE, PARSERS, type Parser } from './parsers.ts';

/** No text makes a parser of ours throw something else than its own error, or take more than linear time. */

const root = join(import.meta.dirname, '../../..');

/** Throws what is not its own; the promise of one that reads later. */
const ran = ({ read, own = [] }: Parser, text: string): unknown => {
  try {
    return read(text);
  } catch (error) {
    if (own.some((kind) => error instanceof kind)) return null;
    throw error;
  }
};

/**
 * Text that begins at what the parser understands: pieces of it are doubled, taken out, moved, and mixed with anything.
 */
const near = ({ seeds }: Parser): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.constantFrom(...seeds),
      fc.array(
        fc.tuple(
          fc.nat(),
          fc.nat(),
          fc.constantFrom('double', 'drop', 'insert', 'move', 'case') as fc.Arbitrary<string>,
          anyText,
        ),
        { maxLength: 6 },
      ),
    )
    .map(([seed, changes]) =>
      changes.reduce((text, [a, b, how, other]) => {
        const [from, to] = [a % (text.length + 1), b % (text.length + 1)].sort((x, y) => x - y) as [number, number];
        const piece = text.slice(from, to);
        if (how === 'double') return (text.slice(0, to) + piece + text.slice(to)).slice(0, 20_000);
        if (how === 'drop') return text.slice(0, from) + text.slice(to);
        if (how === 'insert') return text.slice(0, from) + other + text.slice(from);
        if (how === 'case') return text.slice(0, from) + piece.toUpperCase() + text.slice(to);
        return piece + text.slice(0, from) + text.slice(to);
      }, seed),
    );

/** JSON of any shape, also with the names that objects have by themselves. */
const anyJson = fc
  .oneof(
    fc.json({ maxDepth: 4 }),
    fc.constantFrom(
      '{"__proto__":{"a":1}}',
      '{"constructor":{"prototype":{"a":1}}}',
      `${'['.repeat(3_000)}${']'.repeat(3_000)}`,
      `${'{"a":'.repeat(2_000)}1${'}'.repeat(2_000)}`,
      '1e999',
      '"\\ud83d"',
      'null',
    ),
  )
  .map((text) => text);

describe.each(Object.entries(PARSERS))('%s', (_, parser) => {
  const cut = (text: string): string => text.slice(0, parser.longest ?? text.length);

  it('throws nothing but its own error for any text', async () => {
    for (const seed of parser.seeds) await ran(parser, seed);
    await holds(
      fc.asyncProperty(fc.oneof(anyText, near(parser), anyJson), async (text) => {
        const before = Object.getOwnPropertyNames(Object.prototype).length;
        await ran(parser, cut(text));
        expect(Object.getOwnPropertyNames(Object.prototype)).toHaveLength(before);
      }),
      { runs: 60, soak: 20_000 },
    );
  });

  it('reads a long text in little time', async () => {
    const most = Math.min(parser.longest ?? 50_000, 50_000);
    const units = [
      ...parser.seeds,
      ...' \n\t:-=/@"\'`([{<\\.,;0aA|&*#',
      'a ',
      'a\n',
      '\r\n',
      '{"a":',
      '[[',
      '--',
      '🏴',
      '\u0301',
      'a@',
      '1.',
      '%4',
      '/a',
    ];
    for (const unit of units) {
      for (const text of [
        unit.repeat(Math.ceil(most / unit.length)).slice(0, most),
        `${parser.seeds[0]}${unit.repeat(Math.ceil(most / unit.length))}`.slice(0, most),
      ]) {
        const before = process.cpuUsage();
        await ran(parser, text);
        const { user, system } = process.cpuUsage(before);
        expect([unit, (user + system) / 1000 < 1_500]).toEqual([unit, true]);
      }
    }
  });
});

it('every function that is called a parser is in the table', () => {
  const files = ['src', 'kennel'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).flatMap((file) =>
      file.endsWith('.ts') ? [join(root, folder, file)] : [],
    ),
  );
  const named = files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/^export (?:async )?(?:function|const) (parse[A-Z]\w*)/gm)].map(
      ([, name]) => name!,
    ),
  );
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((name) => !(name in PARSERS) && !(name in ELSEWHERE))).toEqual([]);
});
