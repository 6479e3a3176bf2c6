// Loaded first in each process and thread of our roles (`--import`): gives memory back to the machine once there is
// nothing to do. Plain JavaScript, because stripping the types of a file before the compile cache is on would cost more
// memory than this gives back.
import { performance } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const LOOK_EVERY_MS = 5_000;
const IDLE = 0.05;
/** What a collection must be able to give back: it takes a tenth of a second to four. */
const WORTH_BYTES = 8 * 2 ** 20;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
let last = performance.eventLoopUtilization();
let settled = 0;

setInterval(() => {
  const now = performance.eventLoopUtilization();
  const { utilization } = performance.eventLoopUtilization(now, last);
  last = now;
  if (utilization > IDLE || getHeapStatistics().total_heap_size < settled + WORTH_BYTES) return;
  // any other kind keeps the pages that it frees
  collect({ type: 'major', flavor: 'last-resort' });
  // V8 lets a heap double before it collects it. From the start on, that would cost half a second of collections while
  // the code is loaded.
  if (settled === 0) setFlagsFromString('--heap-growing-percent=30');
  settled = getHeapStatistics().total_heap_size;
}, LOOK_EVERY_MS).unref();
