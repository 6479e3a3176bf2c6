import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/** The original had 53 numbered defects. A test whose title has the number shows that ours does not have it. */
const DEFECTS = 53;

const tests = new URL('../', import.meta.url);
const titles = readdirSync(tests, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.test.ts'))
  .flatMap((file) => [
    ...readFileSync(new URL(file, tests), 'utf8').matchAll(
      /\b(?:it|test)(?:\.each\b[^\n]*)?\(?\s*\(\s*['"`]([^\n]*)|^ *['"`](defect [^\n]*)/gm,
    ),
  ])
  .map(([, title = '', ofTable = '']) => title || ofTable);

test('every numbered defect of the original has a test with its number', () => {
  const numbers = new Set(
    titles.flatMap((title) => [...title.matchAll(/\bdefect (\d+)\b/g)].map(([, number]) => Number(number))),
  );
  const wanted = Array.from({ length: DEFECTS }, (_, index) => index + 1);
  expect(wanted.filter((number) => !numbers.has(number))).toEqual([]);
});
