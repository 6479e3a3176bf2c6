import { defineConfig } from 'vitest/config';

// whatever is killed or measured here would be in the way of others, and they in its
const ALONE = ['tests/chaos/**/*.test.ts', 'tests/integration/store/full-disk.test.ts'];

export default defineConfig({
  test: {
    // worker threads crash with the native core of the Temporal worker
    pool: 'forks',
    // a test that fails once is a defect, in the test or in the product: nothing is tried again
    retry: 0,
    testTimeout: 120_000,
    hookTimeout: 180_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'together',
          include: ['tests/**/*.test.ts'],
          // the coding agents of other makers take minutes each, and so do images of many languages: `npm run test-agents`, `npm run test-environments`
          exclude: ['tests/agents/**', 'tests/environments/**', '**/node_modules/**', ...ALONE],
          // most of a file is waiting; a third on two cores would make time-outs lie
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      { extends: true, test: { name: 'alone', include: ALONE, maxWorkers: 1, sequence: { groupOrder: 1 } } },
    ],
  },
});
