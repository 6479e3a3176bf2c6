import { defineConfig } from 'vitest/config';
import LongestFirst from './tests/support/longest-first.ts';

// Kills come at random, and what is lost shows only when the machine is not busy with something else: two of these at once, and nothing beside them.
const ALONE = ['tests/chaos/**/*.test.ts', 'tests/integration/store/full-disk.test.ts'];

export default defineConfig({
  test: {
    // worker threads crash with the native core of the Temporal worker
    pool: 'forks',
    // a test that fails once is a defect, in the test or in the product: nothing is tried again
    retry: 0,
    testTimeout: 120_000,
    hookTimeout: 180_000,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'together',
          include: ['tests/**/*.test.ts'],
          // coding agents of other makers, images of many languages and two hosts take minutes each: `npm run test-agents`, `test-environments`, `test-hosts`.
          // A whole server is tried after these, by itself: `npm run test-compose`
          exclude: ['tests/agents/**', 'tests/environments/**', 'tests/compose/**', 'tests/hosts/**', '**/node_modules/**', ...ALONE],
          // most of a file is waiting: for containers, timers, and people who write once a second. Two leave a third of two cores idle
          maxWorkers: 3,
          sequence: { groupOrder: 0 },
        },
      },
      { extends: true, test: { name: 'alone', include: ALONE, maxWorkers: 2, sequence: { groupOrder: 1 } } },
    ],
  },
});
