import { afterEach, expect } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    /** how often the test has called `expect` */
    assertions?: number;
  }
}

/** Before each test file: every test reports what it has asserted, for `npm run test-all` (`proofs.ts`). */
afterEach(({ task }) => {
  task.meta.assertions = expect.getState().assertionCalls;
});
