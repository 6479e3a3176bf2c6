import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // worker threads crash with the native core of the Temporal worker
    pool: 'forks',
    // every file of these runs real servers on two cores: one at a time keeps time-outs honest
    fileParallelism: false,
    // real servers and containers on a shared machine: what fails is tried once more, and shown as such
    retry: 1,
    testTimeout: 120_000,
    hookTimeout: 180_000,
    include: ['tests/**/*.test.ts'],
    // minutes each, with agents of five makers: `npm run test-agents`
    exclude: ['tests/agents/**', '**/node_modules/**'],
  },
});
