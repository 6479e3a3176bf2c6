import { readFileSync } from 'node:fs';
import { afterAll, afterEach, expect } from 'vitest';

declare module 'vitest' {
  interface TaskMeta {
    /** how often the test has called `expect` */
    assertions?: number;
    /** of a file: what its process and the processes that it has ended have worked, in seconds */
    worked?: number;
  }
}

/** Before each test file: every test reports what it has asserted, for `npm run test-all` (`proofs.ts`). */
afterEach(({ task }) => {
  task.meta.assertions = expect.getState().assertionCalls;
});

const before = worked();
// biome-ignore lint/correctness/noEmptyPattern: Vitest reads the parameter, and takes no other pattern
afterAll(({}, file) => {
  file.meta.worked = worked() - before;
});

/** Seconds of processor time. Containers are processes of the engine, and another system than Linux counts none. */
function worked(): number {
  try {
    // proc_pid_stat(5), after the name: fields 14 to 17, in hundredths of a second
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)!.split(' ');
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100;
  } catch {
    return 0;
  }
}
