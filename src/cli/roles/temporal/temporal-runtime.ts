import {
  DefaultLogger,
  GracefulShutdownPeriodExpiredError,
  Runtime,
  type Worker,
  type WorkerDeploymentOptions,
  type WorkerOptions,
} from '@temporalio/worker';
import { DEPLOYMENT, type Deployment } from '../../../../temporal/deployment.ts';
import { compareVersions } from '../../../../temporal/version.ts';
import type { Config } from '../../../config.ts';
import { createLog } from '../../../log.ts';

let installed = false;

/**
 * The Temporal runtime of this process, with its logs among ours. It may exist only once. `metricsAddress`: where it
 * shows its own metrics, if anywhere.
 */
export function installRuntime(config: Config, metricsAddress?: string): void {
  if (installed) return;
  installed = true;
  const log = createLog('temporal', config.LOG_LEVEL);
  const level = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;
  Runtime.install({
    logger: new DefaultLogger('WARN', (entry) => log[level[entry.level]]({ ...entry.meta }, entry.message)),
    telemetryOptions: {
      logging: { forward: {}, filter: { core: 'WARN', other: 'WARN' } },
      ...(metricsAddress && {
        metrics: {
          prometheus: {
            bindAddress: metricsAddress,
            countersTotalSuffix: true,
            unitSuffix: true,
            useSecondsForDurations: true,
          },
        },
      }),
    },
    // signals are the role's own business: it stops its parts in order
    shutdownSignals: [],
  });
}

/**
 * Activities get this much longer than the grace time to say how they ended; then the worker gives up waiting for them.
 */
const FORCE_MS = 4_000;

/** Bounds of recovery and of a stop, shared by all workers. */
export const workerTimings = (config: Config) =>
  ({
    // the throttle is also how late a cancellation arrives: far below the heartbeat time-out of the activities
    maxHeartbeatThrottleInterval: 1000,
    defaultHeartbeatThrottleInterval: 1000,
    // a busy worker keeps its conversations so long; those of a killed one are given back (sticky-queues.ts). With 10 s,
    // replays of what was taken from it took a third of all work of a starved machine (measured)
    stickyQueueScheduleToStartTimeout: 30_000,
    // steps that are under way are finished on a stop; what takes longer is cancelled, and the next worker goes on
    shutdownGraceTime: graceMs(config),
    shutdownForceTime: graceMs(config) + FORCE_MS,
  }) satisfies Partial<WorkerOptions>;

export const graceMs = (config: Config): number => config.FETCH_STOP_SECONDS * 1000;

/**
 * Runs a worker to its end. What outlives the grace time and its own cancellation is left to the next worker: that is
 * an end like any other.
 */
export const runToEnd = (worker: Worker): Promise<void> =>
  worker.run().catch((error: unknown) => {
    if (!(error instanceof GracefulShutdownPeriodExpiredError)) throw error;
  });

/** Stops workers and waits until nothing of theirs is under way. */
export async function drained(workers: readonly Worker[], running: ReadonlyArray<Promise<void>>): Promise<void> {
  for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
  await Promise.all(running);
}

/**
 * The first server on which a pinned run was seen to learn that another build is current, and to continue as new on it.
 */
const UPGRADES_ON_CONTINUE = '1.32.0';

/**
 * How a worker takes part where builds run side by side. Tasks and routines stay on the build that began them
 * (`src/workflows/versioned.ts`). A conversation never ends: between two turns it continues as new on the current
 * build, so that no turn meets two builds. A server that cannot tell it of the other build would keep it on the old one
 * for ever; there it goes on with the current build from its next step on.
 */
export const workerDeployment = (buildId: string, serverVersion: string): WorkerDeploymentOptions => ({
  version: { deploymentName: DEPLOYMENT, buildId },
  useWorkerVersioning: true,
  defaultVersioningBehavior: compareVersions(serverVersion, UPGRADES_ON_CONTINUE) >= 0 ? 'PINNED' : 'AUTO_UPGRADE',
});

/** Why a worker that is about to ask for work will get none; null when it will. */
export function idleReason(buildId: string | undefined, { builds }: Deployment): string | null {
  const current = builds.find((build) => build.role === 'current');
  if (buildId === undefined)
    return current
      ? `Build ${current.id} is current, so a worker without a build gets no workflows. Set FETCH_BUILD_ID for this one, or end versioned deployments: fetch deploy off`
      : null;
  const own = builds.find((build) => build.id === buildId);
  if (own && own.role !== 'old') return null;
  return `Build ${buildId} is not current, so this worker gets only runs that it began earlier. Give it the work: fetch deploy current ${buildId}`;
}
