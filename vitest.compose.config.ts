import { defineConfig } from 'vitest/config';

/** A server by Docker Compose, with every service restarted and killed: `npm run test-compose`. The first time it builds programs and images for some minutes. */
export default defineConfig({
  test: { pool: 'forks', fileParallelism: false, testTimeout: 600_000, hookTimeout: 1_800_000, include: ['tests/compose/*.test.ts'] },
});
