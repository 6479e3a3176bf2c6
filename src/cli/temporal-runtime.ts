import { DefaultLogger, Runtime, type WorkerOptions } from '@temporalio/worker';
import type { Config } from '../config.ts';
import { createLog } from '../log.ts';

let installed = false;

/** The Temporal runtime of this process, with its logs among ours. It may exist only once. */
export function installRuntime(config: Config): void {
  if (installed) return;
  installed = true;
  const log = createLog('temporal', config.LOG_LEVEL);
  const level = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;
  Runtime.install({
    logger: new DefaultLogger('WARN', (entry) => log[level[entry.level]]({ ...entry.meta }, entry.message)),
    telemetryOptions: { logging: { forward: {}, filter: { core: 'WARN', other: 'WARN' } } },
    // signals are the role's own business: it stops its parts in order
    shutdownSignals: [],
  });
}

/** Bounds of recovery, shared by all workers. */
export const workerTimings = {
  // the throttle is also how late a cancellation arrives: far below the heartbeat time-out of the activities
  maxHeartbeatThrottleInterval: 1000,
  defaultHeartbeatThrottleInterval: 1000,
  // how long a dead worker's cached conversations stay unreachable
  stickyQueueScheduleToStartTimeout: 2000,
  // running steps get a moment to finish on a stop; then they are cancelled and the next worker goes on
  shutdownGraceTime: 2000,
  shutdownForceTime: 6000,
} satisfies Partial<WorkerOptions>;
