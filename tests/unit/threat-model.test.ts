import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const docs = fileURLToPath(new URL('../../docs/', import.meta.url));
const walls = /\n## Walls\n([\s\S]*?)\n## /.exec(readFileSync(`${docs}threat-model.md`, 'utf8'))![1]!;
const claims = walls.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| claim |'));

it('has claims under each kind of wall', () => {
  expect(claims.length).toBeGreaterThan(20);
});

it.each(claims)('shows by a test that is there, and not skipped as a whole: %s', (claim) => {
  const files = [...claim.matchAll(/\]\((\.\.\/tests\/[\w./-]+\.test\.ts)\)/g)].map(([, file]) => `${docs}${file}`);
  expect(files.length).toBeGreaterThan(0);
  for (const file of files) {
    expect(existsSync(file), file).toBe(true);
    expect(readFileSync(file, 'utf8')).toMatch(/^\s*(it|test)(\.(each|runIf|skipIf)\([\s\S]*?\))?\(/m);
  }
});
