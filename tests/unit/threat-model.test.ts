import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { testsOf, wallClaims } from '../support/proofs.ts';

const claims = wallClaims();
const root = new URL('../../', import.meta.url);

it('has claims under each kind of wall', () => {
  expect(claims.length).toBeGreaterThan(20);
});

it.each(claims)('shows by a test that is there, and not skipped as a whole: %s', (claim) => {
  const files = testsOf(claim).map((file) => new URL(file, root));
  expect(files.length).toBeGreaterThan(0);
  for (const file of files) {
    expect(existsSync(file), file.pathname).toBe(true);
    expect(readFileSync(file, 'utf8')).toMatch(/^\s*(it|test)(\.(each|runIf|skipIf)\([\s\S]*?\))?\(/m);
  }
});
