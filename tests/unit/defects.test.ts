import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { DEFECTS, defectsIn } from '../support/proofs.ts';

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
  const numbers = new Set(titles.flatMap(defectsIn));
  const wanted = Array.from({ length: DEFECTS }, (_, index) => index + 1);
  expect(wanted.filter((number) => !numbers.has(number))).toEqual([]);
});
