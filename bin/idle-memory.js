// Loaded first in each process and thread of our roles (`--import`): gives memory back to the machine once there is
// nothing to do. Plain JavaScript, because stripping the types of a file before the compile cache is on would cost more
// memory than this gives back.
import { performance } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

const LOOK_EVERY_MS = 5_000;
const IDLE = 0.05;
/** What a collection must be able to give back: it takes a tenth of a second to four. */
const WORTH_BYTES = 8 * 2 ** 20;
/** When a role has loaded its code, and fetch.js has written down how V8 compiled it. */
const LOADED_MS = 25_000;

// V8 takes compiled code, that of Node's own modules, too, only under the flags that it was compiled under
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
setFlagsFromString('--no-expose-gc');

// V8 lets a heap double before it collects it. From the start on, this would cost half a second of collections while
// the code is loaded.
const bound = () => setFlagsFromString('--heap-growing-percent=30');
if (isMainThread) setTimeout(bound, LOADED_MS).unref();

let last = performance.eventLoopUtilization();
let settled = 0;
const look = () => {
  const now = performance.eventLoopUtilization();
  const { utilization } = performance.eventLoopUtilization(now, last);
  last = now;
  if (utilization > IDLE || getHeapStatistics().total_heap_size < settled + WORTH_BYTES) return;
  // any other kind keeps the pages that it frees
  collect({ type: 'major', flavor: 'last-resort' });
  settled = getHeapStatistics().total_heap_size;
};
// Compiled code that has not run for a while is collected, too, and would not be written down. A role that ends sooner
// has no memory to give back.
setTimeout(() => setInterval(look, LOOK_EVERY_MS).unref(), LOADED_MS).unref();
