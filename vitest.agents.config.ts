import { defineConfig, mergeConfig } from 'vitest/config';
import base from './vitest.config.ts';

/** The five real coding agents against the scripted model server: `npm run test-agents`. */
export default mergeConfig({ ...base, test: { ...base.test, include: [], exclude: [] } }, defineConfig({ test: { include: ['tests/agents/*.test.ts'] } }));
