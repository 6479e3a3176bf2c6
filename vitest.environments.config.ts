import { defineConfig } from 'vitest/config';

/** Twenty small repositories in their own environments: `npm run test-environments`. It builds an image for each kind. */
export default defineConfig({
  test: { pool: 'forks', fileParallelism: false, testTimeout: 600_000, hookTimeout: 600_000, include: ['tests/environments/*.test.ts'] },
});
