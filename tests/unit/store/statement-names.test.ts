import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../..', import.meta.url));

it('no two compiled queries have one name: a connection would refuse the second', () => {
  const texts = globSync('src/store/**/*.ts', { cwd: root }).map((path) => readFileSync(`${root}/${path}`, 'utf8'));
  const names = texts.flatMap((text) => [...text.matchAll(/\bcompiled\(\s*'([^']+)'/g)].map((match) => match[1]!));
  expect(names.length).toBeGreaterThan(4);
  expect(new Set(names).size).toBe(names.length);
  // what the query builder makes is called like this
  expect(names.filter((name) => name.startsWith('built_'))).toEqual([]);
});
