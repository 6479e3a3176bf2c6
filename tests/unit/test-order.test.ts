import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createVitest, type TestSpecification, type Vitest } from 'vitest/node';
import { ROOT } from '../support/durations.ts';
import LongestFirst from '../support/longest-first.ts';

/** What files share ends with a process, and a process ends when the next file is of another project. */

let vitest: Vitest;
let files: TestSpecification[];
beforeAll(async () => {
  vitest = await createVitest('test', { root: ROOT, watch: false });
  files = await new LongestFirst(vitest).sort(await vitest.globTestSpecifications());
});
afterAll(() => vitest?.close());

it('files that share a process come one after the other', () => {
  const sharing = files.filter(({ project }) => !project.config.isolate).map(({ project }) => project.name);
  const runs = files.map(({ project }) => project.name).filter((name, at, all) => name !== all[at - 1]);
  expect(new Set(sharing)).toEqual(new Set(['unit', 'in-process', 'shared']));
  expect(runs.filter((name) => sharing.includes(name))).toEqual(['unit', 'in-process', 'shared']);
});

it('the files of the project that shares an instance are those that use it', () => {
  const using = files.filter(({ moduleId }) => /^useSharedApp\(/m.test(readFileSync(moduleId, 'utf8')));
  expect(using.length).toBeGreaterThan(10);
  expect(using).toEqual(files.filter(({ project }) => project.name === 'shared'));
});
