import { readFileSync } from 'node:fs';
import { minVersion, satisfies } from 'semver';
import { expect, it } from 'vitest';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } };
const { packages } = JSON.parse(read('package-lock.json')) as {
  packages: Record<string, { engines?: { node?: string }; optional?: boolean }>;
};

it('no package complains about the oldest Node that README and package.json name', () => {
  const named = /Node (\d+\.\d+) or newer/.exec(read('README.md'))?.[1];
  expect(named).toBeDefined();
  expect(minVersion(engines.node)!.version).toBe(`${named}.0`);
  // npm leaves out an optional package that does not fit, without a word
  const needed = Object.entries(packages).filter(([, each]) => each.engines?.node && !each.optional);
  const complaining = needed.filter(([, each]) => !satisfies(`${named}.0`, each.engines!.node!));
  expect(complaining.map(([path, each]) => `${path}: ${each.engines!.node}`)).toEqual([]);
});
