import { defineConfig } from 'vitest/config';

/** Two hosts in network namespaces, with partitions, clocks, slow ways, full disks and kills: `npm run test-hosts`. Needs root, and takes some minutes. */
export default defineConfig({
  test: { pool: 'forks', fileParallelism: false, testTimeout: 1_800_000, hookTimeout: 300_000, include: ['tests/hosts/*.test.ts'] },
});
