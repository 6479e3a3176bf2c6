import { defineConfig } from 'vitest/config';

/** The coding agents that have a model, against the scripted model server: `npm run test-agents`. */
export default defineConfig({
  test: { pool: 'forks', fileParallelism: false, testTimeout: 120_000, hookTimeout: 180_000, include: ['tests/agents/*.test.ts'] },
});
